import { alarmTables } from '../records/alarm-table.ts'
import { autoTopUpTables } from '../records/auto-top-up-tables.ts'
import { correctionTables } from '../records/correction-table.ts'
import { deskIndexes } from '../records/desk-indexes.ts'
import { documentEmailTables } from '../records/document-email-tables.ts'
import { documentTables } from '../records/document-tables.ts'
import { facsimileTables } from '../records/facsimile-table.ts'
import { movementIndex } from '../records/ledger-tables.ts'
import { memberTables } from '../records/member-tables.ts'
import { noteTables } from '../records/note-table.ts'
import { paymentTables } from '../records/payment-tables.ts'
import { providerTables } from '../records/provider-table.ts'
import { rateTables } from '../records/rate-table.ts'
import { startingCreditTables } from '../records/starting-credit-table.ts'
import { operatorActionTables } from './account-blocks.ts'
import {
  accountTables,
  balanceAlertTables,
  chargeSumTables,
  jobTables,
  ledgerTables,
  type NodeColumns,
} from './ledger-schema.ts'
import type { TableWords } from './table-words.ts'
import { userTables } from './user-schema.ts'

const tables: readonly ((words: TableWords) => string)[] = [
  userTables,
  balanceAlertTables,
  chargeSumTables,
  paymentTables,
  () => movementIndex,
  documentTables,
  startingCreditTables,
  autoTopUpTables,
  memberTables,
  documentEmailTables,
  rateTables,
  operatorActionTables,
  correctionTables,
  facsimileTables,
  noteTables,
  alarmTables,
  providerTables,
  () => deskIndexes,
]

/** All that a new store begins with on either database. It stays as it is: what comes later are steps. */
export function baselineTables(words: TableWords, columns: NodeColumns): string {
  return [
    accountTables(words, columns),
    ledgerTables(words, columns),
    jobTables(words, columns),
    ...tables.map(described => described(words)),
  ].join('\n')
}
