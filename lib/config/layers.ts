import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { formatPath, type Path, isMapping } from './config-error.ts'
import type { Problems } from './problems.ts'
import { parseJson, parseYaml, type YamlDocument } from './yaml-document.ts'
import type { ConfigKey } from './schema.ts'
import { fileProblem } from '../platform/file-problem.ts'

/** One file of the configuration, without its `include`. */
export interface Layer {
  readonly file: string
  readonly document: YamlDocument
  readonly value: Readonly<Record<string, unknown>>
}

/**
 * Reads a config file and the files it includes, lowest precedence first: an included file before the one that
 * includes it, an earlier include before a later one. Unreadable files are added to the problems.
 */
export function readLayers(
  file: string,
  problems: Problems,
  instead: ReadonlyMap<string, string> = new Map(),
): Layer[] {
  const layers: Layer[] = []
  readInto(layers, resolve(file), [], { problems, instead })
  return layers
}

interface ReadContext {
  readonly problems: Problems
  /** Texts that replace the content of files. */
  readonly instead: ReadonlyMap<string, string>
}

function readInto(layers: Layer[], file: string, includedBy: readonly string[], context: ReadContext): void {
  const { problems, instead } = context
  let text: string
  try {
    text = instead.get(file) ?? readFileSync(file, 'utf8')
  } catch (error) {
    problems.addAt(file, '', `cannot be read: ${fileProblem(error)}`)
    return
  }
  const document = file.endsWith('.json') ? parseJson(text) : parseYaml(text)
  for (const error of document.syntaxErrors) {
    problems.addAt(
      file,
      '',
      error.message,
      error.line === undefined ? undefined : (error as { line: number; column: number }),
    )
  }
  if (document.syntaxErrors.length > 0) return
  const value = document.value ?? {}
  if (!isMapping(value)) {
    problems.addAt(file, '', 'must be a map of settings')
    return
  }
  // JSON has no comments; a price list names its source in `$comment`.
  const { include, $comment: _comment, ...rest } = value
  const chain = [...includedBy, file]
  for (const [index, target] of includesOf(include, file, document, problems).entries()) {
    const path = resolve(dirname(file), target)
    if (chain.includes(path)) {
      problems.addAt(file, `include[${index}]`, `includes itself: ${[...chain, path].join(' -> ')}`)
    } else {
      readInto(layers, path, chain, context)
    }
  }
  layers.push({ file, document, value: rest })
}

function includesOf(
  include: unknown,
  file: string,
  document: YamlDocument,
  problems: Problems,
): readonly string[] {
  if (include === undefined || include === null) return []
  if (Array.isArray(include) && include.every(item => typeof item === 'string')) return include
  problems.addAt(file, 'include', 'must be a list of files', document.locate(['include']))
  return []
}

/** Merges maps deeply; every other value is replaced. */
export function mergeLayers(layers: readonly Layer[]): Record<string, unknown> {
  let merged: Record<string, unknown> = {}
  for (const layer of layers) merged = merge(merged, layer.value)
  return merged
}

function merge(
  under: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...under }
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    merged[key] = isMapping(below) && isMapping(value) ? merge(below, value) : value
  }
  return merged
}

/** The highest-precedence file that has the path, or its longest prefix, and the position in that file. */
export function locate(layers: readonly Layer[], path: Path) {
  for (let length = path.length; length > 0; length--) {
    const part = path.slice(0, length)
    for (const layer of layers.toReversed()) {
      const place = layer.document.locate(part)
      if (place !== undefined) return { file: layer.file, place }
    }
  }
  return { file: layers.at(-1)?.file, place: undefined }
}

/** A setting of an included file that the main file overrides. */
export interface Overridden {
  readonly path: string
  readonly file: string
}

/** The settings of lower layers that the main file, the highest layer, overrides. */
export function overriddenSettings(layers: readonly Layer[]): readonly Overridden[] {
  const main = layers.at(-1)
  if (main === undefined) return []
  const included = layers.slice(0, -1).toReversed()
  return leaves(main.value, []).flatMap(path => {
    const below = included.find(layer => valueAt(layer.value, path) !== undefined)
    return below === undefined ? [] : [{ path: formatPath(path), file: below.file }]
  })
}

function leaves(value: Readonly<Record<string, unknown>>, path: Path): readonly Path[] {
  return Object.entries(value).flatMap(([key, item]) =>
    isMapping(item) ? leaves(item, [...path, key]) : [[...path, key]],
  )
}

/** The value at a path; undefined where there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  let current = value
  for (const part of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = (current as Record<string | number, unknown>)[part]
  }
  return current
}

/** By use of a config, the sections that are not parsed; their secrets need not be set. */
const sections = {
  /** The seller, payments and the web pages. */
  house: ['providers', 'models', 'defaultProvider', 'egress', 'alarms', 'plugins'],
  /** The prices of models. */
  prices: ['egress', 'alarms', 'plugins', 'accountArea', 'operatorArea', 'payments', 'seller'],
} as const satisfies Record<string, readonly ConfigKey[]>

/** What a config is read for, other than serving. */
export type ConfigUse = keyof typeof sections

/** A mail server that is never used. */
const noMail = { url: 'smtp://localhost', from: 'nobody@localhost' }

type Mapping = Readonly<Record<string, unknown>>

/** A merged config without the sections that a use does not need, and without references to them. */
export function withoutPassedOver(merged: Mapping, use: ConfigUse): Mapping {
  const left: Record<string, unknown> = { ...merged }
  for (const key of sections[use]) delete left[key]
  const { accountArea, providers, prices } = left
  if (isMapping(accountArea) && isMapping(accountArea['mail']))
    left['accountArea'] = { ...accountArea, mail: noMail }
  if (isMapping(providers)) {
    left['providers'] = Object.fromEntries(
      Object.entries(providers).map(([name, provider]) => [name, withoutEgress(provider)]),
    )
  }
  if (isMapping(prices)) left['prices'] = { ...prices, usdRub: withoutEgress(prices['usdRub']) }
  return left
}

function withoutEgress(value: unknown): unknown {
  if (!isMapping(value)) return value
  const { egress: _, ...rest } = value
  return rest
}
