import { dirname, resolve } from 'node:path'
import type { RiskRule } from '../ledger/risk.ts'
import type { Pricing } from '../money/pricing.ts'
import { buildModels } from './build-models.ts'
import type { Config, ModelNames } from './config.ts'
import { resolveVariables, type Environment } from './environment.ts'
import { mergeLayers, readLayers } from './layers.ts'
import { Problems } from './problems.ts'
import { configSchema } from './schema.ts'
import type { Settings } from './schema.ts'
import { isMapping } from './config-error.ts'

/** For models whose prices do not matter. */
export const anyPricing: Pricing = { usdRub: '1', coefficient: '1', round: 'half-up' }

/**
 * How far worst cases may go beyond an account's money, by a config that may be wrong in any other place.
 *
 * @throws ConfigError when the file cannot be read or `hold` is wrong
 */
export function loadRiskRule(file: string, env: Environment = process.env): RiskRule {
  const { problems, written } = readWritten(file)
  const { value } = resolveVariables({ hold: written['hold'] }, env, problems)
  const hold = problems.parse(configSchema.shape.hold, value['hold'], ['hold'])
  problems.throwIfAny()
  return (hold as Settings['hold']).risk
}

/**
 * Where the store is, by a config that may be wrong in any other place: revoking a leaked key must not wait
 * until a typo among the models is found.
 *
 * @throws ConfigError when the file cannot be read or the store is not named rightly
 */
export function loadStoreSetting(file: string, env: Environment = process.env): Config['store'] {
  const { problems, written } = readWritten(file)
  const { value } = resolveVariables({ store: written['store'] }, env, problems)
  const store = problems.parse(configSchema.shape.store, value['store'], ['store'])
  problems.throwIfAny()
  return resolveStore(store as Settings['store'], problems.fileOf('store'))
}

/**
 * In which zone times are read and printed, by a config that may be wrong in any other place.
 *
 * @throws ConfigError when the file cannot be read or there is no such zone
 */
export function loadTimeZone(file: string, env: Environment = process.env): string {
  const { problems, written } = readWritten(file)
  const { value } = resolveVariables({ timeZone: written['timeZone'] }, env, problems)
  const zone = problems.parse(configSchema.shape.timeZone, value['timeZone'], ['timeZone'])
  problems.throwIfAny()
  return zone as Settings['timeZone']
}

/**
 * Where the operators' pages are, by a config that may be wrong in any other place.
 *
 * @throws ConfigError when the file cannot be read or the section is wrong
 */
export function loadOperatorArea(file: string, env: Environment = process.env): Config['operatorArea'] {
  const { problems, written } = readWritten(file)
  const { value } = resolveVariables({ operatorArea: written['operatorArea'] }, env, problems)
  const area = problems.parse(configSchema.shape.operatorArea, value['operatorArea'], ['operatorArea'])
  problems.throwIfAny()
  return area
}

/**
 * The names that models go by, by a config that may be wrong in any other place.
 *
 * @throws ConfigError when the file cannot be read or a model is wrong
 */
export function loadModelNames(file: string, env: Environment = process.env): ModelNames {
  const { problems, written } = readWritten(file)
  const { value } = resolveVariables({ models: written['models'] }, env, problems)
  const { providers } = written
  const providerNames = Object.keys(isMapping(providers) ? providers : {})
  const models = buildModels(value['models'], {
    providerNames,
    providers: new Map(),
    pricing: anyPricing,
    problems,
  })
  problems.throwIfAny()
  return models
}

/**
 * The names of providers, by a config that may be wrong in any other place, and whose secrets need not be set.
 *
 * @throws ConfigError when the file cannot be read
 */
export function loadProviderNames(file: string): readonly string[] {
  const { providers } = readWritten(file).written
  return Object.keys(isMapping(providers) ? providers : {})
}

/** What a config says, unchecked. */
function readWritten(file: string): { problems: Problems; written: Readonly<Record<string, unknown>> } {
  const problems = new Problems(resolve(file))
  problems.layers = readLayers(problems.file, problems)
  const written = mergeLayers(problems.layers)
  return { problems, written: isMapping(written) ? written : {} }
}

/** A file of SQLite is named from the folder of the file that names it. */
export function resolveStore(store: string, file: string): Config['store'] {
  if (!store.startsWith('sqlite:')) return { kind: 'postgres', url: store }
  return { kind: 'sqlite', file: resolve(dirname(file), store.slice('sqlite:'.length)) }
}
