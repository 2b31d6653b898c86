import type { OperatorActionRow } from '../stores/records/operator-tables.ts'
import type { RecordReader, RecordStep, Records } from '../stores/records/records.ts'
import { newId } from '../platform/new-id.ts'

/** Something that an operator did. */
interface OperatorAction {
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

/** The same for what the gateway also does by itself, which is not logged: nobody did it. */
export function actionSteps(
  records: Pick<Records, 'build'>,
  { operator, ...action }: Omit<OperatorAction, 'operator'> & { readonly operator: string | undefined },
): RecordStep[] {
  return operator === undefined ? [] : [actionStep(records, { operator, ...action })]
}

interface ActionQuery {
  readonly isDescending: boolean
  readonly limit: number
  readonly offset: number
  /** An operator's email, an action, and an account; empty: any. */
  readonly filters: Readonly<Record<string, string>>
  /** From a moment on, and before one. */
  readonly from?: number
  readonly until?: number
}

/** What operators did, in the order of time. */
export function findActions(
  records: RecordReader,
  { isDescending, limit, offset, filters, from, until }: ActionQuery,
): Promise<readonly OperatorActionRow[]> {
  const { operator = '', action = '', account = '' } = filters
  const order = isDescending ? 'desc' : 'asc'
  let query = records.build
    .selectFrom('operator_actions')
    .selectAll()
    .orderBy('at', order)
    .orderBy('id', order)
    .limit(limit)
    .offset(offset)
  if (operator !== '') query = query.where('operator', '=', operator)
  if (action !== '') query = query.where('action', '=', action as OperatorActionRow['action'])
  if (account !== '') query = query.where('account_id', '=', account)
  if (from !== undefined) query = query.where('at', '>=', from)
  if (until !== undefined) query = query.where('at', '<', until)
  return records.all(query)
}

/** The latest of what operators did, of an account where one is named. */
export function readActions(
  records: RecordReader,
  { accountId = '', limit }: { readonly accountId?: string; readonly limit: number },
): Promise<readonly OperatorActionRow[]> {
  return findActions(records, { isDescending: true, limit, offset: 0, filters: { account: accountId } })
}
