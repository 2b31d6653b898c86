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
