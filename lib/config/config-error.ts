/** One error in a config file, with what is needed to fix it. */
export interface ConfigProblem {
  /** Absolute path of the file that holds the value. */
  readonly file: string
  /** Path in the file: `providers.openai.streamUsage`, `plugins[2]`; empty for the file as a whole. */
  readonly path: string
  readonly message: string
  /** The valid name closest to the one found. */
  readonly nearest?: string
  /** From 1; absent where the YAML parser reports no position. */
  readonly line?: number
  readonly column?: number
}

/** An invalid configuration, with every problem in it, not only the first. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[], options?: ErrorOptions) {
    super(problems.map(formatProblem).join('\n'), options)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** `/etc/gateway.yaml:12:3 providers.openai.streamUsge: unknown key; did you mean "streamUsage"?` */
export function formatProblem(problem: ConfigProblem): string {
  const place =
    problem.line === undefined ? problem.file : `${problem.file}:${problem.line}:${problem.column}`
  const path = problem.path === '' ? '' : ` ${problem.path}`
  const hint = problem.nearest === undefined ? '' : `; did you mean "${problem.nearest}"?`
  return `${place}${path}: ${problem.message}${hint}`
}

/** The path of a value in a config, from the top. */
export type Path = readonly (string | number)[]

/** Formats a path in config syntax; keys that are not plain words are quoted. */
export function formatPath(path: Path): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else if (/^[A-Za-z_][\w-]*$/.test(part)) text += text === '' ? part : `.${part}`
    else text += `["${part}"]`
  }
  return text
}

/** Whether a value of a config is a mapping. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
