import { execFileSync, spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { readSources } from './tidy/sources.ts'

// Runs the tests that import, directly or not, a file that was changed since a branch or commit (by default main).

const root = join(import.meta.dirname, '..')
const [base = 'main'] = process.argv.slice(2)

function git(...words: string[]): string[] {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
}

const fork = git('merge-base', base, 'HEAD')[0] ?? base
const reached = new Set([
  ...git('diff', '--name-only', fork),
  ...git('ls-files', '--others', '--exclude-standard'),
])
const importers = new Map<string, string[]>()
const sources = readSources(root)
for (const { path, imports } of sources) {
  for (const { to } of imports) importers.set(to, [...(importers.get(to) ?? []), path])
}
for (const path of reached) for (const importer of importers.get(path) ?? []) reached.add(importer)

const tests = [...reached].filter(path => path.endsWith('.test.ts')).toSorted()
writeSync(
  1,
  `${tests.length} of ${sources.filter(({ path }) => path.endsWith('.test.ts')).length} test files\n`,
)
if (tests.length > 0) process.exitCode = spawnSync('tap', tests, { cwd: root, stdio: 'inherit' }).status ?? 1
