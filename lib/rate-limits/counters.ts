import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Clock } from '../platform/clock.ts'
import { MinuteCounter } from './minute-counter.ts'

/** What is counted by the minute. */
export interface Counters {
  readonly requests: MinuteCounter
  readonly tokens: MinuteCounter
  /** Once, when nothing is counted any more. */
  close?(): Promise<void>
}

/** Counts in the memory of this process. */
export function memoryCounters(clock: Clock): Counters {
  const counter = (): MinuteCounter =>
    new MinuteCounter(new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 60 }), clock)
  return { requests: counter(), tokens: counter() }
}
