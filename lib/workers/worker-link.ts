import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import { steadyClock } from '../platform/clock.ts'
import type { Config, Limits, ProviderConfig } from '../config/config.ts'
import type { HoldRequest } from '../ledger/ledger.ts'
import type { MetricValues } from '../observability/metrics.ts'
import type { RateLimiting } from '../rate-limits/rate-limits.ts'
import type { Store } from '../stores/store.ts'
import { processChannel, Peer } from './peer.ts'
import { LedgerServer } from './ledger-server.ts'
import {
  LimitServer,
  configMessage,
  type PrimaryOperations,
  type WorkerOperations,
} from './worker-operations.ts'
import { memoryLimit } from '../overload/overload.ts'

const firstMs = 100
const lastMs = 10_000
/** A worker that ran this long did not fail because of its start. */
const soundMs = 60_000

interface Record {
  waitMs: number
  startsAt: number
}

/** Schedules the restart of workers that ended: soon, and later the more often it happens. */
export class Restarts {
  readonly #records = new Map<number, Record>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isStopped = false

  /** Returns the delay until the start, in milliseconds. */
  plan(number: number, start: () => void): number {
    const now = steadyClock.now()
    const last = this.#records.get(number)
    const isSound = last === undefined || now - last.startsAt > soundMs
    const waitMs = isSound ? firstMs : Math.min(lastMs, last.waitMs * 2)
    this.#records.set(number, { waitMs, startsAt: now + waitMs })
    if (this.#isStopped) return waitMs
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      start()
    }, waitMs)
    this.#timers.add(timer)
    return waitMs
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }
}

export interface WorkerLinkOptions {
  /** Its place among the workers, from 1; its replacement gets the same number. */
  readonly number: number
  readonly file: string
  readonly config: Config
  readonly store: Pick<Store, 'ledger'>
  readonly limits: () => Promise<RateLimiting>
  /** Receives whole lines of its log. */
  readonly onLines: (lines: string) => void
  readonly onAlarm: PrimaryOperations['noteAlarm']
  readonly onErrors: PrimaryOperations['noteErrors']
}

/** How long a worker may take until it is ready, in milliseconds. */
const startMsMax = 30_000
/** How long it may take for any other call. */
const answerMsMax = 10_000
/** How long metrics wait for a worker that does not respond: scrapers have short timeouts. */
const metricsMsMax = 3_000

/** How a worker ended. */
export interface WorkerEnd {
  readonly code: number | null
  readonly signal: string | null
  /** Why it could not be started at all. */
  readonly error?: Error
  /** Holds of the exchanges that were lost with it; they are released. */
  readonly releasedHolds: readonly HoldRequest[]
}

/**
 * The config for one of several workers: an equal share of every limit that is counted per process. Providers'
 * connections are at least as many as workers; the check of the config ensures it.
 */
function shareConfig(config: Config): Config {
  const { workers, limits, providers } = config
  const share = (total: number): number => Math.max(1, Math.floor(total / workers))
  const shared: Limits = {
    ...limits,
    bodyBytesTotalMax: Math.max(limits.bodyBytesMax, share(limits.bodyBytesTotalMax)),
    connectionsMax: share(limits.connectionsMax),
    exchangesMax: share(limits.exchangesMax ?? limits.connectionsMax),
    memoryBytesMax: share(memoryLimit(limits.memoryBytesMax)),
    writesWaitingMax: share(limits.writesWaitingMax),
  }
  const shareProvider = (provider: ProviderConfig): ProviderConfig => ({
    ...provider,
    limits: {
      ...provider.limits,
      connectionsMax: share(provider.limits.connectionsMax),
      waitingMax: share(provider.limits.waitingMax),
    },
  })
  return {
    ...config,
    limits: shared,
    providers: new Map([...providers].map(([name, provider]) => [name, shareProvider(provider)])),
  }
}

