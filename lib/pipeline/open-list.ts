/** An item that is open for a while, in at most one list. */
export interface Listed {
  /** Its index in the list, maintained by the list; -1 before. */
  slot: number
}

/**
 * The items that are open now, in no order. Not a Map or Set: as items come and go, V8 often makes a new table for one,
 * and the old table refers to the new one. Once a full collection has promoted one of them to the old generation, it
 * and all that follow keep every item in memory that was ever open until the next full collection.
 */
export class OpenList<T extends Listed> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    item.slot = this.#items.push(item) - 1
  }

  /** Moves the last item into its place. An item that is not in the list is ignored. */
  delete(item: T): void {
    if (this.#items[item.slot] !== item) return
    const last = this.#items.pop() as T
    if (last !== item) {
      this.#items[item.slot] = last
      last.slot = item.slot
    }
    item.slot = -1
  }

  /** A copy, so that items can be deleted while it is iterated. */
  all(): readonly T[] {
    return [...this.#items]
  }
}
