import { isMap, isScalar, isSeq, parseDocument } from 'yaml'

/**
 * The text of a configuration that includes one more file, after those that it includes already. Nothing else of the
 * text changes: its comments and its order are its author's.
 * @returns undefined where `include` is written in a way that this cannot add to
 */
export function withInclude(text: string, file: string): string | undefined {
  const document = parseDocument(text)
  const { contents } = document
  const name = JSON.stringify(file)
  if (document.errors.length > 0 || !isMap(contents)) return undefined
  const include = contents.items.find(({ key }) => isScalar(key) && key.value === 'include')?.value
  if (include === undefined) {
    return contents.flow === true ? undefined : `${text}${text.endsWith('\n') ? '' : '\n'}include: [${name}]\n`
  }
  const last = isSeq(include) ? include.items.at(-1) : undefined
  if (!isSeq(include) || !isScalar(last) || !last.range) return undefined
  const end = last.range[1]
  if (include.flow === true) return `${text.slice(0, end)}, ${name}${text.slice(end)}`
  const start = text.lastIndexOf('\n', last.range[0]) + 1
  const indent = /^\s*-\s*/.exec(text.slice(start, last.range[0]))?.[0]
  if (indent === undefined) return undefined
  // A comment behind the last one stays behind it.
  const lineEnd = text.indexOf('\n', end)
  const at = lineEnd === -1 ? text.length : lineEnd
  return `${text.slice(0, at)}\n${indent}${name}${text.slice(at)}`
}
