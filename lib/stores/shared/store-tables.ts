import { alarmTables, operatorActionTables, providerTables, rateTables } from '../records/operator-tables.ts'
import { autoTopUpTables } from '../records/auto-top-up-tables.ts'
import {
  correctionTables,
  memberTables,
  noteTables,
  startingCreditTables,
} from '../records/customer-tables.ts'
import { deskIndexes, movementIndex } from '../records/ledger-tables.ts'
import { documentEmailTables, documentTables, facsimileTables } from '../records/document-tables.ts'
import { paymentTables } from '../records/payment-tables.ts'
import {
  accountTables,
  balanceAlertTables,
  chargeSumTables,
  jobTables,
  chargeTables,
  holdTables,
  keyTables,
} from './ledger-schema.ts'
import type { NodeColumns } from './ledger-schema.ts'
import type { TableWords } from './store-schema.ts'
import { userTables } from './user-tables.ts'

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
    keyTables(words, columns),
    holdTables(words),
    chargeTables(words),
    jobTables(words, columns),
    ...tables.map(described => described(words)),
  ].join('\n')
}
