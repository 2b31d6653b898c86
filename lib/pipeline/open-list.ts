/** Something that is open for a while and stands in one list at most. */
export interface Listed {
  /** Its place in the list, which the list keeps; -1 before. */
  slot: number
}

/**
 * What is open now, in no order. Not a Map or Set: as things come and go V8 often makes a new table for one, to
 * which the old table refers. Once a full collection has made one of them old, it and all that follow keep
 * whatever ever was open in memory until the next full collection.
 */
export class OpenList<T extends Listed> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    item.slot = this.#items.push(item) - 1
  }

  /** The last one takes its place. What is not in the list is left alone. */
  delete(item: T): void {
    if (this.#items[item.slot] !== item) return
    const last = this.#items.pop() as T
    if (last !== item) {
      this.#items[item.slot] = last
      last.slot = item.slot
    }
    item.slot = -1
  }

  /** All of them as they are now, so that they may leave meanwhile. */
  all(): readonly T[] {
    return [...this.#items]
  }
}
