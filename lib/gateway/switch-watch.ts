import { readSwitches } from '../administration/provider-switches.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../platform/log.ts'
import { openRecordReader } from '../stores/open-store.ts'
import type { RecordReader } from '../stores/records/records.ts'
import type { Store } from '../stores/store.ts'
import type { Front } from '../front/front.ts'
import type { ProviderSwitch } from '../upstream/provider-health.ts'

/** How often the store is read: an operator's page of another node, or a command beside it, may have changed it. */
const lookMs = 500

type SwitchedFront = Pick<Front, 'switchProviders' | 'providerHealth'>
type WatchLog = Pick<Log, 'info' | 'warn'>

interface SwitchWatchOptions {
  readonly front: SwitchedFront
  readonly log: WatchLog
  /** Which kind of store it is. */
  readonly setting: Config['store']
}

/** Has a front act by what operators switch of providers, whichever process they did it in. */
export class SwitchWatch {
  readonly #records: RecordReader
  readonly #front: SwitchedFront
  readonly #log: WatchLog
  #applied = '[]'
  #timer: NodeJS.Timeout | undefined
  /** One after the other: what is being read may be older than what was written since. */
  #turn: Promise<void> = Promise.resolve()
  #isOut = false
  #isClosed = false

  /** Acts by what is switched, then looks again and again where other nodes may switch something too. */
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
    // Of SQLite one process writes, and it looks whenever it has written. Nobody is served yet and these rows are few:
    // to read them here spares a start the thread that reads for reports, a third of its time.
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

  /** What each process knows of every provider. */
  health(): ReturnType<Front['providerHealth']> {
    return this.#front.providerHealth()
  }

  /** Resolves when all workers act by what is in the store now. */
  look(): Promise<void> {
    const read = this.#turn.then(async () => this.#apply(await readSwitches(this.#records)))
    this.#turn = read.catch(() => undefined) // Whoever looks is told; the next in turn need not know.
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
      // What was switched stays so; a store that is out is told of once.
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
