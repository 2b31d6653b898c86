import { join } from 'node:path'
import { readSources, type Source } from '../tidy/sources.ts'
import { folderCycles, folderOf, ownImports } from '../tidy/folder-rules.ts'
import { say } from './say.ts'

// The structure of the source: files and lines by folder, which folders import each other, how often, and in cycles,
// and which files and functions are long or small.

const root = join(import.meta.dirname, '../..')
const sources = readSources(root).filter(({ path }) => /^(?:bin|lib|plugins)\//.test(path))

const imports = Map.groupBy(ownImports(sources, true), ({ from }) => from)

function importsOf({ path }: Source): readonly string[] {
  return (imports.get(path) ?? []).map(({ to }) => to)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function printFolders(): void {
  const byFolder = Map.groupBy(sources, ({ path }) => folderOf(path))
  say('folder                       files   lines  imported by  imports')
  for (const [folder, own] of [...byFolder].toSorted((a, b) => b[1].length - a[1].length)) {
    const out = new Set(own.flatMap(source => importsOf(source)).map(folderOf))
    const isImporting = (other: readonly Source[]): boolean =>
      other.some(source => importsOf(source).some(to => folderOf(to) === folder))
    const fanIn = [...byFolder].filter(([name, other]) => name !== folder && isImporting(other)).length
    const lines = own.reduce((sum, { lineCount }) => sum + lineCount, 0)
    out.delete(folder)
    const figures = [own.length, lines, fanIn, out.size].map((value, index) =>
      String(value).padStart([7, 8, 13, 9][index] ?? 0),
    )
    say(folder.padEnd(27) + figures.join(''))
  }
}

function printCycles(): void {
  for (const withTypes of [false, true]) {
    const cycles = folderCycles(sources, withTypes)
    say(`\n${withTypes ? 'With types' : 'Without types'}: ${cycles.length} cycles of folders`)
    for (const knot of cycles) say(`  ${knot.join(', ')}`)
  }
}

function printSizes(): void {
  const lines = sources.map(({ lineCount }) => lineCount)
  const functions = sources.flatMap(source => source.functions.map(each => ({ ...each, path: source.path })))
  const importers = new Map<string, number>()
  for (const source of sources) {
    for (const to of new Set(importsOf(source))) importers.set(to, (importers.get(to) ?? 0) + 1)
  }
  const onlyOnce = sources.filter(({ path }) => importers.get(path) === 1).length
  const total = lines.reduce((sum, value) => sum + value, 0)
  say(
    `\n${sources.length} files, ${total} lines; the median file has ${median(lines)}, the longest ${Math.max(...lines)}`,
  )
  say(
    `${lines.filter(count => count < 30).length} files below 30 lines, ${onlyOnce} imported by only one other`,
  )
  const long = functions.filter(({ lineCount }) => lineCount > 40)
  const middle = median(functions.map(({ lineCount }) => lineCount))
  say(`${functions.length} functions; ${middle} lines at the median, ${long.length} above 40`)
  for (const { path, line, lineCount } of long.toSorted((a, b) => b.lineCount - a.lineCount).slice(0, 10))
    say(`  ${lineCount} lines: ${path}:${line}`)
}

printFolders()
printCycles()
printSizes()
