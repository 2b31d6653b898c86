import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface Script {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

/** A source, with what processes have reached of it. */
interface Source {
  readonly path: string
  readonly text: string
  readonly reached: Uint8Array
}

/** A range of lines, from 1, that was never reached; no lines where the file was never loaded. */
interface Place {
  readonly path: string
  readonly lines?: readonly [first: number, last: number]
  /** The beginning of its first line. */
  readonly text: string
}

interface Unreached {
  readonly places: readonly Place[]
  /** Test files that no process reported: it was killed, or never loaded them. What they reach is not known. */
  readonly unreported: readonly string[]
}

interface Search {
  /** The folder that paths are relative to. */
  readonly root: string
  /** Where Node has written the coverage of each process and thread that ended by itself: NODE_V8_COVERAGE. */
  readonly folder: string
  /** The sources to evaluate, as a glob. */
  readonly sources: string
  readonly tests: readonly string[]
}

/**
 * The places that no process has reached, by V8's counts.
 * @throws {Error} where a source had another text when it ran: V8 counts by offsets into it
 */
export function unreachedPlaces({ root, folder, sources, tests }: Search): Unreached {
  const watched = new Map<string, Source>()
  for (const path of globSync(sources, { cwd: root }).toSorted()) {
    const text = readFileSync(join(root, path), 'utf8')
    watched.set(pathToFileURL(join(root, path)).href, { path, text, reached: new Uint8Array(text.length) })
  }
  const loaded = new Set<string>()
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: readonly Script[] }
    for (const script of result) {
      loaded.add(script.url)
      const source = watched.get(script.url)
      if (source !== undefined) markReached(source, script)
    }
  }
  return {
    places: [...watched].flatMap(([url, source]) => (loaded.has(url) ? gapsOf(source) : wholeOf(source))),
    unreported: tests.filter(path => !loaded.has(pathToFileURL(join(root, path)).href)),
  }
}

/** Marks what a process has reached: the count of a block overrides that of its function. */
function markReached({ path, text, reached }: Source, { url, functions }: Script): void {
  const ranges = functions.flatMap(({ ranges }) => ranges)
  const end = ranges.reduce((most, { endOffset }) => Math.max(most, endOffset), 0)
  // Node replaces types by blanks, and appends the name of the file.
  if (end !== text.length && end !== text.length + `\n\n//# sourceURL=${url}`.length)
    throw new Error(`${path} has another text than the one that ran. Run the tests again.`)
  const own = new Uint8Array(text.length).fill(1)
  for (const { startOffset, endOffset, count } of ranges) own.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  for (const [offset, isReached] of own.entries()) if (isReached === 1) reached[offset] = 1
}

/** Lines where code that does something was not reached. Types, comments and brackets do nothing. */
function gapsOf({ path, text, reached }: Source): readonly Place[] {
  const gaps: Place[] = []
  let offset = 0
  for (const [index, line] of text.split('\n').entries()) {
    let isGap = false
    for (let at = 0; at < line.length; at += 1)
      if (reached[offset + at] === 0 && /[\w'"`]/.test(line.charAt(at))) isGap = true
    offset += line.length + 1
    if (!isGap || /^\s*(?:\/\/|\/?\*)/.test(line)) continue
    const last = gaps.at(-1)
    if (last?.lines?.[1] === index) gaps[gaps.length - 1] = { ...last, lines: [last.lines[0], index + 1] }
    else gaps.push({ path, lines: [index + 1, index + 1], text: line.trim() })
  }
  return gaps
}

/** Files that contain only types are never loaded. */
function wholeOf({ path, text }: Source): readonly Place[] {
  const isWork = /^export (?:async )?(?:function|class|const)/m.test(text)
  return isWork ? [{ path, text: 'was never loaded' }] : []
}
