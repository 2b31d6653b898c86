import type { Source } from './sources.ts'

/** The exports of the package, which external plugins use: see docs/plugins.md. */
const publicFile = 'lib/plugin-api/plugin-api.ts'

/** Exported functions, classes and constants that no other file uses, tests included, as sentences. */
export function exportBreaches(sources: readonly Source[]): readonly string[] {
  const importers = new Map<string, Source[]>()
  for (const source of sources) {
    for (const { to, isRelative } of source.imports) {
      if (isRelative) importers.set(to, [...(importers.get(to) ?? []), source])
    }
  }
  return sources
    .filter(({ path }) => /^(?:lib|plugins)\//.test(path) && path !== publicFile)
    .flatMap(({ path, text }) =>
      exportedNames(text)
        // An import may be dynamic or of everything, so it is enough that the importing file contains the name.
        .filter(name => !importers.get(path)?.some(user => new RegExp(`\\b${name}\\b`).test(user.text)))
        .map(name => `${path} exports ${name}, which no other file uses.`),
    )
}

function exportedNames(text: string): string[] {
  const found = text.matchAll(/^export (?:async |abstract )*(?:function\*?|const|class) (\w+)/gm)
  return Array.from(found, match => match[1] ?? '')
}