/** A worker, as seen from the process that started it. */
export class WorkerLink {
  readonly number: number
  /** The config that it runs with. */
  config: Config
  isListening = false
  isGone = false
  /** As of the last reading. */
  metrics: MetricValues = []
  /** Resolves when it is gone and nothing of it is left open. */
  readonly ended: Promise<WorkerEnd>
  readonly peer: Peer<WorkerOperations, PrimaryOperations>
  readonly #worker: Worker

  constructor(options: WorkerLinkOptions) {
    this.number = options.number
    this.config = options.config
    this.#worker = forkWorker(options.file)
    const { process: child } = this.#worker
    passLines(child.stderr, options.onLines)
    const ledger = new LedgerServer(options.store.ledger, (name, ...values) =>
      this.peer.tell(name, ...values),
    )
    const limits = new LimitServer(options.limits)
    const channel = processChannel(child)
    // Its pipe is read to the end before it closes: the calls it made before it died are executed.
    const closed = new Promise<void>(resolve => {
      channel.onClose(() => {
        this.isGone = true
        this.isListening = false
        resolve()
      })
    })
    const exited = new Promise<Omit<WorkerEnd, 'releasedHolds'>>(resolve => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      this.#worker.on('error', (error: Error) => {
        if (child.pid === undefined) resolve({ code: null, signal: null, error })
      })
    })
    this.peer = new Peer(channel, {
      ...ledger.operations,
      ...limits.operations,
      noteAlarm: options.onAlarm,
      noteErrors: options.onErrors,
    })
    this.ended = (async () => {
      await closed
      const [releasedHolds] = await Promise.all([ledger.close(), limits.close()])
      return { ...(await exited), releasedHolds }
    })()
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  /** Makes it ready. @throws any error that keeps it from starting */
  async start(): Promise<void> {
    const started = this.peer.ask('start', this.number, configMessage(shareConfig(this.config)))
    await this.answered(started, startMsMax)
  }

  async listen(): Promise<string> {
    const url = await this.answered(this.peer.ask('listen'), startMsMax)
    this.isListening = !this.isGone
    return url
  }

  async prepare(config: Config): Promise<void> {
    await this.answered(this.peer.ask('prepareConfig', configMessage(shareConfig(config))))
  }

  async take(config: Config): Promise<void> {
    await this.answered(this.peer.ask('takeConfig'))
    this.config = config
  }

  /** Its current metrics, or the previous reading when it does not respond. */
  async readMetrics(): Promise<MetricValues> {
    const known = this.metrics
    if (!this.isListening) return known
    const stop = new AbortController()
    const late = delay(metricsMsMax, known, { signal: stop.signal, ref: false })
    late.catch(() => undefined)
    try {
      return await Promise.race([this.#askMetrics(), late])
    } catch (error) {
      if (this.isGone) return known
      throw error
    } finally {
      stop.abort()
    }
  }

  /**
   * Waits for the result of a call. A worker that does not respond in time hangs, and is killed: otherwise a revoked
   * key would still work in it, and no later config could be applied.
   */
  async answered<T>(asked: Promise<T>, withinMs = answerMsMax): Promise<T> {
    const timer = setTimeout(() => this.kill(), withinMs)
    try {
      return await asked
    } finally {
      clearTimeout(timer)
    }
  }

  /** Disconnects it when it is not needed any more. */
  disconnect(): void {
    if (this.#worker.isConnected()) this.#worker.process.disconnect()
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL')
  }

  async #askMetrics(): Promise<MetricValues> {
    this.metrics = await this.answered(this.peer.ask('metrics'), startMsMax)
    return this.metrics
  }
}

function forkWorker(file: string): Worker {
  cluster.setupPrimary({
    exec: file,
    args: [],
    execArgv: [],
    serialization: 'advanced',
    // Lines of several processes would mix in one pipe, so they pass through this process.
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  return cluster.fork()
}

function passLines(stream: NodeJS.ReadableStream | null, onLines: (lines: string) => void): void {
  let rest = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) onLines(rest + text.slice(0, end))
    rest = (end > 0 ? '' : rest) + text.slice(end)
  })
  stream?.on('end', () => {
    if (rest !== '') onLines(`${rest}\n`)
  })
}
