import { createHash, createHmac } from 'node:crypto'
import type { AlarmWebhook, Config } from '../config/config.ts'
import { alarmSentence } from '../pipeline/alarm-sentences.ts'
import { zonedTime, type Clock } from '../platform/clock.ts'
import { outsideCall } from '../upstream/outside-call.ts'
import type { AlarmMessageRow, AlarmRow } from '../stores/records/operator-tables.ts'
import { tryWrite, type Records } from '../stores/records/records.ts'

/** A message about an alarm. */
export interface AlarmMessage {
  /** The same in each attempt: `ID.MILLISECONDS.opened`. */
  readonly id: string
  readonly event: 'opened' | 'closed'
  readonly alarm: Omit<AlarmRow, 'id' | 'state' | 'taken_by' | 'taken_at'>
}

/** A message that this process sends; claimed until `takenMs` from now. */
interface ClaimedMessage extends AlarmMessage {
  readonly alarmId: string
  /** Including this one. */
  readonly attempts: number
}

interface TakeQuery {
  readonly channel: string
  /** Codes that are not sent. */
  readonly except: readonly string[]
  readonly now: number
  readonly limit: number
}

/** Longer than all attempts of a mail server and a webhook take. */
const takenMs = 5 * 60_000
const retryMsMin = 15_000
const retryMsMax = 15 * 60_000
/** How long after its close an alarm that was never sent is still worth sending. */
const closedMsMax = 24 * 3_600_000

/**
 * Claims the messages that a channel should receive, so that no other process sends them. There is no queue; the rows
 * show them: alarms whose state differs from the one last sent. So nothing accumulates while a channel is down.
 */
export async function takeMessages(records: Records, query: TakeQuery): Promise<readonly ClaimedMessage[]> {
  const taken: ClaimedMessage[] = []
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
      .leftJoin('alarm_messages as sent', join =>
        join.onRef('sent.alarm_id', '=', 'alarms.id').on('sent.channel', '=', channel),
      )
      .selectAll('alarms')
      .select(['sent.opened_at as told_opening', 'sent.is_closed as told_closed', 'attempts', 'next_at'])
      .where(row => row.or([row('next_at', 'is', null), row('next_at', '<=', now)]))
      .where(row =>
        row.or([
          row('sent.alarm_id', 'is', null),
          row('sent.opened_at', '<>', row.ref('alarms.first_at')),
          row('sent.is_closed', '<>', row.case().when('state', '=', 'closed').then(1).else(0).end()),
        ]),
      )
      .where(row =>
        row.or([
          row('state', '<>', 'closed'),
          row('sent.opened_at', '=', row.ref('alarms.first_at')),
          row('closed_at', '>', now - closedMsMax),
        ]),
      )
      .where('kind', 'not in', except.length === 0 ? [''] : except)
      .orderBy('last_at')
      .orderBy('alarms.id')
      .limit(limit),
  )
}

/** Whether this process claimed it first. */
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
  return tryWrite(records, [{ write: change, rows: 1 }])
}

function messageOf(row: DueRow, attempts: number): ClaimedMessage {
  const event = row.state === 'closed' ? 'closed' : 'opened'
  return { id: `${row.id}.${row.first_at}.${event}`, event, alarm: row, alarmId: row.id, attempts }
}

/** Records that a message was sent, or schedules another attempt, after twice as long each time. */
export async function endMessage(
  records: Records,
  { alarmId, attempts, event, alarm }: ClaimedMessage,
  { channel, isSent, now }: { readonly channel: string; readonly isSent: boolean; readonly now: number },
): Promise<void> {
  const sent: Partial<AlarmMessageRow> = {
    opened_at: alarm.first_at,
    is_closed: event === 'closed' ? 1 : 0,
    attempts: 0,
    next_at: 0,
  }
  const change = records.build
    .updateTable('alarm_messages')
    .set(isSent ? sent : { next_at: now + Math.min(retryMsMin * 2 ** (attempts - 1), retryMsMax) })
    .where('alarm_id', '=', alarmId)
    .where('channel', '=', channel)
    .where('attempts', '=', attempts)
  await records.write([{ write: change }])
}

/** A recipient of alarms. */
export interface AlarmChannel {
  /** `email`, or `webhook:NAME`. */
  readonly name: string
  /** Returns for each message whether it was accepted. */
  tell(messages: readonly AlarmMessage[]): Promise<readonly TellResult[]>
}

