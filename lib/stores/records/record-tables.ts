import type { AlarmTables } from './alarm-table.ts'
import type { AutoTopUpTables } from './auto-top-up-tables.ts'
import type { CorrectionTables } from './correction-table.ts'
import type { DocumentEmailTables } from './document-email-tables.ts'
import type { DocumentTables } from './document-tables.ts'
import type { ErrorCountTables } from './error-count-table.ts'
import type { FacsimileTables } from './facsimile-table.ts'
import type { LedgerTables } from './ledger-tables.ts'
import type { MemberTables } from './member-tables.ts'
import type { NoteTables } from './note-table.ts'
import type { OperatorTables } from './operator-tables.ts'
import type { PaymentTables } from './payment-tables.ts'
import type { ProviderTables } from './provider-table.ts'
import type { RateTables } from './rate-table.ts'
import type { StartingCreditTables } from './starting-credit-table.ts'

/** All tables of business rows, by name. A domain declares its own in a file of this folder. */
export interface RecordTables
  extends
    PaymentTables,
    AutoTopUpTables,
    AlarmTables,
    CorrectionTables,
    LedgerTables,
    DocumentTables,
    DocumentEmailTables,
    ErrorCountTables,
    FacsimileTables,
    MemberTables,
    NoteTables,
    OperatorTables,
    ProviderTables,
    RateTables,
    StartingCreditTables {}
