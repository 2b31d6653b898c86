import { spawnSync, type StdioOptions } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unreachedPlaces } from './unreached-places.ts'
import { say } from './say.ts'

// Places in the money and byte folders that no test reaches, by V8's counts in all tests or in the files after `--`.
// `--from FOLDER` evaluates a run that was made with NODE_V8_COVERAGE=FOLDER.

const root = join(import.meta.dirname, '../..')
const money =
  'money,prices,metering,ledger,settlement,jobs,batches,sessions,payments,documents,statements,companies'
const bytes = 'bodies,upstream,pipeline,websocket,http,dialects,uploads'
const allTests = globSync('test/**/*.test.ts', { cwd: root }).toSorted()

function runTests(folder: string, files: readonly string[]): void {
  // Functions from the compile cache have no counts of their blocks.
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_V8_COVERAGE: folder }
  const stdio: StdioOptions = ['ignore', 2, 2]
  for (const settings of files.length > 0 ? ['.taprc'] : ['.taprc', '.taprc-long']) {
    const { status } = spawnSync('tap', [...files, '--timeout=600'], {
      cwd: root,
      env: { ...env, TAP_RCFILE: settings },
      stdio,
    })
    if (status !== 0) say('Tests have failed: code that only they reach may be listed too.')
  }
}

function report(folder: string, tests: readonly string[]): void {
  const sources = `{lib/{${money},${bytes}},plugins}/**/*.ts`
  const { places, unreported } = unreachedPlaces({ root, folder, sources, tests })
  for (const { path, lines: [first, last] = [], text } of places) {
    const numbers = first === undefined ? '' : `:${first}${last === first ? '' : `-${last}`}`
    say(`${path}${numbers}  ${text.slice(0, 100)}`)
  }
  for (const path of unreported) say(`${path} has left no counts: code that only it reaches is listed too.`)
  say(`${places.length} places were never reached by ${tests.length - unreported.length} test files.`)
}

const words = process.argv.slice(2)
if (words[0] === '--from') {
  report(words[1] ?? '', allTests)
} else {
  const folder = mkdtempSync(join(tmpdir(), 'coverage-'))
  runTests(folder, words)
  report(folder, words.length > 0 ? words : allTests)
  rmSync(folder, { recursive: true })
}
