import { globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'

/*
 * Runs many test files in one process: starting Node and loading a gateway takes as long as most files do. Each file
 * is a test with a teardown of its own, and its import of `tap` is that test. Each also runs alone by its name:
 * `npx tap test/lib/money/amount.test.ts`.
 */

const root = join(import.meta.dirname, '../..')
const fileTimeoutMs = 300_000
const parts = 6
const pureParts = 2
/** Tests that need no gateway, no store and no socket. */
const purePattern =
  'test/lib/{companies,config,dialects,http,ledger,media,metering,money,settlement,statements}/**/*.test.ts'

const slowParts = 4
/** Tests of ten seconds and more that can still share a process with others. */
const slowPatterns = [
  'test/account-area/{attacks,auto-top-up,balance-alert,end-to-end,end-to-end-sign-in,keys,postgres}.test.ts',
  'test/account-area/protection.test.ts',
  'test/cli/{accounts,backup,check-store,documents,serve}.test.ts',
  'test/gateway/{batches-ends,batches-uncounted,bodies-long,bodies-streamed,drain-process,jobs-prices}.test.ts',
  'test/gateway/{margin-day,media-money,overload-shed,payments-kill,provider-switches,readiness-postgres}.test.ts',
  'test/gateway/{reload-faults,tiers,uploads-bounded-nodes,websocket-clients,websocket-holds}.test.ts',
  'test/gateway/{workers-postgres,workers-shared}.test.ts',
  'test/operator-area/{alarms-page,errors,story}.test.ts',
  'test/lib/accounts/stored-corrections.test.ts',
  'test/lib/administration/{members,operator-log}.test.ts',
  'test/lib/alarms/stored-alarms.test.ts',
  'test/lib/payments/{auto-top-ups,payments-model}.test.ts',
  'test/lib/stores/postgres/{postgres-database,postgres-faults,postgres-nodes}.test.ts',
  'test/lib/stores/shared/verify-ledger.test.ts',
  'test/lib/stores/sqlite/{sqlite-kill,sqlite-model,sqlite-unavailable}.test.ts',
]

/** The test of each file by its URL. The modules that replace tap read it from here. */
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

/** Runs files one after another, each as a test. Throws if there are fewer than ten. */
async function runFiles(files: readonly string[]): Promise<void> {
  if (files.length < 10) throw new Error(`only ${files.length} test files were found to run together`)
  t.setTimeout(files.length * fileTimeoutMs)
  for (const file of files) {
    const { href } = pathToFileURL(join(root, file))
    await t.test(relative('test', file), { timeout: fileTimeoutMs }, async t => {
      // The same folder as when the file runs alone, since the path of a socket in it must be short.
      t.testdirName = join(root, '.tap/fixtures', file.replaceAll('/', '-'))
      tests.set(href, t)
      await import(href)
    })
  }
}

const find = (patterns: readonly string[]): readonly string[] => globSync(patterns, { cwd: root }).toSorted()

function included(settings: string): readonly string[] {
  const { include } = parse(readFileSync(join(root, settings), 'utf8')) as { include: readonly string[] }
  return include
}

/** The files that run in a process of their own. */
const alone = new Set(find([...included('.taprc'), ...included('.taprc-long')]))
const pure = new Set(find([purePattern]))

/** Runs a part, counted from 1, of the pure tests. */
export async function runPure(part: number): Promise<void> {
  const files = [...pure].filter(file => !alone.has(file))
  await runFiles(files.filter((_file, index) => index % pureParts === part - 1))
}

const slow = new Set(find(slowPatterns))

/** Runs a part, counted from 1, of the slow tests. */
export async function runSlow(part: number): Promise<void> {
  await runFiles([...slow].filter((_file, index) => index % slowParts === part - 1))
}

/** Runs a part, counted from 1, of all other files. */
export async function runPart(part: number): Promise<void> {
  const others = find(['test/**/*.test.ts']).filter(
    file => !alone.has(file) && !pure.has(file) && !slow.has(file),
  )
  await runFiles(others.filter((_file, index) => index % parts === part - 1))
}
