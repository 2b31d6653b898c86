/** As much of `process.stderr` as is used: a pipe or socket, which Node writes without waiting. */
export interface PipeLike {
  readonly writableLength: number
  write(text: string, done: (error?: Error | null) => void): boolean
}

/** Bytes of lines kept for a reader that does not read. What comes beyond is dropped and counted. */
const keptBytesMax = 8 * 1_048_576
/** How long the end of the process waits for the reader. */
const closeMs = 500

/**
 * Writes lines to a pipe without ever waiting for its reader: what was gathered in one turn leaves in one
 * write, and what the reader does not take is kept up to a bound. pino's own destination would block one of
 * the process's few file threads on a full pipe, and with it the end of the process.
 */
export class LogPipe {
  readonly #pipe: PipeLike
  readonly #keptBytesMax: number
  #lines: string[] = []
  #keptBytes = 0
  #droppedLines = 0
  #isWriting = false
  #isScheduled = false
  #isGone = false
  #onIdle: (() => void) | undefined

  constructor(pipe: PipeLike, bytesMax = keptBytesMax) {
    this.#pipe = pipe
    this.#keptBytesMax = bytesMax
  }

  get droppedLines(): number {
    return this.#droppedLines
  }

  write(line: string): void {
    // Its characters stand for its bytes: a bound of twice as many is a bound too.
    if (this.#isGone || this.#keptBytes + line.length > this.#keptBytesMax) {
      this.#droppedLines += 1
      return
    }
    this.#lines.push(line)
    this.#keptBytes += line.length
    if (this.#isWriting || this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  /** Hands over what is left; gives up on a reader that does not take it in half a second. */
  async close(): Promise<void> {
    this.#flush()
    if (!this.#isWriting) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, closeMs)
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #flush(): void {
    if (this.#isWriting || this.#lines.length === 0) return
    const text = this.#lines.join('')
    this.#lines = []
    this.#isWriting = true
    this.#pipe.write(text, error => {
      this.#isWriting = false
      this.#keptBytes -= text.length
      // The reader is gone for good.
      if (error) this.#isGone = true
      if (this.#lines.length > 0 && !this.#isGone) this.#flush()
      else this.#onIdle?.()
    })
  }
}
