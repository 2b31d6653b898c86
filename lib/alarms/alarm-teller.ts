import { setTimeout as delay } from 'node:timers/promises'
import { LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import type { Records } from '../stores/records/records.ts'
import { type AlarmChannel, endMessage, takeMessages, type AlarmMessage } from './alarm-channel.ts'
import { alarmDetails } from './alarms.ts'

/** The recipients of alarms, and what they do not receive. */
export interface AlarmChannels {
  readonly channels: readonly AlarmChannel[]
  /** Codes that are not sent. */
  readonly except: readonly string[]
  close(): Promise<void>
}

interface AlarmTellerOptions {
  readonly records: () => Promise<Records>
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn'>
  /** How often the rows are read. */
  readonly everyMs?: number
  /** How long the store may be unavailable before that is sent without a row, and the first wait between attempts. */
  readonly awayMs?: number
}

const awayKind = 'store_unavailable'
const everyMsDefault = 2000
const awayMsDefault = 5000
const awayMsMax = 15 * 60_000
const closeMs = 5000
/** For one channel at once. */
const messagesMax = 20

/**
 * Sends messages to the configured recipients when alarms are opened or closed. What is due follows from the alarms in
 * the store, where one process claims it, and marks it when a recipient has accepted it; a crash in between repeats a
 * message under its old id. That the store is unavailable cannot be recorded there, so each process that notices it
 * sends that message by itself.
 */
export class AlarmTeller {
  readonly #options: AlarmTellerOptions
  #current: AlarmChannels
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #away: AbortController | undefined
  /** The channels that already know that the store was unavailable, for when its row is written. */
  #toldAway = new Set<string>()
  #isClosed = false

  constructor(options: AlarmTellerOptions, current: AlarmChannels) {
    this.#options = options
    this.#current = current
    this.#timer = setInterval(() => {
      this.#running ??= this.#tellAll().finally(() => (this.#running = undefined))
    }, options.everyMs ?? everyMsDefault)
    this.#timer.unref()
  }

  /** Uses other recipients from now on. */
  async reload(next: AlarmChannels): Promise<void> {
    const before = this.#current
    this.#current = next
    await this.#running
    await before.close()
  }

  /** Receives alarms as they are raised, for the one that has no row while it lasts: the unavailable store. */
  readonly note = (code: string, details: Readonly<Record<string, unknown>>): void => {
    if (code !== awayKind && code !== 'store_available') return
    this.#away?.abort()
    this.#away = undefined
    if (code === 'store_available' || this.#isClosed) return
    this.#away = new AbortController()
    this.#toldAway = new Set()
    void this.#tellAway(details, this.#away.signal)
  }

  /** Stops; waits for messages in progress, for some seconds at most. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#away?.abort()
    await Promise.race([this.#running, delay(closeMs, undefined, { ref: false })])
    await this.#current.close()
  }

  async #tellAll(): Promise<void> {
    const { channels, except } = this.#current
    if (channels.length === 0 || this.#away !== undefined) return
    try {
      const records = await this.#options.records()
      await Promise.all(channels.map(channel => this.#tellChannel(records, channel, except)))
    } catch (error) {
      // The store itself has reported that it is unavailable.
      if (!this.#isClosed && !(error instanceof LedgerUnavailableError))
        this.#options.log.error({ error }, 'alarms could not be told')
    }
  }

  async #tellChannel(records: Records, channel: AlarmChannel, except: readonly string[]): Promise<void> {
    const { clock, log } = this.#options
    const taken = await takeMessages(records, {
      channel: channel.name,
      except,
      now: clock.now(),
      limit: messagesMax,
    })
    const news = taken.filter(message => !this.#isToldAway(channel, message))
    const results = news.length === 0 ? [] : await channel.tell(news)
    for (const message of taken) {
      const result = results[news.indexOf(message)] ?? { isSent: true }
      const { attempts, alarm } = message
      if (!result.isSent) {
        const facts = { channel: channel.name, alarm: alarm.kind, attempts, reason: result.reason }
        log.warn(facts, 'an alarm could not be told yet')
      }
      await endMessage(records, message, { channel: channel.name, isSent: result.isSent, now: clock.now() })
    }
  }

  #isToldAway({ name }: AlarmChannel, { event, alarm }: AlarmMessage): boolean {
    return event === 'opened' && alarm.kind === awayKind && this.#toldAway.has(name)
  }

  /**
   * Sends that the store is unavailable, repeatedly until each channel has accepted it or the store is available again.
   */
  async #tellAway(details: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    const { clock, log, awayMs = awayMsDefault } = this.#options
    const message = awayMessage(details, clock.now())
    const toldTo = this.#toldAway
    for (let waitMs = awayMs; ; waitMs = Math.min(waitMs * 2, awayMsMax)) {
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted || this.#current.except.includes(message.alarm.kind)) return
      const waiting = this.#current.channels.filter(({ name }) => !toldTo.has(name))
      if (waiting.length === 0) return
      for (const channel of waiting) {
        const [result] = await channel.tell([message])
        if (result?.isSent === true) toldTo.add(channel.name)
        else
          log.warn(
            { channel: channel.name, alarm: message.alarm.kind, ...result },
            'an alarm could not be told yet',
          )
      }
    }
  }
}

function awayMessage(details: Readonly<Record<string, unknown>>, now: number): AlarmMessage {
  return {
    id: `${awayKind}.${now}.opened`,
    event: 'opened',
    alarm: {
      kind: awayKind,
      subject: '',
      count: 1,
      first_at: now,
      last_at: now,
      details: JSON.stringify(alarmDetails(details)),
      closed_by: null,
      closed_at: null,
      reason: null,
    },
  }
}
