import { globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'

/*
 * Many test files in one process: starting Node and loading a gateway takes as long as what most of them test. Each file
 * is a test with a teardown of its own: what it imports as `tap` is that test. Each also runs alone, by its name:
 * `npx tap test/lib/money/amount.test.ts`.
 */

const root = join(import.meta.dirname, '../..')
const fileTimeoutMs = 300_000
const parts = 12
/** What needs no gateway and no store. */
const purePatterns = [
  'test/lib/{bodies,companies,config,dialects,http,ledger,listener,media,metering,money}/**/*.test.ts',
  'test/lib/{overload,pipeline,rate-limits,sandbox,settlement,statements,websocket}/**/*.test.ts',
]

/** The test of each file by its URL. The modules that stand for tap read it from here. */
const testsName = 'tests of files that run together'
const tests = new Map<string, Test>()
Object.assign(globalThis, { [testsName]: tests })

const scheme = 'test-of:'
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context
    if (specifier !== 'tap' || !tests.has(parentURL)) return next(specifier, context)
    return { url: `${scheme}${parentURL}`, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(scheme)) return next(url, context)
    const [name, file] = [testsName, url.slice(scheme.length)].map(text => JSON.stringify(text))
    return { source: `export default globalThis[${name}].get(${file})`, format: 'module', shortCircuit: true }
  },
})

/** Runs files one after another. */
async function runFiles(files: readonly string[]): Promise<void> {
  if (files.length < 10) throw new Error(`only ${files.length} test files were found to run together`)
  t.setTimeout(files.length * fileTimeoutMs)
  for (const file of files) {
    const { href } = pathToFileURL(join(root, file))
    await t.test(relative('test', file), { timeout: fileTimeoutMs }, async t => {
      // As when the file runs alone: the path of a socket in this folder may not be long.
      t.testdirName = join(root, '.tap/fixtures', file.replaceAll('/', '-'))
      tests.set(href, t)
      await import(href)
    })
  }
}

const find = (patterns: readonly string[]): readonly string[] => globSync(patterns, { cwd: root }).toSorted()

/** Runs the tests of the pure parts. */
export async function runPure(): Promise<void> {
  await runFiles(find(purePatterns))
}

/** The files that have a process of their own. */
function included(settings: string): readonly string[] {
  const { include } = parse(readFileSync(join(root, settings), 'utf8')) as { include: readonly string[] }
  return include
}

/** Runs a part, counted from 1, of all other files. */
export async function runPart(part: number): Promise<void> {
  const elsewhere = new Set(find([...included('.taprc'), ...included('.taprc-long'), ...purePatterns]))
  const others = find(['test/**/*.test.ts']).filter(file => !elsewhere.has(file))
  await runFiles(others.filter((_file, index) => index % parts === part - 1))
}
