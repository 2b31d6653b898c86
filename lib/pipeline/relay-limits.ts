import { CutError } from './errors.ts'

/** How long, and how much, may be read. */
export interface ReadLimits {
  readonly timeMs: number
  readonly bytesMax: number
}

/** What is still relayed of an event whose end is waited for. */
export const partingLimits: ReadLimits = { timeMs: 1000, bytesMax: 1_048_576 }

/** Why a response is not relayed to its end. */
export function beyondLimit(limit: 'time' | 'size', { timeMs, bytesMax }: ReadLimits): CutError {
  const beyond =
    limit === 'time' ? `went on for more than ${timeMs / 1000} s` : `has more than ${bytesMax} bytes`
  return new CutError(
    `The response ${beyond}, the most that the gateway passes on, and was cut. Ask for a shorter one.`,
  )
}

/** How many responses may be read on at once for their usage after their clients have left. */
export class DrainSlots {
  readonly #countMax: number
  #count = 0

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** False when as many are read on as may be: this one is to be stopped. */
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
  /** Of an answer without an announced length: one that never ends must not be paid for ever. */
  readonly answer: ReadLimits
  /** Of reading on for an answer's usage after its client has left. */
  readonly drain: ReadLimits
  /** One for all exchanges: each that is read on takes a slot. */
  readonly drainSlots: DrainSlots
  /** How long a client may take nothing of its answer before it counts as gone. */
  readonly stallMs: number
}
