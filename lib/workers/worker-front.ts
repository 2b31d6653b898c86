import type { Accounts } from '../accounts/accounts.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { DrainOptions } from '../listener/drain.ts'
import type { Front } from '../front/front.ts'
import type { ServedMetrics } from '../listener/admin-server.ts'
import type { Log } from '../platform/log.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import { borrowRateLimits, returnRateLimits } from '../rate-limits/shared-rate-limits.ts'
import type { RateLimiting } from '../rate-limits/rate-limits.ts'
import type { Store } from '../stores/store.ts'
import type { ProviderHealth, ProviderSwitch } from '../upstream/provider-health.ts'
import { Restarts, WorkerLink, type WorkerEnd, type WorkerLinkOptions } from './worker-link.ts'
import { sharedAccounts, type AskAll } from './worker-operations.ts'
import { WorkerMetrics } from './worker-metrics.ts'

interface WorkerFrontOptions {
  readonly config: Config
  readonly store: Store
  readonly log: Log
  /** Its events are logged. */
  readonly bus: PipelineBus
  readonly clock: Clock
  readonly workerFile?: string
  readonly passLogLines?: (lines: string) => void
  readonly droppedLogLines: () => number
  /** Called with the alarms of workers, which log and count them themselves. */
  readonly noteAlarm: WorkerLinkOptions['onAlarm']
  /** Called with the errors of workers. */
  readonly noteErrors: WorkerLinkOptions['onErrors']
}

/** How long after its deadline a draining worker may take; it waits for a failing store itself. */
const stuckMs = 75_000

/**
 * Starts the workers of a config, and waits until they can serve.
 * @throws any error that keeps one of them from starting
 */
export async function openWorkerFront(
  options: WorkerFrontOptions,
): Promise<{ readonly front: Front; readonly accounts: Accounts }> {
  const front = new WorkerFront(options)
  try {
    await front.start()
  } catch (error) {
    await front.close()
    throw error
  }
  const { store, config } = options
  // Nodes of a PostgreSQL store receive changes of keys from the database.
  const accounts =
    config.store.kind === 'sqlite' ? sharedAccounts(store.accounts, store.keys, front.askAll) : store.accounts
  return { front, accounts }
}

/** Serves requests in several processes, which share the port and call this process for everything that exists once. */
class WorkerFront implements Front {
  readonly #options: WorkerFrontOptions
  readonly #bus: PipelineBus
  readonly #restarts = new Restarts()
  readonly #links = new Map<number, WorkerLink>()
  readonly #metrics: WorkerMetrics
  #config: Config
  #switches: readonly ProviderSwitch[] = []
  #limits: Promise<RateLimiting> | undefined
  #drain: Promise<void> | undefined
  #isClosing = false
  #hasListened = false
  #port = 0
  /** Reloads and starts of workers run one at a time, so that no worker is left with an older config. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(options: WorkerFrontOptions) {
    const { config, bus, store, droppedLogLines } = options
    this.#options = options
    this.#config = config
    this.#bus = bus
    this.#metrics = new WorkerMetrics({
      bus,
      links: () => this.#links.values(),
      writesWaiting: () => store.writesWaiting(),
      droppedLogLines,
    })
  }

  async start(): Promise<void> {
    const numbers = Array.from({ length: this.#config.workers }, (_, index) => index + 1)
    await Promise.all(numbers.map(number => this.#fork(number).start()))
  }

  async listen(): Promise<string> {
    const [first, ...others] = [...this.#links.values()]
    if (first === undefined) throw new Error('no worker is left to listen')
    // The first worker chooses the port where the config leaves it open, and the others share it.
    const url = await this.#listenOn(first)
    this.#port = portOf(url)
    await Promise.all(others.map(link => this.#listenOn(link)))
    this.#hasListened = true
    return url
  }

  reload(config: Config): Promise<void> {
    const next = { ...config, listen: this.#config.listen }
    return this.#inTurn(async () => {
      const links = [...this.#links.values()].filter(link => !link.isGone)
      const results = await Promise.allSettled(links.map(link => unlessGone(link, link.prepare(next))))
      const failed = results.find(result => result.status === 'rejected')
      if (failed !== undefined) {
        await Promise.all(links.map(link => unlessGone(link, link.answered(link.peer.ask('dropConfig')))))
        throw failed.reason
      }
      this.#config = next
      await Promise.all(links.map(link => unlessGone(link, link.take(next))))
    })
  }

  drain({ drainMs, waitMs }: DrainOptions): Promise<void> {
    this.#isClosing = true
    this.#restarts.stop()
    const ended = [...this.#links.values()].map(link => this.#drainLink(link, drainMs, waitMs))
    return (this.#drain ??= Promise.all(ended).then(() => undefined))
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#restarts.stop()
    const links = [...this.#links.values()]
    for (const link of links) link.disconnect()
    await Promise.all(links.map(link => link.ended))
    if (this.#limits !== undefined) await returnRateLimits({ bus: this.#bus })
  }

  openMetrics(): ServedMetrics {
    return this.#metrics
  }

  isServing(): boolean {
    return [...this.#links.values()].some(link => link.isListening)
  }

  /** Runs in sequence with starts of workers, so that none starts without the switches. */
  switchProviders(switches: readonly ProviderSwitch[]): Promise<void> {
    return this.#inTurn(async () => {
      this.#switches = switches
      await Promise.all([...this.#links.values()].map(link => this.#switchOf(link)))
    })
  }

