import { withoutKeys, withoutSecrets } from '../observability/log-secrets.ts'
import { AccountError } from '../accounts/accounts.ts'
import { actionStep } from '../administration/operator-log.ts'
import type { AlarmRow, OperatorActionRow } from '../stores/records/operator-tables.ts'
import { RecordConflictError, type RecordReader, type Records } from '../stores/records/records.ts'

const textLengthMax = 500
const itemsMax = 20

/** The stored part of an alarm's details: short JSON values, without secrets and without the frames of errors. */
export function alarmDetails(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(withoutSecrets(details)).slice(0, itemsMax)) {
    const short = shortened(value)
    if (short !== undefined) kept[name] = short
  }
  return kept
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return withoutKeys(value.slice(0, textLengthMax))
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.slice(0, itemsMax).map(item => shortened(item) ?? null)
  if (typeof value !== 'object' || value === null) return undefined
  // An error: its message, as in the log.
  const { message } = value as { readonly message?: unknown }
  return typeof message === 'string' ? withoutKeys(message.slice(0, textLengthMax)) : undefined
}

interface AlarmQuery {
  /** Including closed ones. */
  readonly isAll?: boolean
  /** Absent: first those that no operator has taken, then by the latest. */
  readonly sort?: 'first' | 'last' | 'times' | undefined
  readonly isDescending?: boolean
  readonly limit: number
  readonly offset?: number
}

const sorted = { first: 'first_at', last: 'last_at', times: 'count' } as const

/** The operator who acts on an alarm, and when. */
interface AlarmAction {
  readonly id: string
  /** An email, or the user of the command line. */
  readonly operator: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Lists alarms in an order. */
export function listAlarms(
  records: RecordReader,
  { isAll = false, sort, isDescending = true, limit, offset = 0 }: AlarmQuery,
): Promise<readonly AlarmRow[]> {
  const order = isDescending ? 'desc' : 'asc'
  let query = records.build.selectFrom('alarms').selectAll().limit(limit).offset(offset)
  if (sort === undefined) {
    query = query
      .orderBy(
        row =>
          row.case().when('state', '=', 'open').then(2).when('state', '=', 'taken').then(1).else(0).end(),
        order,
      )
      .orderBy('last_at', order)
  } else query = query.orderBy(sorted[sort], order)
  query = query.orderBy('id')
  return records.all(isAll ? query : query.where('state', '<>', 'closed'))
}

export async function findAlarm(records: RecordReader, id: string): Promise<AlarmRow | undefined> {
  const [alarm] = await records.all(records.build.selectFrom('alarms').selectAll().where('id', '=', id))
  return alarm
}

/**
 * Takes an open alarm for an operator: the others see that the operator is working on it.
 * @throws AccountError alarm_not_found, alarm_changed
 */
export async function takeAlarm(records: Records, { id, operator, at }: AlarmAction): Promise<AlarmRow> {
  const set = { state: 'taken', taken_by: operator, taken_at: at } as const
  return await change(records, { id, operator, at, reason: '' }, 'take-alarm', set)
}

/**
 * Closes an alarm for an operator. When it is raised again, it is open again.
 * @throws AccountError alarm_not_found, alarm_changed
 */
export async function closeAlarm(
  records: Records,
  action: AlarmAction & { readonly reason: string },
): Promise<AlarmRow> {
  const { operator, at, reason } = action
  const set = { state: 'closed', closed_by: operator, closed_at: at, reason } as const
  return await change(records, action, 'close-alarm', set)
}

async function change(
  records: Records,
  { id, operator, at, reason }: AlarmAction & { readonly reason: string },
  action: OperatorActionRow['action'],
  set: Partial<AlarmRow>,
): Promise<AlarmRow> {
  const known = await findAlarm(records, id)
  if (known === undefined) throw new AccountError('alarm_not_found', `there is no alarm ${id}`)
  const what = [known.kind, known.subject, reason].filter(text => text !== '').join(': ')
  const from: readonly AlarmRow['state'][] = set.state === 'taken' ? ['open'] : ['open', 'taken']
  try {
    await records.write([
      {
        write: records.build.updateTable('alarms').set(set).where('id', '=', id).where('state', 'in', from),
        rows: 1,
      },
      actionStep(records, { operator, action, accountId: '', reason: what, at }),
    ])
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    const now = (await findAlarm(records, id)) ?? known
    throw new AccountError('alarm_changed', `the alarm ${id} is ${now.state} already`)
  }
  return { ...known, ...set }
}
