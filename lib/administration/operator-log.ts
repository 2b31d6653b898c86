import type { OperatorActionRow } from '../stores/records/ledger-tables.ts'
import type { RecordReader, RecordStep, Records } from '../stores/records/records.ts'
import { newId } from '../platform/new-id.ts'

/** Something that an operator did. */
export interface OperatorAction {
  /** Who: an email, or who gave the command. */
  readonly operator: string
  readonly action: OperatorActionRow['action']
  /** Whose; empty where it was nobody's account. */
  readonly accountId: string
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * The step of a transaction that writes what was done into the log, which is append-only.
 * @param id by which the same form, sent once more, is known: the transaction is refused then
 */
export function actionStep(
  { build }: Pick<Records, 'build'>,
  { operator, action, accountId, reason, at }: OperatorAction,
  id = newId(),
): RecordStep {
  const row = { id, at, operator, action, account_id: accountId, reason }
  return { write: build.insertInto('operator_actions').values(row), rows: 1 }
}

/**
 * What operators did, the newest first.
 * @param before the id of the last one of the page before; several may be of one moment
 */
export function readActions(
  records: RecordReader,
  {
    accountId,
    before,
    limit,
  }: { readonly accountId?: string; readonly before?: string; readonly limit: number },
): Promise<readonly OperatorActionRow[]> {
  const { build } = records
  let query = build
    .selectFrom('operator_actions')
    .selectAll()
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (before !== undefined) {
    const at = build.selectFrom('operator_actions').select('at').where('id', '=', before)
    query = query.where(row =>
      row.or([row('at', '<', at), row.and([row('at', '=', at), row('id', '<', before)])]),
    )
  }
  return records.all(query)
}
