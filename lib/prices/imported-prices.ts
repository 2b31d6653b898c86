import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isMapping } from '../config/layers.ts'
import { withInclude } from '../config/with-include.ts'
import type { ImportPlan } from './plan-import.ts'
import { PriceListError } from './read-price-list.ts'

/** Files as an import makes them, by their paths, in the order in which they are written. */
export type ImportedFiles = ReadonlyMap<string, string>

interface ImportInto {
  /** The main file of the config, and all that it is read from. */
  readonly configFile: string
  readonly files: readonly string[]
  /** Says where the prices are from. */
  readonly comment: string
}

/**
 * The file of imported prices, beside the config, with what a plan changes; and the config, where it does not include
 * that file yet.
 * @throws PriceListError when either cannot be added to
 */
export function importedPrices(plan: ImportPlan, { configFile, files, comment }: ImportInto): ImportedFiles {
  const file = join(dirname(configFile), 'prices.json')
  const models = { ...writtenModels(file), ...Object.fromEntries(plan.entries) }
  const lines = Object.entries(models)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, entry]) => `    ${JSON.stringify(name)}: ${JSON.stringify(entry)}`)
  const text = `{\n  "$comment": ${JSON.stringify(comment)},\n  "models": {\n${lines.join(',\n')}\n  }\n}\n`
  if (files.includes(file)) return new Map([[file, text]])
  const config = withInclude(readFileSync(configFile, 'utf8'), 'prices.json')
  if (config === undefined) {
    throw new PriceListError(`needs ${file} among the files that ${configFile} includes: add it to include`)
  }
  return new Map([
    [file, text],
    [configFile, config],
  ])
}

function writtenModels(file: string): Readonly<Record<string, unknown>> {
  if (!existsSync(file)) return {}
  let written: unknown
  try {
    written = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new PriceListError(`cannot be added to ${file}, which is no JSON`, { cause: error })
  }
  const models = isMapping(written) ? written['models'] : undefined
  return isMapping(models) ? models : {}
}
