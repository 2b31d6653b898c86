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
/** A worker that ran so long failed by an accident, and not at its start. */
const soundMs = 60_000

interface Record {
  waitMs: number
  startsAt: number
}

/** When workers that ended are started again: soon, and the later the more often it happens. */
export class Restarts {
  readonly #records = new Map<number, Record>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isStopped = false

  /** Answers in how many milliseconds it is started. */
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
  /** Its place among the workers, from 1; another one takes it when this one is gone. */
  readonly number: number
  readonly file: string
  readonly config: Config
  readonly store: Pick<Store, 'ledger'>
  readonly limits: () => Promise<RateLimiting>
  /** Takes whole lines of its log. */
  readonly onLines: (lines: string) => void
  readonly onAlarm: PrimaryOperations['noteAlarm']
  readonly onErrors: PrimaryOperations['noteErrors']
}

/** How long a worker may take to be ready, or to count, in milliseconds. */
const startMsMax = 30_000
/** How long it may take for whatever else it is asked. */
const answerMsMax = 10_000
/** How long metrics wait for one that does not answer: whoever reads them gives up soon. */
const metricsMsMax = 3_000

/** What was left of a worker. */
export interface WorkerEnd {
  readonly code: number | null
  readonly signal: string | null
  /** Why it could not be started at all. */
  readonly error?: Error
  /** Holds of the exchanges that it lost; they are released. */
  readonly releasedHolds: readonly HoldRequest[]
}

/**
 * What one of several workers may take of what the config grants the gateway: an equal share of all that is
 * counted by the process. Providers' connections are at least as many as workers; the config's check says so.
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

/** A worker, as the process that started it has it. */
export class WorkerLink {
  readonly number: number
  /** The config that it acts by. */
  config: Config
  isListening = false
  isGone = false
  /** When they were asked for last. */
  metrics: MetricValues = []
  /** Fulfilled when it is gone and nothing of it is left open. */
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
    // Its pipe is read to the end before it closes: what it had asked for before it died is done.
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

  /** Makes it ready. @throws whatever keeps it from starting */
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

  /** What it has counted; of one that does not answer, what it had when it was asked before. */
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
   * Waits for what it was asked. One that does not answer in time hangs, and is ended: a key could be revoked
   * for all but it, and no other would ever be given the next config.
   */
  async answered<T>(asked: Promise<T>, withinMs = answerMsMax): Promise<T> {
    const timer = setTimeout(() => this.kill(), withinMs)
    try {
      return await asked
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends it when nothing of it is needed any more. */
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
    // Lines of several processes would mix in one pipe: they go through this one.
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
