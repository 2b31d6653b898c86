import { fstatSync, write, writeSync } from 'node:fs'
import { pino } from 'pino'
import { withoutKeys, withoutSecrets } from './log-secrets.ts'
import { systemClock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'

interface LogOptions {
  readonly level: string
  /** Stand in every line. */
  readonly facts?: object
  /** Takes whole lines; standard error unless given. */
  readonly destination?: { write(line: string): unknown }
}

/** A log with what only its owner needs. */
export interface OwnedLog extends Log {
  /** May be changed while it runs. */
  level: string
  /** Takes whole lines that another process of the gateway has made. */
  pass(lines: string): void
  /** Lines that were lost because nobody took them, or the disk did not. */
  droppedLines(): number
  /** Hands over what is in memory, in half a second at most. */
  close(): Promise<void>
}

interface Destination {
  write(line: string): unknown
  readonly droppedLines?: number
  close?(): Promise<void>
}

/**
 * A log of JSON lines. Nothing waits for whoever takes them: a terminal, disk or reader that is slow or stuck
 * holds up no request. What it does not take is kept up to a bound, then dropped and counted.
 */
export function createLog(options: LogOptions): OwnedLog {
  const destination: Destination = options.destination ?? standardError()
  const log = pino(
    {
      level: options.level,
      base: options.facts ?? null,
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
      formatters: { level: label => ({ level: label }), log: withoutSecrets },
      hooks: { streamWrite: withoutKeys },
    },
    destination,
  )
  const prototype = Object.getPrototypeOf(log) as typeof log
  return Object.assign(log, {
    // Children of children inherit it; pino's own formatters do not see what they are given.
    child(this: typeof log, facts: object) {
      return prototype.child.call(this, withoutSecrets(facts))
    },
    pass(lines: string) {
      for (const line of lines.split(/(?<=\n)/)) destination.write(line)
    },
    droppedLines: () => destination.droppedLines ?? 0,
    close: async () => await destination.close?.(),
  })
}

let isoSecond = 0
/** That second, up to the dot. */
let isoText = ''

/** A moment as `toISOString` writes it, which takes as long as a tenth of a line: so once a second. */
function isoTime(nowMs: number): string {
  const second = Math.floor(nowMs / 1000)
  if (second !== isoSecond) {
    isoSecond = second
    isoText = new Date(second * 1000).toISOString().slice(0, -4)
  }
  return `${isoText}${String(nowMs - second * 1000).padStart(3, '0')}Z`
}

/** Takes text and says when it is gone, without making anybody wait. `process.stderr` is one, for a pipe. */
interface LogTaker {
  write(text: string, done: (error?: NodeJS.ErrnoException | null) => void): unknown
}

/** Bytes of lines kept for a reader that does not read. What comes beyond is dropped and counted. */
const keptBytesMax = 8 * 1_048_576
/** How long the end of the process waits for the reader. */
const closeMs = 500
/** How long lines gather, so that many leave in one write: a write each took a tenth of the processor. */
const gatherMs = 20
/** From this many characters on they leave at once. */
const gatherBytesMax = 65_536

/**
 * Writes lines without ever waiting for whoever takes them: what gathers in a few milliseconds leaves in
 * one write, and what is not taken is kept up to a bound. pino's own destination would block one of the process's few
 * file threads on a full pipe, and wait for ever at the exit for a disk that is full.
 */
class LogPipe {
  readonly #taker: LogTaker
  readonly #keptBytesMax: number
  #lines: string[] = []
  #keptBytes = 0
  droppedLines = 0
  #isWriting = false
  #timer: NodeJS.Timeout | undefined
  #isGone = false
  #onIdle: (() => void) | undefined

  constructor(taker: LogTaker, bytesMax = keptBytesMax) {
    this.#taker = taker
    this.#keptBytesMax = bytesMax
  }

  write(line: string): void {
    // Its characters stand for its bytes: a bound of twice as many is a bound too.
    if (this.#isGone || this.#keptBytes + line.length > this.#keptBytesMax) {
      this.droppedLines += 1
      return
    }
    this.#lines.push(line)
    this.#keptBytes += line.length
    this.#flushSoon()
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

  /** What is left when the process exits without having closed it: one attempt. */
  exit(fileDescriptor: number): void {
    if (this.#isWriting || this.#lines.length === 0) return
    try {
      writeSync(fileDescriptor, this.#lines.join(''))
    } catch {
      this.droppedLines += this.#lines.length
    }
    this.#lines = []
  }

  #flushSoon(): void {
    if (this.#isWriting) return
    if (this.#keptBytes >= gatherBytesMax) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), gatherMs)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isWriting || this.#lines.length === 0) return
    const text = this.#lines.join('')
    const lineCount = this.#lines.length
    this.#lines = []
    this.#isWriting = true
    this.#taker.write(text, error => {
      this.#isWriting = false
      this.#keptBytes -= text.length
      if (error) {
        this.droppedLines += lineCount
        this.#isGone = error.code === 'EPIPE'
      }
      if (this.#lines.length === 0 || this.#isGone) this.#onIdle?.()
      else if (this.#onIdle === undefined) this.#flushSoon()
      else this.#flush()
    })
  }
}

/** A file or terminal, written in a thread of its own; what it does not take, as when its disk is full, is lost. */
function fileTaker(fileDescriptor: number): LogTaker {
  const writeRest = (bytes: Buffer, done: (error?: NodeJS.ErrnoException | null) => void): void => {
    write(fileDescriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => writeRest(bytes, done), 20)
      else if (error === null && written < bytes.length) writeRest(bytes.subarray(written), done)
      else done(error)
    })
  }
  return { write: (text, done) => writeRest(Buffer.from(text), done) }
}

function standardError(): Destination {
  const kind = fstatSync(2)
  const isPipe = kind.isFIFO() || kind.isSocket()
  const pipe = new LogPipe(isPipe ? process.stderr : fileTaker(2))
  // Without a listener the reader's end would be an uncaught exception; the pipe counts what is lost.
  if (isPipe) process.stderr.on('error', () => undefined)
  process.once('exit', () => pipe.exit(2))
  return pipe
}
