import { readFileSync } from 'node:fs'

const mebibyte = 1_048_576

/** Samples a process's resident memory, from now on. */
export class Watched {
  readonly #pid: number
  readonly #firstBytes: number
  readonly #timer: NodeJS.Timeout
  #peakBytes: number

  constructor(pid: number) {
    this.#pid = pid
    this.#firstBytes = this.#read()
    this.#peakBytes = this.#firstBytes
    this.#timer = setInterval(() => {
      this.#peakBytes = Math.max(this.#peakBytes, this.#read())
    }, 20)
  }

  end(): { readonly peakMb: number; readonly grownMb: number } {
    clearInterval(this.#timer)
    this.#peakBytes = Math.max(this.#peakBytes, this.#read())
    return {
      peakMb: this.#peakBytes / mebibyte,
      grownMb: (this.#peakBytes - this.#firstBytes) / mebibyte,
    }
  }

  #read(): number {
    const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.#pid}/status`, 'utf8'))
    return Number(found?.[1] ?? 0) * 1024
  }
}
