import { totalmem } from 'node:os'
import { steadyClock, type Clock } from '../platform/clock.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Log } from '../platform/log.ts'

interface PaceOptions {
  readonly perSecond: number
  /** How many may come at once. */
  readonly burst: number
  /** The longest wait. */
  readonly waitMsMax: number
  readonly clock: Clock
}

/** How many owners are tracked; the least recently active are dropped first. */
const ownersMax = 10_000

/** Spreads out floods, by owner, so that a flood takes a part of the event loop and not all of it. */
export class Pace {
  readonly #options: PaceOptions
  /** When the owner's next request would be due without a burst. */
  readonly #nextAt = new Map<string, number>()

  constructor(options: PaceOptions) {
    this.#options = options
  }

  /** How long the owner's next request waits, in milliseconds; undefined when too many wait already. */
  next(owner: string): number | undefined {
    const { perSecond, burst, waitMsMax, clock } = this.#options
    const now = clock.now()
    const stepMs = 1000 / perSecond
    const at = Math.max(this.#nextAt.get(owner) ?? 0, now)
    const waitMs = Math.max(0, at - now - (burst - 1) * stepMs)
    if (waitMs > waitMsMax) return undefined
    this.#nextAt.delete(owner)
    this.#nextAt.set(owner, at + stepMs)
    const [oldest] = this.#nextAt.size > ownersMax ? this.#nextAt.keys() : []
    if (oldest !== undefined) this.#nextAt.delete(oldest)
    return waitMs
  }
}

/** The requests that are shed: those with an unknown key, or all new ones. */
export type ShedClass = 'unknown' | 'new'

/** The measurements that overload is detected by. */
interface OverloadSources {
  openExchanges(): number
  /** Operations that have not been sent to the ledger's writer yet. */
  writesWaiting(): number
  memoryBytes(): number
}

interface OverloadLimits {
  readonly exchangesMax: number
  readonly memoryBytesMax: number
  /** The maximum delay of timers. */
  readonly loopDelayMsMax: number
  readonly writesWaitingMax: number
}

const sampleMs = 100
/** The parts of a limit at which unknown callers are shed, and at which everything new is. */
const loopDelayPart = [0.2, 1] as const
const memoryPart = [0.8, 0.9] as const
const exchangesPart = [0.8, 1] as const
const writesPart = [1 / 3, 1] as const

const sampleCount = 5

/**
 * The delay of timers, as the median of the last five samples: a single long pause, such as the parsing of one body, is
 * not overload, and one that lasts is detected after three samples.
 */
class LoopDelay {
  readonly #samplesMs: number[] = Array.from({ length: sampleCount }, () => 0)
  #next = 0

  add(lateMs: number): void {
    this.#samplesMs[this.#next] = Math.max(0, lateMs)
    this.#next = (this.#next + 1) % sampleCount
  }

  get medianMs(): number {
    return this.#samplesMs.toSorted((a, b) => a - b)[sampleCount >> 1] ?? 0
  }
}

/** 0: normal. 1: high, unknown callers are shed. 2: full, everything new is shed. */
type Level = 0 | 1 | 2

/** A value must fall to this part of a limit before the limit counts as kept again. */
const release = 0.8

/** Reports the level of a value, with hysteresis near a limit. */
class Threshold {
  readonly #high: number
  readonly #full: number
  level: Level = 0

  constructor(high: number, full: number) {
    this.#high = high
    this.#full = full
  }

