import type { AlarmMessageRow, AlarmRow } from '../stores/records/operator-tables.ts'
import { RecordConflictError, type Records } from '../stores/records/records.ts'

/** What somebody is to be told of an alarm. */
export interface AlarmMessage {
  /** The same in each attempt: `ID.MILLISECONDS.opened`. */
  readonly id: string
  readonly event: 'opened' | 'closed'
  readonly alarm: Omit<AlarmRow, 'id' | 'state' | 'taken_by' | 'taken_at'>
}

/** A message that this process tells, until `takenMs` from now. */
interface TakenMessage extends AlarmMessage {
  readonly alarmId: string
  /** With this one. */
  readonly attempts: number
}

interface TakeQuery {
  readonly channel: string
  /** Codes of which nobody is told. */
  readonly except: readonly string[]
  readonly now: number
  readonly limit: number
}

/** Longer than all attempts of a mail server and a webhook take. */
const takenMs = 5 * 60_000
const retryMsMin = 15_000
const retryMsMax = 15 * 60_000
/** Of an alarm that was closed before anybody could be told of it, nobody wants to hear later. */
const closedMsMax = 24 * 3_600_000

/**
 * Takes what a channel is to be told, so that no other process tells it. That is not kept as a queue but seen from the
 * rows: an alarm whose state is another than the one that was told last. So nothing piles up while a channel is down.
 */
export async function takeMessages(records: Records, query: TakeQuery): Promise<readonly TakenMessage[]> {
  const taken: TakenMessage[] = []
  for (const row of await dueRows(records, query)) {
    const attempts = (row.attempts ?? 0) + 1
    if (await isTaken(records, query, row, attempts)) taken.push(messageOf(row, attempts))
  }
  return taken
}

type DueRow = AlarmRow & {
  readonly [Name in 'told_opening' | 'told_closed' | 'attempts' | 'next_at']: number | null
}

function dueRows(records: Records, { channel, except, now, limit }: TakeQuery): Promise<readonly DueRow[]> {
  return records.all(
    records.build
      .selectFrom('alarms')
      .leftJoin('alarm_messages as told', join =>
        join.onRef('told.alarm_id', '=', 'alarms.id').on('told.channel', '=', channel),
      )
      .selectAll('alarms')
      .select(['told.opened_at as told_opening', 'told.is_closed as told_closed', 'attempts', 'next_at'])
      .where(row => row.or([row('next_at', 'is', null), row('next_at', '<=', now)]))
      .where(row =>
        row.or([
          row('told.alarm_id', 'is', null),
          row('told.opened_at', '<>', row.ref('alarms.first_at')),
          row('told.is_closed', '<>', row.case().when('state', '=', 'closed').then(1).else(0).end()),
        ]),
      )
      .where(row =>
        row.or([
          row('state', '<>', 'closed'),
          row('told.opened_at', '=', row.ref('alarms.first_at')),
          row('closed_at', '>', now - closedMsMax),
        ]),
      )
      .where('kind', 'not in', except.length === 0 ? [''] : except)
      .orderBy('last_at')
      .orderBy('alarms.id')
      .limit(limit),
  )
}

/** Whether nobody was sooner. */
async function isTaken(
  records: Records,
  { channel, now }: TakeQuery,
  row: DueRow,
  attempts: number,
): Promise<boolean> {
  const { build } = records
  const next = { attempts, next_at: now + takenMs }
  const change =
    row.attempts === null
      ? build
          .insertInto('alarm_messages')
          .values({ alarm_id: row.id, channel, opened_at: 0, is_closed: 0, ...next })
          .onConflict(conflict => conflict.doNothing())
      : build
          .updateTable('alarm_messages')
          .set(next)
          .where('alarm_id', '=', row.id)
          .where('channel', '=', channel)
          .where('attempts', '=', row.attempts)
          .where('next_at', '=', row.next_at)
          .where('opened_at', '=', row.told_opening)
          .where('is_closed', '=', row.told_closed)
  try {
    await records.write([{ write: change, rows: 1 }])
    return true
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    return false
  }
}

function messageOf(row: DueRow, attempts: number): TakenMessage {
  const event = row.state === 'closed' ? 'closed' : 'opened'
  return { id: `${row.id}.${row.first_at}.${event}`, event, alarm: row, alarmId: row.id, attempts }
}

/** Notes that a channel was told, or has it tried again, after twice as long each time. */
export async function endMessage(
  records: Records,
  { alarmId, attempts, event, alarm }: TakenMessage,
  { channel, isTold, now }: { readonly channel: string; readonly isTold: boolean; readonly now: number },
): Promise<void> {
  const told: Partial<AlarmMessageRow> = {
    opened_at: alarm.first_at,
    is_closed: event === 'closed' ? 1 : 0,
    attempts: 0,
    next_at: 0,
  }
  const change = records.build
    .updateTable('alarm_messages')
    .set(isTold ? told : { next_at: now + Math.min(retryMsMin * 2 ** (attempts - 1), retryMsMax) })
    .where('alarm_id', '=', alarmId)
    .where('channel', '=', channel)
    .where('attempts', '=', attempts)
  await records.write([{ write: change }])
}
