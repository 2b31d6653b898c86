import { fstatSync, write, writeSync } from 'node:fs'
import { pino } from 'pino'
import { withoutKeys, withoutSecrets } from './log-secrets.ts'
import { systemClock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'

interface LogOptions {
  readonly level: string
  /** Included in every line. */
  readonly facts?: object
  /** Receives whole lines; standard error by default. */
  readonly destination?: { write(line: string): unknown }
}

/** A log with the methods that only its owner uses. */
export interface OwnedLog extends Log {
  /** May be changed while it runs. */
  level: string
  /** Writes whole lines that another process of the gateway has made. */
  pass(lines: string): void
  /** The number of lines lost because the reader, or the disk, did not accept them. */
  droppedLines(): number
  /** Writes what is in memory, in half a second at most. */
  close(): Promise<void>
}

interface Destination {
  write(line: string): unknown
  readonly droppedLines?: number
  close?(): Promise<void>
}

/**
 * A log of JSON lines. No request waits for the reader of the log: a slow or stuck terminal, disk or pipe delays none.
 * Lines that it does not accept are kept up to a limit, then dropped and counted.
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
    // Children of children inherit this method; pino's own formatters do not see the facts passed to a child.
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
/** The text of that second, up to the dot. */
let isoText = ''

/** The time as `toISOString` writes it; that call takes a tenth of a line's time, so it is made once a second. */
function isoTime(nowMs: number): string {
  const second = Math.floor(nowMs / 1000)
  if (second !== isoSecond) {
    isoSecond = second
    isoText = new Date(second * 1000).toISOString().slice(0, -4)
  }
  return `${isoText}${String(nowMs - second * 1000).padStart(3, '0')}Z`
}

/** Accepts text and reports when it is written, without blocking. For a pipe, `process.stderr` is one. */
interface LogDestination {
  write(text: string, done: (error?: NodeJS.ErrnoException | null) => void): unknown
}

/** The bytes of lines kept for a reader that is not reading. Lines beyond are dropped and counted. */
const keptBytesMax = 8 * 1_048_576
/** How long the end of the process waits for the reader. */
const closeMs = 500
/** How long lines gather before they are written together: one write per line took a tenth of the processor. */
const gatherMs = 20
/** From this many characters on, lines are written at once. */
const gatherBytesMax = 65_536

/**
 * Writes lines without ever waiting for the reader: lines of a few milliseconds are written together, and those that
 * are not accepted are kept up to a limit. pino's own destination would block one of the process's few file threads on
 * a full pipe, and wait for ever at the exit for a full disk.
 */
class LogPipe {
  readonly #destination: LogDestination
  readonly #keptBytesMax: number
  #lines: string[] = []
  #keptBytes = 0
  droppedLines = 0
  #isWriting = false
  #timer: NodeJS.Timeout | undefined
  #isGone = false
  #onIdle: (() => void) | undefined

  constructor(destination: LogDestination, bytesMax = keptBytesMax) {
    this.#destination = destination
    this.#keptBytesMax = bytesMax
  }

  write(line: string): void {
    // Counts characters instead of bytes; twice the limit is still a limit.
    if (this.#isGone || this.#keptBytes + line.length > this.#keptBytesMax) {
      this.droppedLines += 1
      return
    }
    this.#lines.push(line)
    this.#keptBytes += line.length
    this.#flushSoon()
  }

  /** Writes what is left; gives up on a reader that does not accept it within half a second. */
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

  /** Writes what is left when the process exits without a close, in one attempt. */
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
    this.#destination.write(text, error => {
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

/** A file or terminal, written on a thread; what it does not accept, for instance on a full disk, is lost. */
function fileDestination(fileDescriptor: number): LogDestination {
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
  const pipe = new LogPipe(isPipe ? process.stderr : fileDestination(2))
  // Without a listener the error after the reader's end would be uncaught; the pipe counts lost lines.
  if (isPipe) process.stderr.on('error', () => undefined)
  process.once('exit', () => pipe.exit(2))
  return pipe
}
