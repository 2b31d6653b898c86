import { dirname, resolve } from 'node:path'
import type { ZodType } from 'zod'
import type { Pricing } from '../money/pricing.ts'
import { buildModels } from './build-models.ts'
import type { Config, ModelNames } from './config.ts'
import { resolveVariables, type Environment } from './environment.ts'
import { mergeLayers, readLayers } from './layers.ts'
import { Problems } from './problems.ts'
import { configSchema, type ConfigKey, type Settings } from './schema.ts'
import { isMapping } from './config-error.ts'

/** Pricing for models whose prices are not used. */
export const anyPricing: Pricing = { usdRub: '1', coefficient: '1', round: 'half-up' }

/**
 * One section of a config that may be invalid elsewhere: revoking a leaked key must not wait until a typo among the
 * models is found.
 *
 * @throws ConfigError when the file cannot be read or the section is invalid
 */
export function loadSection<K extends ConfigKey>(
  file: string,
  key: K,
  env: Environment = process.env,
): Settings[K] {
  return readSection(file, key, env).section
}

/**
 * The store setting, read in the same way.
 *
 * @throws ConfigError when the file cannot be read or `store` is invalid
 */
export function loadStoreSetting(file: string, env: Environment = process.env): Config['store'] {
  const { section, problems } = readSection(file, 'store', env)
  return resolveStore(section, problems.fileOf('store'))
}

/**
 * The names of models, from a config that may be invalid elsewhere.
 *
 * @throws ConfigError when the file cannot be read or a model is invalid
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
 * The names of providers, from a config that may be invalid elsewhere and whose secrets need not be set.
 *
 * @throws ConfigError when the file cannot be read
 */
export function loadProviderNames(file: string): readonly string[] {
  const { providers } = readWritten(file).written
  return Object.keys(isMapping(providers) ? providers : {})
}

function readSection<K extends ConfigKey>(
  file: string,
  key: K,
  env: Environment,
): { readonly section: Settings[K]; readonly problems: Problems } {
  const { problems, written } = readWritten(file)
  const { value } = resolveVariables({ [key]: written[key] }, env, problems)
  const section = problems.parse(configSchema.shape[key] as ZodType, value[key], [key])
  problems.throwIfAny()
  return { section: section as Settings[K], problems }
}

/** The merged config, not validated. */
function readWritten(file: string): { problems: Problems; written: Readonly<Record<string, unknown>> } {
  const problems = new Problems(resolve(file))
  problems.layers = readLayers(problems.file, problems)
  const written = mergeLayers(problems.layers)
  return { problems, written: isMapping(written) ? written : {} }
}

/** The path of a SQLite file is relative to the config file that has it. */
export function resolveStore(store: string, file: string): Config['store'] {
  if (!store.startsWith('sqlite:')) return { kind: 'postgres', url: store }
  return { kind: 'sqlite', file: resolve(dirname(file), store.slice('sqlite:'.length)) }
}
