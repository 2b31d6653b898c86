import { fstatSync } from 'node:fs'
import { pino } from 'pino'
import { fileTaker, LogPipe } from './log-pipe.ts'
import { withoutKeys, withoutSecrets } from './log-secrets.ts'
import type { Log } from '../platform/log.ts'

export interface LogOptions {
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
      timestamp: pino.stdTimeFunctions.isoTime,
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

function standardError(): Destination {
  const kind = fstatSync(2)
  const isPipe = kind.isFIFO() || kind.isSocket()
  const pipe = new LogPipe(isPipe ? process.stderr : fileTaker(2))
  // Without a listener the reader's end would be an uncaught exception; the pipe counts what is lost.
  if (isPipe) process.stderr.on('error', () => undefined)
  process.once('exit', () => pipe.exit(2))
  return pipe
}
