import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import type { Demo } from '../gateway/demo-account.ts'
import type { Log } from '../platform/log.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'

/** A gateway that serves. */
export interface RunningGateway {
  /** Takes a new configuration for the exchanges to come. */
  reload(config: Config): Promise<void> | void
  /** A configuration was wrong, or could not be taken. */
  noteFailedReload(): void
  /**
   * Serves on for `waitMs`, lets what runs come to its end for `drainMs`, then stops. Called again, it brings
   * the end nearer.
   */
  close(drainMs?: number, waitMs?: number): Promise<void>
}

interface StartOptions {
  readonly config: Config
  readonly log: Log
  readonly droppedLogLines: () => number
  /** Takes whole lines that other processes of the gateway have logged. */
  readonly passLogLines: (lines: string) => void
  /** Reads the configuration again; answers what is wrong with it. */
  readonly onReload: () => Promise<readonly string[]>
  /** Told what a gateway that was made just now can be tried with. */
  readonly onDemo: (demo: Demo) => void
  /** Told when nothing can be charged any more. */
  readonly onLost: (error: Error) => void
}

/** What the command line is given by the program it is part of. */
export interface CliContext {
  readonly version: string
  /** Results. */
  readonly stdout: { write(text: string): unknown }
  /** What is wrong, and remarks. */
  readonly stderr: { write(text: string): unknown }
  /** Asks who sits at the terminal; absent where nobody does. */
  ask?(question: string): Promise<boolean>
  /** Loaded only when it is needed: most commands are done sooner than a server's modules are read. */
  startGateway(options: StartOptions): Promise<RunningGateway>
  /** Every plugin that a config can name, loaded only when it is needed. */
  loadPlugins(): Promise<PluginRegistry>
}

/** The command was written wrongly: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** What was asked cannot be done, or something was found wrong: exit code 1. The message says it all. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandError'
  }
}

/** Options that every command with a result has. */
export interface SharedOptions {
  readonly config?: string
  readonly json?: boolean
}

/** A command that reads the configuration. `definition` is its name with its arguments. */
export function addConfigCommand(parent: Command, definition: string, description: string): Command {
  return parent
    .command(definition)
    .description(description)
    .option('-c, --config <file>', 'the configuration (default: config/gateway.yaml, or GATEWAY_CONFIG)')
}

/** One that also has a result, with the options that all such share. */
export function addCommand(parent: Command, definition: string, description: string): Command {
  return addConfigCommand(parent, definition, description).option('--json', 'print JSON')
}

/** `1 charge`, `2 charges`. */
export function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

type Output = CliContext['stdout']

/** Writes what a command found or did: JSON where that is asked for, else a text of whole lines. */
export function answer(stdout: Output, options: SharedOptions, found: unknown, text: string): void {
  stdout.write(options.json === true ? `${JSON.stringify(found)}\n` : text)
}

/** The same of a list, in JSON a line for each. */
export function answerList(
  stdout: Output,
  options: SharedOptions,
  found: readonly unknown[],
  text: string,
): void {
  stdout.write(options.json === true ? found.map(one => `${JSON.stringify(one)}\n`).join('') : text)
}

/** What moves a terminal's cursor, or turns the direction of a line: names of models and keys are customers'. */
const unseen = /[\p{Cc}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** A time as JSON has it. */
export function isoTime(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : new Date(ms).toISOString()
}

/**
 * Columns as wide as they need to be, two spaces apart, as the first row has them.
 * @param numbers the columns whose cells stand to the right
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
