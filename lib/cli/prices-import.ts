import { readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import { actionStep } from '../administration/operator-log.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import { isLoopback } from '../config/scalars.ts'
import { withRates } from '../config/pricing-schema.ts'
import type { ModelCost, PriceOf } from '../ledger/reports.ts'
import { formatRoubles } from '../money/amount.ts'
import { priceInForce } from '../money/price.ts'
import { systemClock, zonedTime } from '../platform/clock.ts'
import { UnwritableError, writeAtomically } from '../platform/write-atomically.ts'
import { changePercent } from '../prices/rate-book.ts'
import { importedPrices, planImport } from '../prices/plan-import.ts'
import type { ImportedFiles, ImportPlan, PriceChange } from '../prices/plan-import.ts'
import { PriceListError, readPriceList, type PriceList } from '../prices/read-price-list.ts'
import { download } from '../upstream/outside-call.ts'
import { answer, addCommand, CommandError, UsageError, formatTable } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { modelList, operatorName, time } from './arguments.ts'
import { openConfig, openPriceConfig } from './open-config.ts'
import { readStore, withRecords, knownRates, hasStore } from './with-store.ts'
import { fileProblem } from '../platform/file-problem.ts'

interface ImportOptions extends SharedOptions {
  readonly from: string
  readonly at?: string
  readonly accept?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** The file that @pydantic/genai-prices publishes between releases. */
const publishedList =
  'https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json'
const listBytesMax = 64 * 1024 * 1024
const listMs = 60_000
const effectMs = 30 * 86_400_000
const namedMax = 10

/**
 * `prices import`: reads list prices in dollars from a published list. Shows what changes and the effect on the usage
 * of the last 30 days, then writes `prices.json` beside the configuration and includes it there.
 */
export function addPricesImport(prices: Command, context: CliContext): void {
  const { stdout, stderr } = context
  addCommand(
    prices,
    'import',
    'take list prices in dollars from a published list, after showing what changes',
  )
    .option('--from <file|url>', 'the list: of genai-prices, LiteLLM or models.dev', publishedList)
    .option('--at <time>', 'when the new prices hold: an ISO date or time; now unless said')
    .option('--accept <models>', 'models whose prices may change by more than ten times, separated by commas')
    .option('--dry-run', 'show what changes, and write nothing')
    .option('--yes', 'do not ask')
    .action(async (options: ImportOptions) => {
      const loaded = isUrl(options.from) ? openConfig(options) : openPriceConfig(options)
      const { timeZone } = loaded.config
      const at = options.at === undefined ? systemClock.now() : time('--at', options.at, timeZone)
      const accepted = new Set(options.accept === undefined ? [] : modelList('--accept', options.accept))
      const { plan, list, files } = await prepare(options, loaded, { at, accepted })
      const costs = await effectOf(options, loaded, files, at)
      answer(
        stdout,
        options,
        plan.changes.map(change => changeJson(change, costs)),
        report(plan, costs, timeZone),
      )
      for (const line of remarks(plan)) stderr.write(`${line}\n`)
      if (plan.changes.length === 0 || options.dryRun === true) return
      const isAsked = options.yes !== true && context.ask !== undefined
      if (isAsked && (await context.ask?.('Write these prices?')) !== true)
        throw new CommandError('nothing was changed')
      writeFiles(files, loaded.config.file)
      stderr.write(`wrote ${[...files.keys()].join(' and ')}\n`)
      await note(options, loaded.config, `${list.source}, ${options.from}: ${modelCount(plan)} models`)
      stderr.write(`${await reloadServer(loaded.config)}\n`)
    })
}

/** @throws CommandError when a file cannot be written; then no file is changed */
function writeFiles(files: ImportedFiles, configFile: string): void {
  try {
    writeAtomically(files, configFile)
  } catch (error) {
    if (error instanceof UnwritableError) throw new CommandError(error.message)
    throw error
  }
}

function modelCount({ entries }: ImportPlan): number {
  return entries.size
}

interface Prepared {
  readonly plan: ImportPlan
  readonly list: PriceList
  readonly files: ImportedFiles
}

/** Writes nothing. @throws CommandError when the list cannot be read or must not be used */
async function prepare(
  { from }: ImportOptions,
  { config, files, priceOrigins: origins }: LoadedConfig,
  { at, accepted }: { readonly at: number; readonly accepted: ReadonlySet<string> },
): Promise<Prepared> {
  try {
    const list = readPriceList(await readList(from, config))
    const plan = planImport({ config, origins, list, at, accepted })
    if (plan.changes.length === 0) return { plan, list, files: new Map() }
    const day = new Date(systemClock.now()).toISOString().slice(0, 10)
    const comment = `List prices, by gateway prices import. The last list: ${list.source}, ${from}, read on ${day}.`
    return { plan, list, files: importedPrices(plan, { configFile: config.file, files, comment }) }
  } catch (error) {
    if (error instanceof PriceListError) throw new CommandError(`${from} ${error.message}`)
    throw error
  }
}

async function readList(from: string, config: Config): Promise<string> {
  if (!isUrl(from)) return readListFile(from)
  const url = URL.canParse(from) ? new URL(from) : undefined
  if (url === undefined || (url.protocol === 'http:' && !isLoopback(url)))
    throw new UsageError(`--from: "${from}" must be https: whoever changes a list on its way changes prices`)
  const { rates } = config
  try {
    const body = await download(url, {
      config,
      egress: rates?.egress,
      timeoutMs: listMs,
      bytesMax: listBytesMax,
    })
    return body.toString('utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`${from} cannot be read: ${reason}; a list in a file does as well: --from FILE`)
  }
}

/** A download may go through an egress route, which then needs its secret. */
function isUrl(from: string): boolean {
  return /^https?:/i.test(from)
}

function readListFile(file: string): string {
  try {
    if (statSync(file).size > listBytesMax) throw new CommandError(`${file} is too long for a price list`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${file} cannot be read: ${fileProblem(error)}`)
  }
}

/** The costs of the last 30 days, compared with the prices that will be in force when the new ones take effect. */
async function effectOf(
  options: ImportOptions,
  { config }: LoadedConfig,
  files: ImportedFiles,
  at: number,
): Promise<readonly ModelCost[]> {
  if (files.size === 0) return []
  const changed = withFiles(config.file, files)
  if (!hasStore(config)) return []
  const rates = await knownRates(options, config)
  const priceAt = (one: Config): PriceOf => {
    const rated = withRates(one, rates)
    const patterns = new Map(rated.modelPatterns.map(pattern => [pattern.name, pattern]))
    const moment = Math.max(at, systemClock.now())
    return model => priceInForce((rated.models.get(model) ?? patterns.get(model))?.prices ?? [], moment)
  }
  const prices = { before: priceAt(config), after: priceAt(changed) }
  const costs = await readStore(options, reports => reports.reprice(systemClock.now() - effectMs, prices))
  return costs.filter(({ model }) => prices.before(model)?.hash !== prices.after(model)?.hash)
}

/** The configuration as it will be. @throws CommandError when it would be invalid */
function withFiles(file: string, instead: ImportedFiles): Config {
  try {
    return loadConfig(file, { instead, use: 'prices' }).config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new CommandError(`with these prices the configuration would be wrong:\n${error.message}`)
  }
}

async function note(options: ImportOptions, config: Config, reason: string): Promise<void> {
  if (!hasStore(config)) return
  await withRecords(options, (records, at) => {
    const action = { operator: operatorName(), action: 'import-prices', accountId: '', reason, at } as const
    return records.write([actionStep(records, action)])
  })
}

/** Reloads the running gateway; returns the result as a sentence. */
async function reloadServer({ store }: Config): Promise<string> {
  if (store.kind === 'postgres') return 'send SIGHUP to each gateway, or restart it: then the prices hold'
  const { ControlClient, ControlUnreachableError } = await import('../control/control-client.ts')
  const { socketPath } = await import('../control/socket-path.ts')
  try {
    const problems = await new ControlClient(socketPath(store.file)).reload()
    return problems.length === 0
      ? 'the running gateway has read its configuration again'
      : `the running gateway did not apply its configuration: ${problems.join('; ')}`
  } catch (error) {
    if (error instanceof ControlUnreachableError)
      return 'no gateway runs on this store: the next start has the prices'
    throw error
  }
}

function changeJson(change: PriceChange, costs: readonly ModelCost[]): object {
  const cost = costs.find(({ model }) => model === change.model)
  return {
    ...change,
    last30Days:
      cost === undefined
        ? null
        : { before: formatRoubles(cost.beforeMicros), after: formatRoubles(cost.afterMicros) },
  }
}

function report({ changes }: ImportPlan, costs: readonly ModelCost[], zone: string): string {
  if (changes.length === 0) return 'the list changes no price\n'
  const rows = changes.map(({ model, meter, unit, before, after, from }) => ({
    model,
    meter: unit === 'one' ? `${meter}, each` : meter,
    before: before ?? '',
    after,
    change: before === null || /^0(?:\.0*)?$/.test(before) ? 'new' : `${changePercent(before, after)} %`,
    from: zonedTime(Date.parse(from), zone),
  }))
  return `${formatTable(rows, ['before', 'after', 'change'])}Dollars of list price, for a million units where it does not say each.\n${effect(costs)}`
}

function effect(costs: readonly ModelCost[]): string {
  if (costs.length === 0) return 'In the last 30 days none of these models was used.\n'
  const sum = (of: (cost: ModelCost) => number): number => costs.reduce((total, cost) => total + of(cost), 0)
  const [before, after] = [sum(cost => cost.beforeMicros), sum(cost => cost.afterMicros)].map(formatRoubles)
  const rows = costs.map(({ model, lines, beforeMicros, afterMicros }) => ({
    model,
    requests: String(lines),
    before: formatRoubles(beforeMicros),
    after: formatRoubles(afterMicros),
  }))
  return (
    `\n${formatTable(rows, ['requests', 'before', 'after'])}The use of the last 30 days, in roubles at today's prices and at the new ones: ` +
    `${before} and ${after} in all.\n`
  )
}

function remarks({ own, absent }: ImportPlan): readonly string[] {
  const named = (models: readonly string[]): string =>
    models.slice(0, namedMax).join(', ') +
    (models.length > namedMax ? ` and ${models.length - namedMax} more` : '')
  return [
    ...(own.length === 0 ? [] : [`left as your files set them: ${named(own)}`]),
    ...(absent.length === 0 ? [] : [`not in the list, and left as they are: ${named(absent)}`]),
  ]
}
