import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

// The pure parts, in one process: starting Node for each of a hundred small files takes longer than their tests do.
// Which they are is in .taprc, where tap is told to leave them out. Alone, each still runs by its name:
// `npx tap test/lib/money/amount.test.ts`.
const root = join(import.meta.dirname, '..')
const { exclude } = parse(readFileSync(join(root, '.taprc'), 'utf8')) as { exclude: readonly string[] }
const pure = exclude.filter(pattern => pattern.startsWith('test/lib/'))
const files = pure.flatMap(pattern => globSync(`${pattern}/*.test.ts`, { cwd: root })).toSorted()
if (files.length < 50) throw new Error(`only ${files.length} tests of the pure parts were found`)
for (const file of files) await import(join(root, file))
