const nothing = Buffer.alloc(0)
/** Keeping a shorter piece costs more than its bytes. */
const smallBytesMax = 1024
const blockBytes = 16_384

/**
 * The pieces of a stream, in order. Very small ones are joined, so that a stream's memory does not depend on how finely
 * it was cut.
 */
export class PieceList {
  /** For reading, and for removing pieces from the front. */
  readonly pieces: Buffer[] = []
  #block: Buffer = nothing
  #used = 0
  /** The used part of the block, when it is the last piece. */
  #last: Buffer | undefined

  push(piece: Buffer): void {
    const { pieces } = this
    const last = pieces.at(-1)
    const isBlock = last !== undefined && last === this.#last
    const isJoined = last !== undefined && (isBlock || last.length < smallBytesMax)
    const hasRoom = !isBlock || this.#used + piece.length <= this.#block.length
    if (!isJoined || !hasRoom || piece.length >= smallBytesMax) {
      pieces.push(piece)
      return
    }
    if (!isBlock) {
      this.#block = Buffer.allocUnsafeSlow(blockBytes)
      this.#used = last.copy(this.#block)
    }
    this.#used += piece.copy(this.#block, this.#used)
    this.#last = this.#block.subarray(0, this.#used)
    pieces[pieces.length - 1] = this.#last
  }

  /** Removes and returns all pieces. */
  take(): Buffer[] {
    this.#last = undefined
    return this.pieces.splice(0)
  }
}
