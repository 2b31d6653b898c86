import { dirname, resolve, sep } from 'node:path'
import type { AccountAreaConfig, Config, Listen, AlarmsConfig } from './config.ts'
import { Problems } from './problems.ts'
import { buildModels } from './build-models.ts'
import { buildPlugins, type KnownPlugins } from './build-plugins.ts'
import { buildProviders } from './build-providers.ts'
import { buildRates } from './pricing-schema.ts'
import { buildSeller } from './build-seller.ts'
import { trialPayments } from './payments-schema.ts'
import { resolveVariables, type Environment } from './environment.ts'
import {
  mergeLayers,
  readLayers,
  overriddenSettings,
  withoutPassedOver,
  type Layer,
  type Overridden,
  type ConfigUse,
} from './layers.ts'
import { anyPricing, resolveStore } from './load-section.ts'
import { readProblem } from '../platform/file-problem.ts'
import { nearest } from '../platform/nearest.ts'
import { mixedPrices, ownModels, priceOrigins, type MixedPrice, type PriceOrigin } from './mixed-prices.ts'
import { checkWhole } from './check-whole.ts'
import { configSchema, type ConfigKey, type Settings } from './schema.ts'
import { isMapping } from './config-error.ts'

/**
 * The account area with absolute paths of its legal texts; relative paths start at the folder of the file that has
 * them.
 */
function withLegalTexts(settings: AccountAreaConfig, file: string, problems: Problems): AccountAreaConfig {
  const { offer, personalData } = settings.documents
  const found = Object.entries({ offer, personalData }).flatMap(([kind, document]) => {
    if (document === undefined) return []
    const [ru, en] = (['ru', 'en'] as const).map(language => {
      const path = resolve(dirname(file), document[language])
      const problem = readProblem(path)
      if (problem !== undefined) problems.add(['accountArea', 'documents', kind, language], problem.words)
      return path
    })
    return [[kind, { ...document, ru, en }]]
  })
  return { ...settings, documents: Object.fromEntries(found) as AccountAreaConfig['documents'] }
}

/** Options for reading a config; the environment defaults to that of the process. */
export interface LoadConfigOptions {
  readonly env?: Environment
  /** The shipped plugins with the schemas of their options; absent: the list of plugins is not checked. */
  readonly plugins?: KnownPlugins
  /** Texts that replace the content of files, by absolute path: to validate a config before it is written. */
  readonly instead?: ReadonlyMap<string, string>
  /** A use other than serving: sections that it does not need are skipped, and their secrets need not be set. */
  readonly use?: ConfigUse | undefined
}

/** A valid config. */
export interface LoadedConfig {
  readonly config: Config
  /** The files it was read from, the main file last. */
  readonly files: readonly string[]
  /** Remarks for the operator that are not errors, such as a provider that is off. */
  readonly notices: readonly string[]
  /** Settings of included files that the main file overrides. */
  readonly overridden: readonly Overridden[]
  /** Prices that are combined from several files. */
  readonly mixedPrices: readonly MixedPrice[]
  /** Models that are set in files other than price lists. */
  readonly ownModels: ReadonlySet<string>
  readonly priceOrigins: ReadonlyMap<string, PriceOrigin>
}

/** Sections that are parsed entry by entry, so that one invalid entry does not hide the others. */
const builtApart = new Set<ConfigKey>(['providers', 'models', 'plugins', 'include'])

/** Freezes a value deeply. Maps throw on changes; a URL's own setters cannot be frozen. */
function deepFreeze<T>(value: T): T {
  freezeInto(value, new Set())
  return value
}

/** A frozen value may contain unfrozen ones, so only visited values are skipped. */
function freezeInto(value: unknown, visited: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || visited.has(value)) return
  visited.add(value)
  if (value instanceof Map) {
    for (const item of value.values()) freezeInto(item, visited)
    Object.defineProperties(value, { set: refusal, delete: refusal, clear: refusal })
  } else {
    for (const item of Object.values(value)) freezeInto(item, visited)
  }
  Object.freeze(value)
}

const refusal: PropertyDescriptor = {
  value() {
    throw new TypeError('the configuration is frozen')
  },
}

/** Builds `alarms`: emails need a mail server, and webhooks an egress route. */
function buildAlarms(
  { email, webhooks, except }: NonNullable<Settings['alarms']>,
  { accountArea, egress }: Pick<Settings, 'accountArea' | 'egress'>,
  problems: Problems,
): AlarmsConfig {
  const mail = email?.mail ?? accountArea?.mail
  if (email !== undefined && mail === undefined)
    problems.add(['alarms', 'email'], 'needs a mail server: write mail beside to, or accountArea.mail')
  const ways = ['direct', ...egress.keys()]
  for (const [name, webhook] of Object.entries(webhooks)) {
    if (webhook.egress === undefined || ways.includes(webhook.egress)) continue
    problems.addUnknown(['alarms', 'webhooks', name, 'egress'], 'egress', webhook.egress, ways)
  }
  return { ...(email && mail && { email: { to: email.to, mail } }), webhooks, except }
}

/**
 * Reads a config file with all it includes, checks it, and freezes it.
 *
 * @throws ConfigError with everything that is wrong
 */
