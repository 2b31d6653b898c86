/** Page tree nodes and pages by the number of their object; a later definition replaces an earlier one. */
export class PdfObjects {
  readonly #leaves = new Set<number>()
  readonly #nodes = new Map<number, { readonly count: number; readonly isRoot: boolean }>()
  #isUpdated = false
  /** Some objects could not be looked at. */
  hasUnreadable = false

  /** How many are kept. */
  get size(): number {
    return this.#leaves.size + this.#nodes.size
  }

  add(number: number, dictionary: string): void {
    const wasNode = this.#nodes.delete(number)
    const wasLeaf = this.#leaves.delete(number)
    if (wasNode || wasLeaf) this.#isUpdated = true
    if (/\/Type\s*\/Pages(?![A-Za-z])/.test(dictionary)) {
      const count = /\/Count\s+(\d{1,15})/.exec(dictionary)?.[1]
      if (count !== undefined) {
        this.#nodes.set(number, { count: Number(count), isRoot: !/\/Parent\s/.test(dictionary) })
      }
    } else if (/\/Type\s*\/Page(?![A-Za-z])/.test(dictionary)) this.#leaves.add(number)
  }

  /**
   * What the root of the page tree counts, or the pages where it counts fewer. Of a file that was changed by
   * appending, pages that were taken out are still there, so the root is right.
   */
  pages(): number | undefined {
    let rootCount: number | undefined
    for (const { count, isRoot } of this.#nodes.values()) {
      if (isRoot) rootCount = Math.max(rootCount ?? 0, count)
    }
    if (rootCount !== undefined) return this.#isUpdated ? rootCount : Math.max(rootCount, this.#leaves.size)
    return this.hasUnreadable || this.#leaves.size === 0 ? undefined : this.#leaves.size
  }
}
