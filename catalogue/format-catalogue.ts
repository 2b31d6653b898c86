import type { Catalogue } from './build-catalogue.ts'

/** The catalogue as a config file: JSON, which parses a hundred times faster than YAML; one line per model. */
export function formatCatalogue(catalogue: Catalogue): string {
  const lines = [...catalogue.values()].flatMap(entries =>
    [...entries].map(([name, entry]) => `    ${JSON.stringify(name)}: ${JSON.stringify(entry)}`),
  )
  return `{\n  "models": {\n${lines.join(',\n')}\n  }\n}\n`
}
