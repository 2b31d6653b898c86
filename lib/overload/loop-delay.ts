const sampleCount = 5

/**
 * How late timers are, as the middle one of the last five samples: a single long pause, such as the parsing of
 * one body, is no overload, and one that lasts is seen after three samples.
 */
export class LoopDelay {
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
