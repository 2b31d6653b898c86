/** 0: all is well. 1: high, unknown callers are shed. 2: full, everything new is. */
export type Level = 0 | 1 | 2

/** A value has to fall to this part of a limit before the limit counts as kept again. */
const release = 0.8

/** Says how far a value has come, and does not flicker when it stays near a limit. */
export class Threshold {
  readonly #high: number
  readonly #full: number
  #level: Level = 0

  constructor(high: number, full: number) {
    this.#high = high
    this.#full = full
  }

  get level(): Level {
    return this.#level
  }

  update(value: number): Level {
    if (value >= this.#full * (this.#level === 2 ? release : 1)) this.#level = 2
    else if (value >= this.#high * (this.#level === 0 ? 1 : release)) this.#level = 1
    else this.#level = 0
    return this.#level
  }
}
