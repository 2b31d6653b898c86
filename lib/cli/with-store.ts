import type { Accounts } from '../accounts/accounts.ts'
import { systemClock } from '../platform/clock.ts'
import { readProblem } from '../platform/file-problem.ts'
import { CommandError, type SharedOptions } from './command.ts'
import { openHouseConfig, openPriceConfig, openRiskRule, openStoreSetting } from './open-config.ts'
import { withRates } from '../config/pricing-schema.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { DatedRate } from '../money/pricing.ts'
import { alarmSentences } from '../pipeline/alarm-sentences.ts'
import type { RaiseAlarm } from '../pipeline/alarm-codes.ts'
import type { Config } from '../config/config.ts'
import type { PaymentActions } from '../payments/payment-actions.ts'
import type { Reports } from '../ledger/reports.ts'
import type { Seller } from '../companies/seller.ts'
import { DocumentError } from '../documents/document.ts'
import { StatementError } from '../statements/statement.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'

/** Makes a change through the running server, or under the store's lock when no server runs. */
export async function changeAccounts<T>(
  options: SharedOptions,
  change: (accounts: Accounts) => Promise<T>,
): Promise<T> {
  const connection = await connectTo(options)
  try {
    return await change(connection.accounts)
  } finally {
    await connection.close()
  }
}

/** Connects to accounts, with the configuration's rules for them. */
async function connectTo(options: SharedOptions) {
  const { connectAccounts } = await import('../control/connect-accounts.ts')
  const { createLog } = await import('../observability/log.ts')
  const log = createLog({ level: 'warn' })
  const rule = openRiskRule(options)
  return connectAccounts(openStoreSetting(options), { clock: systemClock, log, riskRule: () => rule })
}

/** Changes payments through the running server, or under the store's lock when no server runs. */
export async function changePayments<T>(
  options: SharedOptions,
  change: (payments: PaymentActions) => Promise<T>,
): Promise<T> {
  const { isListening, ControlClient } = await import('../control/control-client.ts')
  const { socketPath } = await import('../control/socket-path.ts')
  const setting = openStoreSetting(options)
  if (setting.kind === 'sqlite' && (await isListening(socketPath(setting.file))))
    return change(new ControlClient(socketPath(setting.file)))
  // No running server has the secrets of the payment provider.
  const config = openHouseConfig(options)
  if (config.payments?.provider !== 'yookassa') {
    throw new CommandError(
      config.payments === undefined
        ? 'no payment provider is set up: see payments in the configuration'
        : 'the payment sandbox runs with the server: start gateway serve first',
    )
  }
  return changeDirectly(config, change)
}

async function changeDirectly<T>(
  config: Config,
  change: (payments: PaymentActions) => Promise<T>,
): Promise<T> {
  const [{ openStore }, { openPayments }, { createLog }, { AlarmBook }] = await Promise.all([
    import('../stores/open-store.ts'),
    import('../payments/open-payments.ts'),
    import('../observability/log.ts'),
    import('../alarms/alarm-book.ts'),
  ])
  const log = createLog({ level: 'warn' })
  const store = await openStore(config, { clock: systemClock, log })
  const alarms = new AlarmBook({ records: () => store.records(), clock: systemClock, log })
  const alarm: RaiseAlarm = (code, details) => {
    log.warn({ alarm: code, ...details }, alarmSentences[code])
    alarms.note(code, { ...details })
  }
  try {
    const payments = await openPayments({ config, store, clock: systemClock, log, alarm })
    if (payments === undefined)
      throw new CommandError('no payment provider is set up: see payments in the configuration')
    payments.setSite(config.accountArea?.publicUrl ?? config.publicUrl)
    try {
      return await change(payments.actions)
    } finally {
      await payments.close()
    }
  } finally {
    await alarms.close()
    await store.close()
  }
}

/** Reads the store, whether or not a server runs. */
export async function readStore<T>(
  options: SharedOptions,
  read: (reports: Reports) => Promise<T>,
): Promise<T> {
  const { openReports } = await import('../stores/open-store.ts')
  const risk = openRiskRule(options)
  const reports = await openReports(openStoreSetting(options), systemClock, { riskRule: () => risk })
  try {
    return await read(reports)
  } finally {
    await reports.close()
  }
}

/** @throws CommandError when the account does not exist */
export function found<T>(value: T | undefined, accountId: string): T {
  if (value !== undefined) return value
  throw new CommandError(`there is no account ${accountId}: gateway account list shows them all`)
}

/** Checks the account of a filter, if one is given. @throws CommandError when it does not exist */
export async function checkAccount(records: RecordReader, id: string | undefined): Promise<void> {
  if (id === undefined) return
  const rows = await records.all(records.build.selectFrom('accounts').select('id').where('id', '=', id))
  found(rows[0], id)
}

/** @throws CommandError when the key does not exist */
export async function checkKey(records: RecordReader, id: string): Promise<void> {
  const [key] = await records.all(records.build.selectFrom('keys').select('id').where('id', '=', id))
  if (key === undefined) throw new CommandError(`there is no key ${id}: gateway key list --all shows them`)
}

/** Changes business rows through the running server, or under the store's lock when no server runs. */
export async function withRecords<T>(
  options: SharedOptions,
  work: (records: Records, now: number, accounts: Accounts) => Promise<T>,
): Promise<T> {
  const connection = await connectTo(options)
  try {
    return await work(await connection.records(), systemClock.now(), connection.accounts)
  } catch (error) {
    if (!(error instanceof DocumentError || error instanceof StatementError)) throw error
    throw new CommandError(error.message)
  } finally {
    await connection.close()
  }
}

/** Reads business rows, whether or not a server runs. */
export async function readRecords<T>(
  options: SharedOptions,
  read: (records: RecordReader) => Promise<T>,
): Promise<T> {
  const { openRecordReader } = await import('../stores/open-store.ts')
  const records = await openRecordReader(openStoreSetting(options))
  try {
    return await read(records)
  } finally {
    await records.close()
  }
}

/** @throws CommandError when the configuration names no seller */
export function requiredSeller(options: SharedOptions): Seller {
  const { seller } = openHouseConfig(options)
  if (seller !== undefined) return seller
  throw new CommandError(
    'the configuration has no seller: describe the selling company in the section seller',
  )
}

/**
 * The configuration with prices at the Central Bank's rates, as far as the store has them.
 * @throws CommandError that lists the errors in the configuration
 */
export async function openPricedConfig(options: SharedOptions): Promise<LoadedConfig> {
  const loaded = openPriceConfig(options)
  const { config } = loaded
  if (config.rates === undefined || !hasStore(config)) return loaded
  return { ...loaded, config: withRates(config, await knownRates(options, config)) }
}

/** The Central Bank's rates in the store, when prices follow them. */
export async function knownRates(options: SharedOptions, config: Config): Promise<readonly DatedRate[]> {
  if (config.rates === undefined) return []
  const { ratesInForce, readRates } = await import('../prices/rate-book.ts')
  return ratesInForce(await readRecords(options, readRates), systemClock.now())
}

/** Whether a store exists. */
export function hasStore({ store }: Config): boolean {
  return store.kind === 'postgres' || readProblem(store.file)?.isMissing !== true
}