/** The reason why a message was not accepted. */
type TellResult = { readonly isSent: true } | { readonly isSent: false; readonly reason: string }

/** The contents of an email about alarms. */
interface AlarmEmail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly messageId: string
}

const timeoutMs = 10_000
const bytesMax = 1024 * 1024
const sent: TellResult = { isSent: true }

/**
 * Posts each message as Standard Webhooks defines it (https://www.standardwebhooks.com): `webhook-id` is the same in
 * each attempt, and `webhook-signature` is `v1,` and the HMAC of id, time and body.
 */
export function webhookChannel(
  name: string,
  { url, secret, egress }: AlarmWebhook,
  { config, clock }: { readonly config: Pick<Config, 'egress' | 'dns'>; readonly clock: Clock },
): AlarmChannel {
  const post = async (message: AlarmMessage): Promise<TellResult> => {
    const body = JSON.stringify(webhookBody(message))
    const headers = {
      'content-type': 'application/json',
      ...signatureHeaders({ id: message.id, atMs: clock.now(), body, secret }),
    }
    try {
      const { status } = await outsideCall(url, {
        config,
        egress,
        timeoutMs,
        bytesMax,
        method: 'POST',
        headers,
        body,
      })
      if (status >= 200 && status < 300) return sent
      return { isSent: false, reason: `it answered ${status}` }
    } catch (error) {
      return { isSent: false, reason: error instanceof Error ? error.message : String(error) }
    }
  }
  return { name: `webhook:${name}`, tell: messages => Promise.all(messages.map(post)) }
}

/** The headers of a signed message. */
export function signatureHeaders({
  id,
  atMs,
  body,
  secret,
}: {
  readonly id: string
  readonly atMs: number
  readonly body: string
  readonly secret: string
}): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1000))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}

function webhookBody({ id, event, alarm }: AlarmMessage): object {
  const { kind, subject, count, first_at, last_at, closed_at, closed_by, reason, details } = alarm
  const at = event === 'closed' ? (closed_at ?? last_at) : first_at
  return {
    type: `alarm.${event}`,
    timestamp: new Date(at).toISOString(),
    data: {
      id: id.slice(0, id.indexOf('.')),
      kind,
      subject,
      says: alarmSentence(kind) ?? kind,
      count,
      openedAt: new Date(first_at).toISOString(),
      lastAt: new Date(last_at).toISOString(),
      closedAt: closed_at === null ? null : new Date(closed_at).toISOString(),
      closedBy: closed_by,
      reason,
      details: JSON.parse(details) as unknown,
    },
  }
}

/** Sends one email for all messages that are due, so that a bad hour does not fill a mailbox. */
export function emailChannel(
  {
    to,
    site,
    timeZone,
  }: { readonly to: readonly string[]; readonly site: string; readonly timeZone: string },
  deliver: (email: AlarmEmail) => Promise<boolean>,
): AlarmChannel {
  return {
    name: 'email',
    async tell(messages) {
      const ids = messages.map(({ id }) => id).join(' ')
      const isSent = await deliver({
        to: to.join(', '),
        subject: subjectOf(messages, site),
        text: `${messages.map(message => paragraphOf(message, timeZone)).join('\n\n')}\n\nAll alarms: gateway alarms\n`,
        messageId: `<${createHash('sha256').update(ids).digest('hex')}@alarms.gateway>`,
      })
      return messages.map(() => (isSent ? sent : { isSent, reason: 'the mail server did not take it' }))
    },
  }
}

function subjectOf(messages: readonly AlarmMessage[], site: string): string {
  const [first] = messages
  if (first === undefined || messages.length > 1) return `${site}: ${messages.length} alarms`
  return `${site}: ${titleOf(first)}`
}

function titleOf({ event, alarm: { kind, subject } }: AlarmMessage): string {
  return `${kind}${subject === '' ? '' : ` ${subject}`} ${event}`
}

function paragraphOf(message: AlarmMessage, zone: string): string {
  const { kind, count, first_at, last_at, closed_at, closed_by, reason, details } = message.alarm
  const times = count > 1 ? `, ${count} times until ${zonedTime(last_at, zone)}` : ''
  return [
    titleOf(message),
    alarmSentence(kind) ?? kind,
    `opened ${zonedTime(first_at, zone)}${times}`,
    ...(closed_at === null ? [] : [`closed ${zonedTime(closed_at, zone)} by ${closed_by}: ${reason}`]),
    details,
  ].join('\n')
}
