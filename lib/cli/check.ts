import type { Command } from 'commander'
import { readCertificate } from '../listener/certificate.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config, ModelConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { findConfig } from '../config/environment.ts'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'
import { answer, CommandError, countOf, type SharedOptions, type CliContext } from './command.ts'
import { versionlessNotices } from '../config/versionless-bases.ts'
import { withRates } from '../config/pricing-schema.ts'
import { cheaperNames } from '../models/cheaper-names.ts'
import { priceInForce, type Price } from '../money/price.ts'
import { isServed } from './open-config.ts'

/** A notice names at most this many models and counts the rest. */
const namedMax = 20
/** The rate in the shipped configuration; the real rate was never this. */
const exampleRate = '100'

/**
 * Notices about prices that are missing, not yet valid, or possibly unintended: models whose requests are refused,
 * usage that is free of charge, and prices that only come from an example or a default. Empty where nothing is
 * charged.
 */
function priceNotices(
  { config, mixedPrices, ownModels }: Pick<LoadedConfig, 'config' | 'mixedPrices' | 'ownModels'>,
  now: number,
): readonly string[] {
  if (config.unmetered) return []
  // The Central Bank's rate is read neither from the store nor from the network: missing and lower prices show at any
  // rate.
  const rated = withRates(config, [{ usdRub: exampleRate }])
  const served = [...rated.models.values(), ...rated.modelPatterns].filter(model => isServed(config, model))
  return [
    ...unpricedNotices(served, now),
    ...exampleNotices(served),
    ...cheaperNotices(
      cheaperNames(rated, served, now).filter(
        ({ name, model }) => ownModels.has(name) || ownModels.has(model),
      ),
    ),
    ...mixedNotices(mixedPrices, new Set(served.map(({ name }) => name))),
  ]
}

function unpricedNotices(served: readonly ModelConfig[], now: number): readonly string[] {
  const named = (is: (price: Price | undefined) => boolean): string | undefined =>
    listed(served.filter(({ prices }) => is(priceInForce(prices, now))).map(({ name }) => name))
  const unpriced = named(price => price === undefined || isEmpty(price))
  const halfPriced = named(price => price !== undefined && !isEmpty(price) && isInputFree(price))
  return [
    ...(unpriced === undefined
      ? []
      : [`models without a price are refused where they would cost: ${unpriced}`]),
    ...(halfPriced === undefined
      ? []
      : [`models with a price for output tokens and none for input, which is free then: ${halfPriced}`]),
  ]
}

function exampleNotices(served: readonly ModelConfig[]): readonly string[] {
  const models = listed(served.filter(({ list }) => list?.usdRub === exampleRate).map(({ name }) => name))
  if (models === undefined) return []
  return [
    `models priced by the example rate of ${exampleRate} roubles for a dollar; set prices.usdRub: ${models}`,
  ]
}

/** Price lists deliberately have names that cost less than the model whose name they begin with. */
function cheaperNotices(cheaper: ReturnType<typeof cheaperNames>): readonly string[] {
  return cheaper.map(({ name, model, meters }) => {
    const differences = meters.map(
      ({ meter, rub, modelRub }) => `${meter} ${rub ?? 'nothing'} instead of ${modelRub}`,
    )
    return (
      `"${name}" is sold for less than its model "${model}" (${differences.join(', ')}): ` +
      `write like: ${model} to sell it at the same price`
    )
  })
}

function mixedNotices(mixed: LoadedConfig['mixedPrices'], served: ReadonlySet<string>): readonly string[] {
  return mixed
    .filter(({ model }) => served.has(model))
    .flatMap(({ model, inherited, lacking }) => [
      ...[...Map.groupBy(inherited, ({ file }) => file)].map(
        ([file, meters]) =>
          `the price of "${model}" has meters from ${file} that your file does not set: ` +
          meters.map(({ meter }) => meter).join(', '),
      ),
      ...(lacking.length === 0
        ? []
        : [
            `the price of "${model}" in roubles lacks meters of its list price, which are then not charged: ` +
              lacking.join(', '),
          ]),
    ])
}

function isEmpty({ rubPerMillion, rubPerUnit }: Price): boolean {
  return Object.keys(rubPerMillion).length === 0 && Object.keys(rubPerUnit).length === 0
}

/** A price per unit often makes the prompt free on purpose. */
function isInputFree({ rubPerMillion, rubPerUnit }: Price): boolean {
  const { input, output } = rubPerMillion
  return output !== undefined && input === undefined && Object.keys(rubPerUnit).length === 0
}

