import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Source } from './sources.ts'

const fileLinesMax = 300
const fileLinesMedianMax = 140
const functionLinesMax = 60

/** Written with hyphens so that this file does not contain the words. */
const bannedWords = ['TO-DO', 'FIX-ME', 'X-XX', 'HA-CK'].map(word => word.replace('-', ''))
const bannedNames = ['utils', 'util', 'helpers', 'helper', 'common', 'manager', 'misc']

/** Where each global may be used in the source. */
const globalDoors: readonly (readonly [pattern: RegExp, allowed: readonly string[]])[] = [
  [/^(?:Date\.now|new Date\(\))$/, ['lib/platform/clock.ts']],
  [/^process\.env$/, ['lib/config/', 'benchmarks/']],
  [/^process\.exit$/, ['bin/']],
  [/^console\./, ['bin/']],
]

/** Code that compares a provider's name must be found and changed for every other provider with the same quirk. */
const providerByName = /\b(?:providerKind|provider\??\.kind) [!=]== '(?!sandbox')/

function isSource(path: string): boolean {
  return /^(?:bin|plugins|lib|benchmarks)\//.test(path)
}

/** Files and functions over the limit, and a median file over the limit, as sentences. */
export function sizeBreaches(sources: readonly Source[]): readonly string[] {
  const breaches: string[] = []
  const counted = sources.filter(source => isSource(source.path))
  for (const { path, lineCount, functions } of counted) {
    if (lineCount > fileLinesMax)
      breaches.push(`${path} has ${lineCount} lines; the limit is ${fileLinesMax}.`)
    for (const one of functions) {
      if (one.lineCount > functionLinesMax) {
        breaches.push(
          `${path}:${one.line} is a function of ${one.lineCount} lines; the limit is ${functionLinesMax}.`,
        )
      }
    }
  }
  const sizes = counted.map(source => source.lineCount).toSorted((a, b) => a - b)
  const median = sizes[Math.floor(sizes.length / 2)] ?? 0
  if (median > fileLinesMedianMax) {
    breaches.push(`The median file has ${median} lines; the limit is ${fileLinesMedianMax}.`)
  }
  return breaches
}

/** Forbidden code: `any`, default exports, swallowed errors, global time and the like, as sentences. */
export function wordingBreaches(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(source => [
    ...source.findings.flatMap(finding => {
      const place = `${source.path}:${finding.line}`
      if (finding.kind === 'any') return [`${place} says any; say what it is, or unknown.`]
      if (!isSource(source.path)) return []
      if (finding.kind === 'default-export') return [`${place} exports a default; exports have names.`]
      if (finding.kind === 'swallowed-catch') return [`${place} swallows an error.`]
      const allowed = globalDoors.find(([pattern]) => pattern.test(finding.what))?.[1] ?? []
      if (allowed.some(door => source.path.startsWith(door))) return []
      return [`${place} uses ${finding.what}, which is for ${allowed.join(' and ')} only.`]
    }),
    ...source.text.split('\n').flatMap((line, index) => {
      const word = bannedWords.find(banned => new RegExp(`\\b${banned}\\b`).test(line))
      if (isSource(source.path) && providerByName.test(line))
        return [
          `${source.path}:${index + 1} knows a provider by its name; say what it does in lib/providers/.`,
        ]
      return word === undefined ? [] : [`${source.path}:${index + 1} says ${word}; do it, or open an issue.`]
    }),
  ])
}

/** File names that are forbidden or not in kebab-case, as sentences. */
export function nameBreaches(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path }) => {
    const name = basename(path).replace(/(?:\.test)?\.ts$/, '')
    const breaches: string[] = []
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) breaches.push(`${path} is not named in kebab-case.`)
    if (name === 'index' && path !== 'plugins/index.ts') {
      breaches.push(`${path} is called index; only plugins/index.ts is.`)
    }
    const part = path
      .replace(/\.ts$/, '')
      .split('/')
      .find(one => bannedNames.includes(one))
    if (part !== undefined) breaches.push(`${path} has a part called ${part}; name it for its idea.`)
    return breaches
  })
}

/** Paths that a page names in backticks and that do not exist, as sentences. */
export function docBreaches(
  root: string,
  docs: readonly { readonly path: string; readonly text: string }[],
): readonly string[] {
  return docs.flatMap(doc =>
    [...doc.text.matchAll(/`([^`\s]+)`/g)]
      .map(match => match[1] ?? '')
      .filter(looksLikeAPath)
      .filter(path => !existsSync(join(root, path)))
      .map(path => `${doc.path} names ${path}, which does not exist.`),
  )
}

function looksLikeAPath(text: string): boolean {
  if (!/^\.?[\w-]+(?:[./][\w-]+)*\/?$/.test(text)) return false
  return (
    /^(?:bin|lib|plugins|test|docs|config|benchmarks|\.ci)\//.test(text) ||
    /\w\.(?:ts|md|json|yaml)$/.test(text)
  )
}
