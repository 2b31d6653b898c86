import { createHash, createHmac } from 'node:crypto'
import type { AlarmWebhook, Config } from '../config/config.ts'
import { alarmSentence } from '../pipeline/alarm-sentences.ts'
import { zonedTime, type Clock } from '../platform/clock.ts'
import { outsideCall } from '../upstream/outside-call.ts'
import type { AlarmMessage } from './alarm-messages.ts'

/** Who is told of alarms. */
export interface AlarmChannel {
  /** `email`, or `webhook:NAME`. */
  readonly name: string
  /** For each message whether somebody has taken it. */
  tell(messages: readonly AlarmMessage[]): Promise<readonly TellResult[]>
}

/** What is wrong where it is not told. */
type TellResult = { readonly isTold: true } | { readonly isTold: false; readonly reason: string }

/** What a channel by email needs of a mailer. */
interface AlarmEmail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly messageId: string
}

const timeoutMs = 10_000
const bytesMax = 1024 * 1024
const told: TellResult = { isTold: true }

/**
 * Posts each message as Standard Webhooks has it (https://www.standardwebhooks.com): `webhook-id` is the same in each
 * attempt, and `webhook-signature` is `v1,` and the HMAC of id, time and body.
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
      if (status >= 200 && status < 300) return told
      return { isTold: false, reason: `it answered ${status}` }
    } catch (error) {
      return { isTold: false, reason: error instanceof Error ? error.message : String(error) }
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

/** Sends one email for all messages of a moment, so that a bad hour does not fill a mailbox. */
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
      const isTold = await deliver({
        to: to.join(', '),
        subject: subjectOf(messages, site),
        text: `${messages.map(message => paragraphOf(message, timeZone)).join('\n\n')}\n\nAll alarms: gateway alarms\n`,
        messageId: `<${createHash('sha256').update(ids).digest('hex')}@alarms.gateway>`,
      })
      return messages.map(() => (isTold ? told : { isTold, reason: 'the mail server did not take it' }))
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