function listed(models: readonly string[]): string | undefined {
  if (models.length === 0) return undefined
  const others = models.length > namedMax ? ` and ${models.length - namedMax} more` : ''
  return `${models.slice(0, namedMax).join(', ')}${others}`
}

/**
 * Reports errors in the configuration, the pipeline, the store's location and the shop's key. It creates no store and
 * contacts only the database and the payment provider.
 */
export function fillCheck(check: Command, context: CliContext): void {
  const { stdout } = context
  check.action(async (options: SharedOptions) => {
    const file = findConfig(options.config)
    try {
      const plugins = await context.loadPlugins()
      const read = loadConfig(file, { plugins })
      const { config, notices } = read
      await checkPlugins(config, plugins)
      readCertificate(config)
      await checkPlace(config)
      const found = [
        ...notices,
        ...versionlessNotices(config),
        ...priceNotices(read, systemClock.now()),
        ...(await checkPayments(config)),
      ]
      const loaded = { ...read, notices: found }
      stdout.write(options.json === true ? summaryJson(loaded) : summary(loaded))
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const { problems } = error
      answer(stdout, options, { ok: false, problems }, `${error.message}\n`)
      throw new CommandError(`${countOf(problems.length, 'problem')} in ${file}`)
    }
  })
}

/** @throws ConfigError when the order of plugins would make a start fail */
async function checkPlugins(config: Config, plugins: PluginRegistry): Promise<void> {
  const [{ checkPipeline }, { PipelineOrderError }] = await Promise.all([
    import('../gateway/check-pipeline.ts'),
    import('../pipeline/pipeline.ts'),
  ])
  try {
    await checkPipeline(config, plugins)
  } catch (error) {
    if (!(error instanceof PipelineOrderError)) throw error
    throw new ConfigError([{ file: config.file, path: 'plugins', message: error.message }])
  }
}

/** @throws ConfigError when a start could neither open nor create the store */
async function checkPlace({ store, file }: Config): Promise<void> {
  const [{ checkStore }, { StoreError }] = await Promise.all([
    import('../stores/open-store.ts'),
    import('../stores/shared/store-queries.ts'),
  ])
  try {
    await checkStore(store)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new ConfigError([{ file, path: 'store', message: error.message }])
  }
}

/**
 * Asks the payment provider whether it accepts the shop's key; when the provider is unreachable this is only a
 * notice.
 * @throws ConfigError when it rejects the shop's id or key
 */
async function checkPayments({ payments, file }: Config): Promise<readonly string[]> {
  if (payments?.yookassa === undefined) return []
  const [{ checkShop }, { yookassaClient }] = await Promise.all([
    import('../payments/payment-provider.ts'),
    import('../payments/yookassa/yookassa-client.ts'),
  ])
  const { provider: name, yookassa } = payments
  const provider = yookassaClient({ name, clock: systemClock, ...yookassa, retriesMs: [], timeoutMs: 5000 })
  try {
    const { state, error } = await checkShop(provider, systemClock.now())
    if (state === 'known') return []
    if (state === 'unreachable') return [`payments: the shop's key was not checked: ${error?.message ?? ''}`]
    const message = `is refused by ${yookassa.baseUrl.host} for the shop ${yookassa.shopId}: take shopId and secretKey from the merchant profile`
    throw new ConfigError([{ file, path: 'payments.yookassa.secretKey', message }])
  } finally {
    await provider.close()
  }
}

function summary({ config, notices, overridden }: LoadedConfig): string {
  const off = [...config.providers.values()].filter(provider => provider.isOff).length
  const modelCount = config.models.size + config.modelPatterns.length
  const lines = [
    `${config.file} is in order`,
    `  providers  ${config.providers.size - off} on, ${off} off`,
    `  models     ${modelCount} and ${config.aliases.size} aliases`,
    `  plugins    ${config.plugins.map(plugin => plugin.name).join(' > ')}`,
    `  store      ${config.store.kind === 'sqlite' ? config.store.file : 'PostgreSQL'}`,
    ...overridden.map(({ path, file }) => `  overrides  ${path} of ${file}`),
    ...notices.map(notice => `  note       ${notice}`),
  ]
  return `${lines.join('\n')}\n`
}

function summaryJson({ config, notices, overridden }: LoadedConfig): string {
  return `${JSON.stringify({ ok: true, file: config.file, notices, overridden })}\n`
}
