import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { TextToCount, TokenCount } from './count-tokens.ts'

/** Times in milliseconds. */
export interface TokenCounterOptions {
  /** Called when the thread died or had to be ended; counting continues in a new one. */
  readonly onFailure?: (error: Error) => void
  /** How long a count may take, waiting included. */
  readonly timeoutMs?: number
  /** How long the thread is kept without work: it holds about 90 MB. */
  readonly idleMs?: number
  /** The thread's program, for tests of what happens when it fails. */
  readonly workerUrl?: URL
}

interface Job {
  readonly text: TextToCount
  readonly timer: NodeJS.Timeout
  end(count: TokenCount | undefined): void
}

/** With more than these waiting a text is not counted: a rough estimate now is better than a good one too late. */
const jobsMax = 256
const waitingBytesMax = 16 * 1_048_576
/** Reading the vocabulary takes a tenth of a second, and seconds on a busy machine. */
const startMs = 15_000
/** A thread that fails at once would otherwise be restarted for every text. */
const pauseAfterFailureMs = 1000

// In a compiled build the thread's program is a .js file, like this one.
const ownWorkerUrl = new URL(`./token-counter-worker${extname(import.meta.url)}`, import.meta.url)

/**
 * Counts tokens with tiktoken in a thread of its own, which is started by the first text and ended after an idle time.
 * No caller waits for it longer than the timeout, whatever the text.
 */
export class TokenCounter {
  readonly #onFailure: (error: Error) => void
  readonly #timeoutMs: number
  readonly #idleMs: number
  readonly #workerUrl: URL
  readonly #waiting: Job[] = []
  #waitingBytes = 0
  #current: Job | undefined
  #worker: Worker | undefined
  #isReady = false
  #isPaused = false
  #isClosed = false
  #startTimer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined

  constructor(options: TokenCounterOptions = {}) {
    this.#onFailure = options.onFailure ?? (() => undefined)
    this.#timeoutMs = options.timeoutMs ?? 2000
    this.#idleMs = options.idleMs ?? 60_000
    this.#workerUrl = options.workerUrl ?? ownWorkerUrl
  }

  /** Whether the thread exists. */
  get isRunning(): boolean {
    return this.#worker !== undefined
  }

  /** Never rejects; undefined if the text could not be counted in time. */
  count(text: TextToCount): Promise<TokenCount | undefined> {
    const isFull = this.#waiting.length >= jobsMax || this.#waitingBytes + text.bytes.length > waitingBytesMax
    if (isFull || this.#isPaused || this.#isClosed) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<TokenCount | undefined>()
    const job: Job = {
      text,
      timer: setTimeout(() => this.#expire(job), this.#timeoutMs),
      end(count) {
        clearTimeout(job.timer)
        resolve(count)
      },
    }
    this.#waiting.push(job)
    this.#waitingBytes += text.bytes.length
    this.#start()
    this.#next()
    return promise
  }

  /** Ends the thread; waiting texts are not counted. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#drop()
  }

  #start(): void {
    if (this.#worker !== undefined) return
    // The thread does not need the process's own arguments, such as a loader.
    const worker = new Worker(this.#workerUrl, {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    this.#worker = worker
    worker.unref()
    worker.on('message', (message: 'ready' | TokenCount) => {
      if (worker === this.#worker) this.#onMessage(message)
    })
    worker.on('error', (error: unknown) => {
      if (worker === this.#worker) this.#fail(new Error('The token counter failed.', { cause: error }))
    })
    worker.on('exit', () => {
      if (worker === this.#worker) this.#fail(new Error('The token counter ended.'))
    })
    this.#startTimer = setTimeout(() => this.#fail(new Error('The token counter did not start.')), startMs)
    this.#startTimer.unref()
  }

  #onMessage(message: 'ready' | TokenCount): void {
    if (message === 'ready') {
      this.#isReady = true
      clearTimeout(this.#startTimer)
    } else {
      const job = this.#current
      this.#current = undefined
      job?.end(message)
    }
    this.#next()
  }

  /** Sends one text at a time, so that a text that blocks the thread can be identified. */
  #next(): void {
    if (!this.#isReady || this.#current !== undefined) return
    clearTimeout(this.#idleTimer)
    const job = this.#waiting.shift()
    if (job === undefined) {
      this.#idleTimer = setTimeout(() => void this.#drop(), this.#idleMs)
      this.#idleTimer.unref()
      return
    }
    this.#waitingBytes -= job.text.bytes.length
    this.#current = job
    this.#worker?.postMessage(job.text)
  }

  #expire(job: Job): void {
    if (job === this.#current) {
      this.#fail(new Error(`The token counter took longer than ${this.#timeoutMs} ms.`))
      return
    }
    const index = this.#waiting.indexOf(job)
    if (index >= 0) this.#waiting.splice(index, 1)
    this.#waitingBytes -= job.text.bytes.length
    job.end(undefined)
  }

  #fail(error: Error): void {
    void this.#drop()
    this.#isPaused = true
    setTimeout(() => (this.#isPaused = false), pauseAfterFailureMs).unref()
    this.#onFailure(error)
  }

  /** Ends the thread, and with it the current text and those that wait. */
  async #drop(): Promise<void> {
    const worker = this.#worker
    const jobs = this.#waiting.splice(0)
    if (this.#current !== undefined) jobs.push(this.#current)
    this.#worker = undefined
    this.#current = undefined
    this.#isReady = false
    this.#waitingBytes = 0
    clearTimeout(this.#startTimer)
    clearTimeout(this.#idleTimer)
    for (const job of jobs) job.end(undefined)
    await worker?.terminate()
  }
}
