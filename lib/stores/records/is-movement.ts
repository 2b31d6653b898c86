import { sql } from 'kysely'
import { movementCondition } from './ledger-tables.ts'

/** Whether an entry moved a balance without being a charge, in the words of the index that finds such. */
export const isMovement = sql<boolean>`${sql.raw(movementCondition)}`
