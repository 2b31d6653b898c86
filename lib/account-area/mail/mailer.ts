import { setTimeout as delay } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import type { AccountAreaConfig } from '../../config/config.ts'
import type { Log } from '../../platform/log.ts'

/** An email of plain text. */
export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** With its angle brackets (RFC 5322, 3.6.4); one of its own unless said. */
  readonly messageId?: string
  readonly attachments?: readonly { readonly filename: string; readonly content: Buffer }[]
}

/** Sends emails behind the answers that caused them, so that nobody learns from the time they take. */
export interface Mailer {
  send(letter: Letter): void
  /** As `send`, for whoever waits: whether a server has taken the email. */
  deliver(letter: Letter): Promise<boolean>
  /** Waits for emails on their way, for some seconds at most. */
  close(): Promise<void>
}

const attemptsMax = 3
const retryMsDefault = 2000
const closeMs = 5000
const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 }

/** Writes emails to the log: for trying things out on one's own machine. */
function logMailer(log: Log): Mailer {
  const send = ({ to, subject, text, attachments = [] }: Letter): void =>
    log.info(
      { to, subject, text, attachments: attachments.map(one => one.filename) },
      'an email, not sent: no mail is configured',
    )
  return {
    send,
    async deliver(letter) {
      send(letter)
      return true
    },
    close: () => Promise.resolve(),
  }
}

/** Sends emails by SMTP, or writes them to the log where no server is configured. */
export function openMailer(
  { mail, support }: Pick<AccountAreaConfig, 'mail' | 'support'>,
  log: Log,
  retryMs = retryMsDefault,
): Mailer {
  if (mail === undefined) return logMailer(log)
  const ways = { from: mail.from, ...(support !== undefined && { replyTo: support }) }
  const transport = createTransport({ url: mail.url.href, ...timeouts })
  const closing = new AbortController()
  const sending = new Set<Promise<boolean>>()

  const attempt = async (letter: Letter): Promise<boolean> => {
    for (let count = 1; ; count += 1) {
      try {
        const { attachments = [], ...rest } = letter
        await transport.sendMail({ ...ways, ...rest, attachments: [...attachments] })
        return true
      } catch (error) {
        if (count === attemptsMax || closing.signal.aborted) {
          log.error({ error, to: letter.to, subject: letter.subject }, 'an email could not be sent')
          return false
        }
        log.warn({ error }, 'an email could not be sent yet')
      }
      // Closing ends the wait, and the next attempt is the last.
      await delay(retryMs * count, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }
  const deliver = (letter: Letter): Promise<boolean> => {
    const one = attempt(letter).finally(() => sending.delete(one))
    sending.add(one)
    return one
  }
  return {
    deliver,
    send: letter => void deliver(letter),
    async close() {
      closing.abort()
      await Promise.race([Promise.all(sending), delay(closeMs, undefined, { ref: false })])
      transport.close()
    },
  }
}
