import { readSwitches } from '../administration/provider-switches.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../platform/log.ts'
import { openRecordReader } from '../stores/open-store.ts'
import type { RecordReader } from '../stores/records/records.ts'
import type { Store } from '../stores/store.ts'
import type { Front } from '../front/front.ts'
import type { ProviderSwitch } from '../upstream/provider-health.ts'

/** How often the store is read: an operator's page on another node, or a command, may have changed it. */
const lookMs = 500

type SwitchedFront = Pick<Front, 'switchProviders' | 'providerHealth'>
type WatchLog = Pick<Log, 'info' | 'warn'>

interface SwitchWatchOptions {
  readonly front: SwitchedFront
  readonly log: WatchLog
  /** The kind of store. */
  readonly setting: Config['store']
}

/** Applies the operators' switches of providers to a front, whichever process they were set in. */
export class SwitchWatch {
  readonly #records: RecordReader
  readonly #front: SwitchedFront
  readonly #log: WatchLog
  #applied = '[]'
  #timer: NodeJS.Timeout | undefined
  /** Reads run one after the other: the result of a read may be older than a later write. */
  #turn: Promise<void> = Promise.resolve()
  #isOut = false
  #isClosed = false

  /** Applies the switches, then reads them at intervals where other nodes may set some too. */
  static async open(
    store: Pick<Store, 'records'>,
    { front, log, setting }: SwitchWatchOptions,
  ): Promise<SwitchWatch> {
    const records = await store.records()
    const watch = new SwitchWatch(records, front, log)
    if (setting.kind === 'postgres') {
      await watch.look()
      watch.#lookLater()
      return watch
    }
    // Only one process writes to SQLite, and it reads the switches after each write. No request is served yet and the
    // rows are few: reading them here avoids starting the thread for reports, which takes a third of the start.
    const first = await openRecordReader(setting)
    try {
      await watch.#apply(await readSwitches(first))
    } finally {
      await first.close()
    }
    return watch
  }

  private constructor(records: RecordReader, front: SwitchedFront, log: WatchLog) {
    this.#records = records
    this.#front = front
    this.#log = log
  }

  /** What each process knows about every provider. */
  health(): ReturnType<Front['providerHealth']> {
    return this.#front.providerHealth()
  }

  /** Resolves when all workers have applied the current content of the store. */
  look(): Promise<void> {
    const read = this.#turn.then(async () => this.#apply(await readSwitches(this.#records)))
    this.#turn = read.catch(() => undefined) // The caller gets the error; the next read does not depend on it.
    return read
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#turn
  }

  #lookLater(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#lookAgain(), lookMs)
    this.#timer.unref()
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.look()
      this.#isOut = false
    } catch (error) {
      // The last known switches stay in force; an outage of the store is logged once.
      if (!this.#isOut) this.#log.warn({ error }, 'what operators switched of providers cannot be read')
      this.#isOut = true
    }
    this.#lookLater()
  }

  async #apply(switches: readonly ProviderSwitch[]): Promise<void> {
    const text = JSON.stringify(switches)
    if (text === this.#applied) return
    await this.#front.switchProviders(switches)
    this.#applied = text
    const paused = switches.filter(one => one.isPaused)
    this.#log.info(
      { paused: paused.map(({ provider, credential }) => (credential === '' ? provider : credential)) },
      'operators switched providers',
    )
  }
}
