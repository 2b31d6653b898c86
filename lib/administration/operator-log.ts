import type { OperatorActionRow } from '../stores/records/operator-tables.ts'
import type { RecordReader, RecordStep, Records } from '../stores/records/records.ts'
import { newId } from '../platform/new-id.ts'

/** An action of an operator. */
interface OperatorAction {
  /** The operator: an email, or the user of the command line. */
  readonly operator: string
  readonly action: OperatorActionRow['action']
  /** The account's id; empty when no account is concerned. */
  readonly accountId: string
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * The step of a transaction that writes an action into the log, which is append-only.
 * @param id identifies the form: when it is sent once more, the transaction is refused
 */
export function actionStep(
  { build }: Pick<Records, 'build'>,
  { operator, action, accountId, reason, at }: OperatorAction,
  id = newId(),
): RecordStep {
  const row = { id, at, operator, action, account_id: accountId, reason }
  return { write: build.insertInto('operator_actions').values(row), rows: 1 }
}

/** The same for what the gateway also does by itself, which is not logged: no operator did it. */
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
  /** `from` is inclusive, `until` exclusive. */
  readonly from?: number
  readonly until?: number
}

/** Actions of operators, in the order of time. */
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

/** The latest actions of operators, of one account if it is named. */
export function readActions(
  records: RecordReader,
  { accountId = '', limit }: { readonly accountId?: string; readonly limit: number },
): Promise<readonly OperatorActionRow[]> {
  return findActions(records, { isDescending: true, limit, offset: 0, filters: { account: accountId } })
}
