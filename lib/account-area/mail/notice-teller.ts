import { setTimeout as delay } from 'node:timers/promises'
import type { Notice, Notices, Owner } from '../../administration/notices.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Log } from '../../platform/log.ts'
import type { Letter, Mailer } from './mailer.ts'

interface NoticeTellerOptions {
  readonly notices: Notices
  /** The emails of a notice; none where there is nothing left to tell. */
  readonly write: (notice: Notice, owners: readonly Owner[]) => Promise<readonly Letter[]>
  readonly mailer: Pick<Mailer, 'deliver'>
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

const everyMs = 1000
const closeMs = 5000
const takenMax = 20
/** Longer than the attempts to deliver an email take. */
const takenMs = 5 * 60_000
/** What no server has taken by then is old news. */
const keptMs = 3 * 24 * 3_600_000

/** Sends what owners of accounts are owed an email about, until a mail server has taken it. */
export class NoticeTeller {
  readonly #options: NoticeTellerOptions
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined

  constructor(options: NoticeTellerOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      this.#running ??= this.#tell().finally(() => (this.#running = undefined))
    }, everyMs)
    this.#timer.unref()
  }

  /** Ends; what is being told is waited for, for some seconds at most. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.race([this.#running, delay(closeMs, undefined, { ref: false })])
  }

  async #tell(): Promise<void> {
    const { notices, clock, log } = this.#options
    try {
      for (const notice of await notices.take(clock.now(), takenMs, takenMax)) await this.#tellOne(notice)
    } catch (error) {
      log.error({ error }, 'emails that are owed could not be sent')
    }
  }

  async #tellOne(notice: Notice): Promise<void> {
    const { notices, write, mailer, clock, log } = this.#options
    const emails = await write(notice, await notices.owners(notice.account_id))
    const sent = await Promise.all(emails.map(email => mailer.deliver(email)))
    const isOld = clock.now() - notice.created_at > keptMs
    if (isOld && !sent.includes(true) && emails.length > 0)
      log.error({ account: notice.account_id, kind: notice.kind }, 'an email that was owed is given up')
    if (emails.length === 0 || sent.includes(true) || isOld) await notices.end(notice)
  }
}