  update(value: number): Level {
    if (value >= this.#full * (this.level === 2 ? release : 1)) this.level = 2
    else if (value >= this.#high * (this.level === 0 ? 1 : release)) this.level = 1
    else this.level = 0
    return this.level
  }
}

/**
 * Decides which requests to shed when the process cannot keep up. Running exchanges are never touched. The limits are
 * far above anything that a healthy process reaches.
 */
export class Overload {
  readonly #sources: OverloadSources
  readonly #limits: OverloadLimits
  readonly #log: Pick<Log, 'info' | 'warn'>
  readonly #delay = new LoopDelay()
  readonly #thresholds: Readonly<Record<'loopDelay' | 'memory' | 'exchanges' | 'writes', Threshold>>
  readonly #timer: NodeJS.Timeout
  #expectedMs = steadyClock.now() + sampleMs
  level: Level = 0
  readonly shedCounts: Record<ShedClass, number> = { unknown: 0, new: 0 }

  constructor(limits: OverloadLimits, sources: OverloadSources, log: Pick<Log, 'info' | 'warn'>) {
    this.#sources = sources
    this.#limits = limits
    this.#log = log
    const parts = (limit: number, [high, full]: readonly [number, number]): Threshold =>
      new Threshold(high * limit, full * limit)
    this.#thresholds = {
      loopDelay: parts(limits.loopDelayMsMax, loopDelayPart),
      memory: parts(limits.memoryBytesMax, memoryPart),
      exchanges: parts(limits.exchangesMax, exchangesPart),
      writes: parts(limits.writesWaitingMax, writesPart),
    }
    this.#timer = setInterval(() => this.#tick(), sampleMs)
    this.#timer.unref()
  }

  get loopDelayMs(): number {
    return this.#delay.medianMs
  }

  /**
   * Called before any work is done for a request.
   * @throws GatewayError overloaded
   */
  admit(): void {
    const open = this.#sources.openExchanges()
    if (open >= this.#limits.exchangesMax) this.#shed('new')
    // With nothing open, waiting cannot help: memory that is never released must not lock all callers out.
    if (this.level === 2 && open > 0) this.#shed('new')
  }

  /**
   * Called when a request's key turns out to be unknown.
   * @throws GatewayError overloaded
   */
  admitUnknown(): void {
    if (this.level > 0) this.#shed('unknown')
  }

  /** Samples everything but the event loop's delay. */
  sample(): void {
    const { loopDelay, memory, exchanges, writes } = this.#thresholds
    const level = Math.max(
      loopDelay.update(this.#delay.medianMs),
      memory.update(this.#sources.memoryBytes()),
      exchanges.update(this.#sources.openExchanges()),
      writes.update(this.#sources.writesWaiting()),
    ) as Level
    if (level === this.level) return
    this.level = level
    const facts = { level, ...this.#readings() }
    if (level === 0) this.#log.info(facts, 'no longer overloaded')
    else if (level === 1) this.#log.warn(facts, 'under pressure: callers with unknown keys are turned away')
    else this.#log.warn(facts, 'overloaded: new requests are turned away')
  }

  close(): undefined {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const now = steadyClock.now()
    this.#delay.add(now - this.#expectedMs)
    this.#expectedMs = now + sampleMs
    this.sample()
  }

  #readings(): object {
    const { loopDelay, memory, exchanges, writes } = this.#thresholds
    return {
      loopDelayMs: Math.round(this.#delay.medianMs),
      memoryBytes: this.#sources.memoryBytes(),
      openExchanges: this.#sources.openExchanges(),
      writesWaiting: this.#sources.writesWaiting(),
      because: Object.entries({ loopDelay, memory, exchanges, writes })
        .filter(([, threshold]) => threshold.level > 0)
        .map(([name]) => name),
      shed: { ...this.shedCounts },
    }
  }

  #shed(group: ShedClass): never {
    this.shedCounts[group] += 1
    throw new GatewayError('overloaded', 'The gateway is overloaded. Try again soon.', {
      // Varied, so that the callers do not all come back at once.
      retryAfterSeconds: group === 'unknown' ? 30 : 1 + (this.shedCounts.new % 3),
    })
  }
}

/** The memory this process may use: the setting, else its container's limit, else the machine's. */
export function memoryLimit(configured: number | undefined): number {
  if (configured !== undefined) return configured
  const machine = totalmem()
  const constrained = process.constrainedMemory()
  // Without a limit it is 0, or a number larger than any machine's memory.
  return constrained > 0 && constrained < machine ? constrained : machine
}

/** Reads the memory in use. It comes from a file; when no descriptor is left, the last value is kept. */
export function memoryReader(): () => number {
  let bytes = 0
  return () => {
    try {
      bytes = process.memoryUsage.rss()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    }
    return bytes
  }
}