  async providerHealth(): Promise<readonly (readonly ProviderHealth[])[]> {
    const found: (readonly ProviderHealth[])[] = []
    const links = [...this.#links.values()].filter(link => link.isListening)
    await Promise.all(
      links.map(link =>
        unlessGone(
          link,
          link.answered(link.peer.ask('providerHealth')).then(health => found.push(health)),
        ),
      ),
    )
    return found
  }

  #switchOf(link: WorkerLink): Promise<void> {
    return unlessGone(link, link.answered(link.peer.ask('switchProviders', this.#switches)))
  }

  readonly askAll: AskAll = async (name, ...values) => {
    const links = [...this.#links.values()]
    await Promise.all(links.map(link => unlessGone(link, link.answered(link.peer.ask(name, ...values)))))
  }

  async #drainLink(link: WorkerLink, drainMs: number, waitMs: number): Promise<void> {
    const timer = setTimeout(() => link.kill(), drainMs + waitMs + stuckMs)
    try {
      await unlessGone(link, link.peer.ask('drain', drainMs, waitMs))
    } finally {
      clearTimeout(timer)
    }
    link.disconnect()
    await link.ended
  }

  #fork(number: number): WorkerLink {
    const { store, workerFile: file, passLogLines, noteAlarm, noteErrors } = this.#options
    if (file === undefined) throw new Error('there is no program for workers')
    const link = new WorkerLink({
      number,
      file,
      config: this.#config,
      store,
      limits: () => this.#openLimits(),
      onLines: lines => passLogLines?.(lines),
      onAlarm: noteAlarm,
      onErrors: noteErrors,
    })
    this.#links.set(number, link)
    void link.ended.then(end => this.#onEnded(link, end))
    return link
  }

  async #listenOn(link: WorkerLink): Promise<string> {
    const url = await link.listen()
    this.#options.log.info({ worker: link.number, pid: link.pid }, 'a worker listens')
    return url
  }

  #onEnded(link: WorkerLink, { code, signal, error, releasedHolds }: WorkerEnd): void {
    const { number } = link
    this.#metrics.keep(link)
    const { log } = this.#options
    for (const hold of releasedHolds)
      log.warn({ worker: number, hold }, 'released a hold that a crash left open')
    if (this.#isClosing || !this.#hasListened) return
    const waitMs = this.#planReplacement(number)
    const ending = { worker: number, code, signal, waitMs, ...(error !== undefined && { error }) }
    log.error(ending, 'a worker has ended, and its exchanges with it')
  }

  #planReplacement(number: number): number {
    return this.#restarts.plan(number, () => void this.#inTurn(() => this.#replace(number)))
  }

  async #replace(number: number): Promise<void> {
    if (this.#isClosing) return
    // The port chosen at the start stays open only while a worker has it; after that it must be requested by number.
    const { listen } = this.#config
    if (!this.isServing()) this.#config = { ...this.#config, listen: { ...listen, port: this.#port } }
    let link: WorkerLink | undefined
    try {
      link = this.#fork(number)
      await link.start()
      await this.#switchOf(link)
      await this.#listenOn(link)
    } catch (error) {
      this.#options.log.error({ worker: number, error }, 'a worker cannot start')
      if (link === undefined) this.#planReplacement(number)
      else link.kill()
    }
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act)
    this.#turn = result.catch(() => undefined) // The caller gets the error; the next one does not depend on it.
    return result
  }

  #openLimits(): Promise<RateLimiting> {
    const { clock } = this.#options
    return (this.#limits ??= borrowRateLimits({ config: this.#config, bus: this.#bus, clock }))
  }
}

/** Ignores the failure of a call when the worker is gone: that is not an error of the caller. */
async function unlessGone(link: WorkerLink, asked: Promise<unknown>): Promise<void> {
  try {
    await asked
  } catch (error) {
    if (!link.isGone) throw error
  }
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url)
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
