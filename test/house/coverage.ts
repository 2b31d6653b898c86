import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// The places of money and bytes that no test reaches, by V8's coverage of the tests below or of files named after `--`.
// `--from FOLDER` reads what a run with NODE_V8_COVERAGE=FOLDER has left there: `NODE_V8_COVERAGE=/tmp/v8 npm test`.

const root = join(import.meta.dirname, '../..')
const watched = 'lib/{money,prices,metering,ledger,settlement,bodies,upstream}/**/*.ts'
const tests = [
  'test/unit.test.ts',
  'test/lib/{payments,prices,upstream}/*.test.ts',
  'test/lib/stores/sqlite/sqlite{,-batch,-reports}.test.ts',
  'test/gateway/{batches,bodies,errors,estimates,hold,jobs,money,outcomes,upstream,websocket}*.test.ts',
  'test/admission/worst.test.ts',
]

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface Script {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

/** A run of lines, from 1, that was never reached. */
interface Gap {
  readonly from: number
  readonly to: number
}

function runTests(folder: string, patterns: readonly string[]): void {
  for (const file of patterns.flatMap(pattern => globSync(pattern, { cwd: root }).toSorted())) {
    const environment = { ...process.env, NODE_V8_COVERAGE: folder, TAP_TIMEOUT: '600' }
    const { status } = spawnSync(process.execPath, [file], { cwd: root, env: environment, stdio: 'ignore' })
    writeSync(2, `${file}${status === 0 ? '' : ` failed: run npx tap ${file}`}\n`)
  }
}

/** Marks what a process has reached: a block within a function says more than the function. */
function markReached(reached: Uint8Array, { functions }: Script): void {
  const own = new Uint8Array(reached.length).fill(1)
  for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges))
    own.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  for (const [offset, isReached] of own.entries()) if (isReached === 1) reached[offset] = 1
}

/** Lines where something that does work was not reached. Types, comments and brackets do none. */
function gapsOf(text: string, reached: Uint8Array): readonly Gap[] {
  const gaps: Gap[] = []
  let offset = 0
  for (const [index, line] of text.split('\n').entries()) {
    let isGap = false
    for (let at = 0; at < line.length; at += 1)
      if (reached[offset + at] === 0 && /[\w'"`]/.test(line.charAt(at))) isGap = true
    offset += line.length + 1
    if (!isGap || /^\s*(?:\/\/|\/?\*)/.test(line)) continue
    const last = gaps.at(-1)
    if (last?.to === index) gaps[gaps.length - 1] = { from: last.from, to: index + 1 }
    else gaps.push({ from: index + 1, to: index + 1 })
  }
  return gaps
}

function readReached(folder: string): ReadonlyMap<string, Uint8Array> {
  const paths = new Map(
    globSync(watched, { cwd: root }).map(path => [pathToFileURL(join(root, path)).href, path]),
  )
  const reached = new Map<string, Uint8Array>()
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: readonly Script[] }
    for (const script of result) {
      const path = paths.get(script.url)
      if (path === undefined) continue
      const marks = reached.get(path) ?? new Uint8Array(readFileSync(join(root, path), 'utf8').length)
      markReached(marks, script)
      reached.set(path, marks)
    }
  }
  return reached
}

function report(reached: ReadonlyMap<string, Uint8Array>): void {
  let count = 0
  for (const path of globSync(watched, { cwd: root }).toSorted()) {
    const text = readFileSync(join(root, path), 'utf8')
    const marks = reached.get(path)
    if (marks === undefined) {
      // Files of types alone are never loaded.
      if (/^export (?:async )?(?:function|class|const)/m.test(text))
        writeSync(1, `${path} was never loaded\n`)
      continue
    }
    const lines = text.split('\n')
    for (const { from, to } of gapsOf(text, marks)) {
      count += 1
      writeSync(
        1,
        `${path}:${from}${to === from ? '' : `-${to}`}  ${lines[from - 1]?.trim().slice(0, 100) ?? ''}\n`,
      )
    }
  }
  writeSync(1, `${count} places were never reached.\n`)
}

const words = process.argv.slice(2)
if (words[0] === '--from') {
  report(readReached(words[1] ?? ''))
} else {
  const folder = mkdtempSync(join(tmpdir(), 'coverage-'))
  runTests(folder, words.length > 0 ? words : tests)
  report(readReached(folder))
  rmSync(folder, { recursive: true })
}