export function loadConfig(file: string, options: LoadConfigOptions = {}): LoadedConfig {
  const main = resolve(file)
  const problems = new Problems(main)
  const off: string[] = []
  problems.layers = readLayers(main, problems, options.instead)
  problems.throwIfAny()

  const written = mergeLayers(problems.layers)
  const merged = options.use === undefined ? written : withoutPassedOver(written, options.use)
  const { value, missingVariables } = resolveVariables(merged, options.env ?? process.env, problems)
  const settings = parseSettings(value, problems)
  const egressNames = Object.keys(isMapping(value['egress']) ? value['egress'] : {})
  const context = { problems, off, egressNames, missingVariables, asWritten: merged['providers'] }
  const providers = buildProviders(value['providers'], context)
  const providerNames = Object.keys(isMapping(value['providers']) ? value['providers'] : {})
  const pricing = settings.prices ?? anyPricing
  const models = buildModels(value['models'], { providerNames, providers, pricing, problems })
  const plugins = buildPlugins(value['plugins'], options.plugins, problems.fileOf('plugins'), problems)
  checkDefaultProviders(settings, providers, providerNames, problems)
  const tls =
    settings.tls === null
      ? undefined
      : settings.tls && resolveTls(settings.tls, problems.fileOf('tls'), problems)
  problems.throwIfAny()

  const whole = settings as Settings
  const { publicUrl, accountArea, alarms, store, payments: _, seller, prices, tls: __, ...asRead } = whole
  const sold = seller && buildSeller(seller, problems.fileOf('seller'), problems)
  const config: Config = {
    ...asRead,
    file: main,
    publicUrl: publicUrl ?? ownUrl(asRead.listen, tls !== undefined),
    ...(accountArea && {
      accountArea: withLegalTexts(accountArea, problems.fileOf('accountArea'), problems),
    }),
    ...(alarms && { alarms: buildAlarms(alarms, whole, problems) }),
    store: resolveStore(store, problems.fileOf('store')),
    plugins,
    providers,
    ...models,
    ...paidBy(whole, providers, problems),
    ...(sold !== undefined && { seller: sold.seller }),
    ...buildRates(prices, models),
    tls,
  }
  checkWhole(config, problems)
  const notices = off.length === 0 ? [] : [`providers without a key are off: ${off.join(', ')}`]
  notices.push(...placeNotices(providers), ...(sold?.notices ?? []), ...passingStore(config.store))
  return deepFreeze({ config, notices, ...readFrom(problems.layers) })
}

/** Keys that are written in the config without a name, where there are several: their order must not change. */
function placeNotices(providers: Config['providers']): readonly string[] {
  return [...providers.values()].flatMap(({ credentials }) => {
    const placed = credentials.map(({ name }) => name).filter(name => /#\d+$/.test(name))
    if (credentials.length < 2 || placed.length === 0) return []
    return `${placed.join(', ')}: known only by their places; add others after them, or give each a name`
  })
}

/** What the layers say about the config: files, overrides and origins of prices. */
function readFrom(layers: readonly Layer[]): Omit<LoadedConfig, 'config' | 'notices'> {
  return {
    files: layers.map(({ file }) => file),
    overridden: overriddenSettings(layers),
    mixedPrices: mixedPrices(layers),
    ownModels: ownModels(layers),
    priceOrigins: priceOrigins(layers),
  }
}

function parseSettings(value: Readonly<Record<string, unknown>>, problems: Problems): Partial<Settings> {
  const { shape } = configSchema
  const keys = Object.keys(shape) as ConfigKey[]
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(shape, key)) problems.add([key], 'unknown key', nearest(key, keys))
  }
  const settings: Record<string, unknown> = {}
  for (const key of keys) {
    if (builtApart.has(key)) {
      if (key !== 'plugins' && value[key] !== undefined && !isMapping(value[key]))
        problems.add([key], 'must be a map')
      continue
    }
    settings[key] = problems.parse(shape[key], value[key], [key])
  }
  return settings
}

function checkDefaultProviders(
  settings: Partial<Settings>,
  providers: Config['providers'],
  providerNames: readonly string[],
  problems: Problems,
): void {
  for (const [dialect, name] of Object.entries(settings.defaultProvider ?? {})) {
    if (name === undefined) continue
    const path = ['defaultProvider', dialect]
    const provider = providers.get(name)
    if (!providerNames.includes(name)) problems.addUnknown(path, 'provider', name, providerNames)
    else if (provider !== undefined && !Object.hasOwn(provider.dialects, dialect)) {
      problems.add(path, `provider "${name}" has no ${dialect} dialect`)
    }
  }
}

function resolveTls(tls: NonNullable<Settings['tls']>, file: string, problems: Problems): Config['tls'] {
  const resolved = { cert: resolve(dirname(file), tls.cert), key: resolve(dirname(file), tls.key) }
  for (const part of ['cert', 'key'] as const) {
    const problem = readProblem(resolved[part])
    if (problem !== undefined) problems.add(['tls', part], problem.words)
  }
  return resolved
}

/** How customers pay: without the section and without a real provider's models on sale, through the sandbox. */
function paidBy(
  { payments, accountArea }: Settings,
  providers: Config['providers'],
  problems: Problems,
): Pick<Config, 'payments'> {
  const isTrial = [...providers.values()].every(provider => provider.isOff || provider.kind === 'sandbox')
  const said = payments === undefined && isTrial && accountArea !== undefined ? trialPayments : payments
  if (said?.provider === 'sandbox' && !isTrial) {
    problems.add(
      ['payments', 'provider'],
      'is sandbox while models of a real provider are sold: nobody would pay for them; write yookassa',
    )
  }
  return said ? { payments: said } : {}
}

/** A store in the folder of an installed package is deleted when the next release is installed. */
function passingStore(store: Config['store']): string[] {
  if (store.kind !== 'sqlite' || !store.file.split(sep).includes('node_modules')) return []
  return [
    `the store is ${store.file}, which the next install deletes: copy the folder of the configuration to a ` +
      'place of your own and name it by --config or GATEWAY_CONFIG',
  ]
}

function ownUrl({ host, port }: Listen, isTls: boolean): URL {
  return new URL(`${isTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`)
}
