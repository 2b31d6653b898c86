import type { Command } from 'commander'
import { readCertificate } from '../listener/certificate.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { findConfig } from '../config/find-config.ts'
import { loadConfig } from '../config/load-config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import type { CliContext } from './context.ts'
import { versionlessNotices } from '../config/versionless-bases.ts'
import { priceNotices } from './price-notices.ts'

/**
 * Says what is wrong with the configuration, the pipeline and the shop's key included. It opens no store, and asks
 * nobody but the payment provider.
 */
export function addCheckCommand(program: Command, context: CliContext): void {
  const { stdout } = context
  addCommand(program, 'check', 'say whether the configuration is in order, and what is not').action(
    async (options: SharedOptions) => {
      const file = findConfig(options.config)
      try {
        const plugins = await context.loadPlugins()
        const read = loadConfig(file, { plugins })
        const { config, notices } = read
        await checkPlugins(config, plugins)
        readCertificate(config)
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
        stdout.write(
          options.json === true ? `${JSON.stringify({ ok: false, problems })}\n` : `${error.message}\n`,
        )
        throw new CommandError(
          `${problems.length === 1 ? '1 problem' : `${problems.length} problems`} in ${file}`,
        )
      }
    },
  )
}

/** @throws ConfigError when a start would fail by the plugins' order */
async function checkPlugins(config: Config, plugins: PluginRegistry): Promise<void> {
  const [{ checkPipeline }, { PipelineOrderError }] = await Promise.all([
    import('../gateway/check-pipeline.ts'),
    import('../pipeline/check-order.ts'),
  ])
  try {
    await checkPipeline(config, plugins)
  } catch (error) {
    if (!(error instanceof PipelineOrderError)) throw error
    throw new ConfigError([{ file: config.file, path: 'plugins', message: error.message }])
  }
}

/**
 * Asks the payment provider whether it knows the shop; what it does not answer is only noted.
 * @throws ConfigError when it refuses the shop's id or key
 */
async function checkPayments({ payments, file }: Config): Promise<readonly string[]> {
  if (payments?.yookassa === undefined) return []
  const [{ checkShop }, { yookassaClient }] = await Promise.all([
    import('../payments/check-shop.ts'),
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
    ...overridden.map(({ path, file }) => `  instead    ${path}, which ${file} says too`),
    ...notices.map(notice => `  note       ${notice}`),
  ]
  return `${lines.join('\n')}\n`
}

function summaryJson({ config, notices, overridden }: LoadedConfig): string {
  return `${JSON.stringify({ ok: true, file: config.file, notices, overridden })}\n`
}
