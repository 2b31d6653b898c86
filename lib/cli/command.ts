import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import type { Demo } from '../gateway/demo-account.ts'
import type { Log } from '../platform/log.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'

/** A running gateway. */
export interface RunningGateway {
  /** Applies a new configuration to later exchanges. */
  reload(config: Config): Promise<void> | void
  /** Counts a configuration that was invalid or could not be applied. */
  noteFailedReload(): void
  /**
   * Serves for another `waitMs`, drains running requests for up to `drainMs`, then stops. A second call can only
   * shorten this.
   */
  close(drainMs?: number, waitMs?: number): Promise<void>
}

interface StartOptions {
  readonly config: Config
  readonly log: Log
  readonly droppedLogLines: () => number
  /** Receives whole log lines from other processes of the gateway. */
  readonly passLogLines: (lines: string) => void
  /** Reads the configuration again; resolves to the problems in it. */
  readonly onReload: () => Promise<readonly string[]>
  /** Receives the login data of a store that was just created. */
  readonly onDemo: (demo: Demo) => void
  /** Called when charging has become impossible. */
  readonly onLost: (error: Error) => void
}

/** What the calling program provides to the command line. */
export interface CliContext {
  readonly version: string
  /** Receives results. */
  readonly stdout: { write(text: string): unknown }
  /** Receives errors and remarks. */
  readonly stderr: { write(text: string): unknown }
  /** Asks the user at the terminal; absent when there is no terminal. */
  ask?(question: string): Promise<boolean>
  /** Loaded on demand: most commands finish sooner than the server's modules load. */
  startGateway(options: StartOptions): Promise<RunningGateway>
  /** Every plugin that a config can name, loaded on demand. */
  loadPlugins(): Promise<PluginRegistry>
}

/** Wrong usage of the command: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** The command failed, or found something wrong: exit code 1. The message is complete. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandError'
  }
}

/** Options of every command with a result. */
export interface SharedOptions {
  readonly config?: string
  readonly json?: boolean
}

/** Adds a command that reads the configuration. `definition` is its name with its arguments. */
export function addConfigCommand(parent: Command, definition: string, description: string): Command {
  return parent
    .command(definition)
    .description(description)
    .option('-c, --config <file>', 'the configuration (default: config/gateway.yaml, or GATEWAY_CONFIG)')
}

/** The same for a command with a result: adds the options that all such commands share. */
export function addCommand(parent: Command, definition: string, description: string): Command {
  return addConfigCommand(parent, definition, description).option('--json', 'print JSON')
}

/** `1 charge`, `2 charges`. */
export function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

type Output = CliContext['stdout']

/** Prints a command's result: as JSON with `--json`, else as text of whole lines. */
export function answer(stdout: Output, options: SharedOptions, found: unknown, text: string): void {
  stdout.write(options.json === true ? `${JSON.stringify(found)}\n` : text)
}

/** The same for a list; as JSON, one line per item. */
export function answerList(
  stdout: Output,
  options: SharedOptions,
  found: readonly unknown[],
  text: string,
): void {
  stdout.write(options.json === true ? found.map(one => `${JSON.stringify(one)}\n`).join('') : text)
}

/** Characters that move the cursor or change the text direction: customers choose names of models and keys. */
const unseen = /[\p{Cc}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** A time in ISO 8601, for JSON. */
export function isoTime(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : new Date(ms).toISOString()
}

/**
 * Formats rows as columns of the needed width, two spaces apart; the first row gives their names and order.
 * @param numbers the columns that are right-aligned
 */
export function formatTable(
  rows: readonly Readonly<Record<string, string>>[],
  numbers: readonly string[] = [],
): string {
  const names = Object.keys(rows[0] ?? {})
  const cellOf = (row: Readonly<Record<string, string>>, name: string): string =>
    (row[name] ?? '').replaceAll(unseen, '\uFFFD')
  const widths = names.map(name => Math.max(name.length, ...rows.map(row => cellOf(row, name).length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => {
        const width = widths[index] ?? 0
        return numbers.includes(names[index] ?? '') ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  const lines = [
    line(names.map(name => name.toUpperCase())),
    ...rows.map(row => line(names.map(name => cellOf(row, name)))),
  ]
  return `${lines.join('\n')}\n`
}
