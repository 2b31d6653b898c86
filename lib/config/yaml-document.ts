import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import type { Path } from './config-error.ts'

/** A position in a file, from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** One parsed YAML file: its value, its syntax errors, and the position of each value in the text. */
export interface YamlDocument {
  readonly value: unknown
  readonly syntaxErrors: readonly (Partial<Place> & { readonly message: string })[]
  /** The position of the key or item at a path; undefined when the file has no such path. */
  locate(path: Path): Place | undefined
}

/** A limit on repeated aliases, so that a few nested anchors cannot fill the memory. */
const aliasesMax = 100

/** Parses YAML 1.2. Duplicate keys in a map are errors, and so are all warnings of the parser. */
export function parseYaml(text: string): YamlDocument {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false })
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const syntaxErrors: (Partial<Place> & { message: string })[] = [
    ...withoutEchoes(document.errors),
    ...document.warnings,
  ].map(({ code, message, pos: [offset] }) => ({
    message: code === 'DUPLICATE_KEY' ? `${keyAt(text, offset)} stands twice in one map` : message,
    ...place(offset),
  }))
  let value: unknown
  if (syntaxErrors.length === 0) {
    try {
      value = document.toJS({ maxAliasCount: aliasesMax })
    } catch (error) {
      syntaxErrors.push({ message: error instanceof Error ? error.message : String(error) })
    }
  }
  return {
    value,
    syntaxErrors,
    locate(path) {
      const offset = offsetOf(document, path)
      return offset === undefined ? undefined : place(offset)
    },
  }
}

/**
 * Parses JSON, a hundred times faster than the same text as YAML: for long generated files. Positions are computed
 * only when there is an error.
 */
export function parseJson(text: string): YamlDocument {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The YAML parser reports the error and its position better.
    return parseYaml(text)
  }
  let document: YamlDocument | undefined
  return { value, syntaxErrors: [], locate: path => (document ??= parseYaml(text)).locate(path) }
}

/** Errors after which the parser has lost the structure and reports valid lines as errors. */
const derailing: ReadonlySet<string> = new Set(
  `BAD_INDENT BLOCK_AS_IMPLICIT_KEY BLOCK_IN_FLOW MISSING_CHAR
    MULTILINE_IMPLICIT_KEY UNEXPECTED_TOKEN`.split(/\s+/),
)

/** Reports a missing comma or bracket once: later structural errors may be its consequence. */
function withoutEchoes(errors: Document.Parsed['errors']): Document.Parsed['errors'] {
  const first = errors.find(({ code }) => derailing.has(code))
  return errors.filter(error => error === first || !derailing.has(error.code))
}

/** A key as written: the rest of its line up to the colon. */
function keyAt(text: string, offset: number): string {
  return /^(?:"[^"\n]*"|'[^'\n]*'|[^\s,{}]+?(?=:\s|:?$))/m.exec(text.slice(offset))?.[0] ?? 'a key'
}

function offsetOf(document: Document.Parsed, path: Path): number | undefined {
  let node: unknown = document.contents
  let offset: number | undefined = 0
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find(item => isScalar(item.key) && String(item.key.value) === String(part))
      if (pair === undefined) return undefined
      offset = startOf(pair.key)
      node = pair.value
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part]
      if (node === undefined) return undefined
      offset = startOf(node)
    } else {
      return undefined
    }
  }
  return offset
}

function startOf(node: unknown): number | undefined {
  if (!isScalar(node) && !isMap(node) && !isSeq(node) && !isAlias(node)) return undefined
  return node.range?.[0]
}

/**
 * Adds one more file to a configuration's `include`, after those already there. The rest of the text, with its
 * comments and order, is unchanged.
 * @returns undefined where `include` is written in a form that this function cannot extend
 */
export function withInclude(text: string, file: string): string | undefined {
  const document = parseDocument(text)
  const { contents } = document
  const name = JSON.stringify(file)
  if (document.errors.length > 0 || !isMap(contents)) return undefined
  const include = contents.items.find(({ key }) => isScalar(key) && key.value === 'include')?.value
  if (include === undefined) {
    return contents.flow === true
      ? undefined
      : `${text}${text.endsWith('\n') ? '' : '\n'}include: [${name}]\n`
  }
  const last = isSeq(include) ? include.items.at(-1) : undefined
  if (!isSeq(include) || !isScalar(last) || !last.range) return undefined
  const end = last.range[1]
  if (include.flow === true) return `${text.slice(0, end)}, ${name}${text.slice(end)}`
  const start = text.lastIndexOf('\n', last.range[0]) + 1
  const indent = /^\s*-\s*/.exec(text.slice(start, last.range[0]))?.[0]
  if (indent === undefined) return undefined
  // A comment after the last item stays after it.
  const lineEnd = text.indexOf('\n', end)
  const at = lineEnd === -1 ? text.length : lineEnd
  return `${text.slice(0, at)}\n${indent}${name}${text.slice(at)}`
}
