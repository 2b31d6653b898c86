import { z } from 'zod'
import { ConfigError, formatPath, type ConfigProblem, type Path } from './config-error.ts'
import { locate, valueAt, type Layer } from './layers.ts'
import { nearest } from '../platform/nearest.ts'
import type { Place } from './yaml-document.ts'

type Issue = z.core.$ZodIssue

/** A message lists the known names only up to this many. */
const namesListedMax = 20

type JsonSchema = z.core.JSONSchema.JSONSchema

/** The keys that a schema allows at a path. Computed from its JSON Schema, and only after an error. */
function validNamesAt(schema: z.ZodType, path: Path): readonly string[] {
  const names = new Set<string>()
  let level = branches(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  for (const part of path) level = level.flatMap(branch => step(branch, part))
  for (const branch of level) {
    for (const name of Object.keys(branch.properties ?? {})) names.add(name)
    const { propertyNames } = branch
    if (typeof propertyNames === 'object') {
      for (const name of propertyNames.enum ?? []) names.add(String(name))
    }
  }
  return [...names]
}

function step(schema: JsonSchema, part: string | number): JsonSchema[] {
  const { properties, additionalProperties, items } = schema
  const next = typeof part === 'number' ? items : (properties?.[part] ?? additionalProperties)
  if (Array.isArray(next)) return next.flatMap(item => branches(item))
  return branches(next)
}

function branches(schema: JsonSchema | boolean | undefined): JsonSchema[] {
  if (schema === undefined || typeof schema === 'boolean') return []
  const options = schema.anyOf ?? schema.oneOf
  return options === undefined ? [schema] : options.flatMap(option => branches(option))
}

/** Collects all problems, so that one run of `gateway check` reports every one. */
export class Problems {
  readonly #found: ConfigProblem[] = []
  /** The main file. */
  readonly file: string
  readonly #silenced = new Set<string>()
  layers: readonly Layer[] = []

  constructor(mainFile: string) {
    this.file = mainFile
  }

  get count(): number {
    return this.#found.length
  }

  addAt(file: string, path: string, message: string, place?: Place): void {
    this.#found.push({ file, path, message, ...place })
  }

  /** Adds a problem at a path of the merged configuration, with the file and line that the value came from. */
  add(path: Path, message: string, near?: string): void {
    const pathText = formatPath(path)
    if (this.#silenced.has(pathText)) return
    const { file = this.file, place } = locate(this.layers, path)
    const hint = near === undefined ? {} : { nearest: near }
    this.#found.push({ file, path: pathText, message, ...hint, ...place })
  }

  /** The file that sets a top-level key: relative paths in it start at that file's folder. */
  fileOf(key: string): string {
    return locate(this.layers, [key]).file ?? this.file
  }

  /** Suppresses further problems at a path whose problem is already reported. */
  silence(path: Path): void {
    this.#silenced.add(formatPath(path))
  }

  /** Adds a name that is not among the known ones. */
  addUnknown(path: Path, kind: string, name: string, known: Iterable<string>): void {
    const names = [...known]
    const near = nearest(name, names)
    const list = near === undefined && names.length <= namesListedMax ? `; there are ${names.join(', ')}` : ''
    this.add(path, `unknown ${kind} "${name}"${names.length === 0 ? '' : list}`, near)
  }

  addUnknownKey(path: Path, key: string, known: readonly string[]): void {
    const near = nearest(key, known)
    const isListed = near === undefined && known.length > 0 && known.length <= namesListedMax
    this.add(path, isListed ? `unknown key; there are ${known.join(', ')}` : 'unknown key', near)
  }

  /** Parses a value; on failure adds each issue and returns undefined. */
  parse<S extends z.ZodType>(schema: S, value: unknown, path: Path): z.output<S> | undefined {
    const result = schema.safeParse(value)
    if (result.success) return result.data
    for (const issue of result.error.issues) this.#addIssue(schema, issue, path, value)
    return undefined
  }

  #addIssue(schema: z.ZodType, issue: Issue, base: Path, value: unknown): void {
    const inner = issue.path.filter(part => typeof part !== 'symbol')
    const path = [...base, ...inner]
    const isDefaultMessage = issue.message.startsWith('Invalid input')
    const branch = issue.code === 'invalid_union' ? branchMeant(issue.errors) : undefined
    if (branch !== undefined) {
      for (const one of branch)
        this.#addIssue(schema, { ...one, path: [...issue.path, ...one.path] }, base, value)
    } else if (issue.code === 'unrecognized_keys') {
      const valid = validNamesAt(schema, inner)
      for (const key of issue.keys) this.addUnknownKey([...path, key], key, valid)
    } else if (issue.code === 'invalid_value') {
      const found = valueAt(value, inner)
      const options = issue.values.map(String)
      const near = typeof found === 'string' && options.length > 1 ? nearest(found, options) : undefined
      this.add(
        path,
        found === undefined ? `is missing (${listOf(options)})` : `must be ${listOf(options)}`,
        near,
      )
    } else if (issue.code === 'invalid_type' && isDefaultMessage && valueAt(value, inner) === undefined) {
      this.add(path, `is missing (${articleFor(issue.expected)})`)
    } else if (issue.code === 'invalid_type' && isDefaultMessage) {
      this.add(path, `must be ${articleFor(issue.expected)}`)
    } else if (
      issue.code === 'too_small' &&
      issue.origin === 'array' &&
      issue.message.startsWith('Too small')
    ) {
      this.add(path, `must have at least ${issue.minimum} item${issue.minimum === 1 ? '' : 's'}`)
    } else {
      this.add(path, issue.message)
    }
  }

  /** @throws ConfigError with everything found, if anything was */
  throwIfAny(): void {
    if (this.#found.length > 0) throw new ConfigError(this.#found)
  }
}

/** Of several forms that a value may take, the one that it matches apart from errors inside. */
function branchMeant(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const meant = branches.filter(issues =>
    issues.every(({ path, code }) => path.length > 0 || code !== 'invalid_type'),
  )
  return meant.length === 1 ? meant[0] : undefined
}

function listOf(options: readonly string[]): string {
  return options.length === 1
    ? `"${options[0]}"`
    : `one of ${options.map(option => `"${option}"`).join(', ')}`
}

const typeNames: Readonly<Record<string, string>> = {
  object: 'a map',
  record: 'a map',
  array: 'a list',
  string: 'a text (quote numbers)',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
}

function articleFor(type: string): string {
  return typeNames[type] ?? type
}
