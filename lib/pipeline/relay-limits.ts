import { CutError } from './errors.ts'

/** How long, and how much, may be read. */
export interface ReadLimits {
  readonly timeMs: number
  readonly bytesMax: number
}

/** How much longer, and how much more, of an event is relayed while its end is awaited. */
export const partingLimits: ReadLimits = { timeMs: 1000, bytesMax: 1_048_576 }

/** The error for a response that exceeds a limit. */
export function beyondLimit(limit: 'time' | 'size', { timeMs, bytesMax }: ReadLimits): CutError {
  const beyond =
    limit === 'time' ? `went on for more than ${timeMs / 1000} s` : `has more than ${bytesMax} bytes`
  return new CutError(
    `The response ${beyond}, the most that the gateway passes on, and was cut. Ask for a shorter one.`,
  )
}

/** Limits how many responses may be read to their usage at once after their clients have left. */
export class DrainSlots {
  readonly #countMax: number
  #count = 0

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** False when the maximum is reached: the response must be stopped. */
  acquire(): boolean {
    if (this.#count >= this.#countMax) return false
    this.#count += 1
    return true
  }

  release(): void {
    this.#count -= 1
  }
}

export interface RelayLimits {
  /** For a response without an announced length: one that never ends must not run up cost for ever. */
  readonly answer: ReadLimits
  /** For reading a response to its usage after its client has left. */
  readonly drain: ReadLimits
  /** Shared by all exchanges: each response that is read to its usage takes a slot. */
  readonly drainSlots: DrainSlots
  /** How long a client may read nothing of its response before it counts as gone. */
  readonly stallMs: number
}
