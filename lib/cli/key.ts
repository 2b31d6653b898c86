import type { Command } from 'commander'
import { budgetPeriods, type NewKey, type KeyEdit, type KeyRecord } from '../accounts/accounts.ts'
import {
  answer,
  addCommand,
  UsageError,
  CommandError,
  answerList,
  isoTime,
  formatTable,
  type SharedOptions,
  type CliContext,
} from './command.ts'
import {
  addressList,
  futureTime,
  modelList,
  nameText,
  oneOf,
  roubles,
  operatorName,
  reasonText,
} from './arguments.ts'
import { changeAccounts, found, readStore, readRecords } from './with-store.ts'
import { openTimeZone, openModelNames } from './open-config.ts'
import { findConfig } from '../config/environment.ts'
import { nearest } from '../platform/nearest.ts'
import { standsForModel } from '../models/model-directory.ts'
import { systemClock, zonedTime } from '../platform/clock.ts'
import { formatRoubles } from '../money/amount.ts'
import { findKeys } from '../stores/records/find-accounts.ts'

/** The longest text to search for. */
const searchLengthMax = 200

/** `key list` and `key find`; a key's value is in no store. */
function addKeyViews(key: Command, { stdout }: CliContext): void {
  const print = (options: SharedOptions, keys: readonly KeyRecord[]): void => {
    answerList(stdout, options, keys.map(keyView), keyTable(keys, openTimeZone(options)))
  }
  addCommand(key, 'list', 'list the keys of an account; their values are not known')
    .option('--account <id>', 'the account')
    .option('--all', 'those of all accounts')
    .action(async (options: SharedOptions & { readonly account?: string; readonly all?: boolean }) => {
      const { account, all = false } = options
      if ((account === undefined) !== all) throw new UsageError('name either --account or --all')
      const keys = await readStore(options, async reports => {
        if (account !== undefined) found(await reports.account(account), account)
        return reports.keys(account)
      })
      print(options, keys)
    })
  addCommand(key, 'find <text>', 'find keys by id, last four characters, or a part of the name')
    // A key may end in -1n0.
    .allowUnknownOption()
    .action(async (text: string, options: SharedOptions) => {
      if (text.trim() === '' || text.length > searchLengthMax)
        throw new UsageError(`a search takes 1 to ${searchLengthMax} characters`)
      const ids = await readRecords(options, records => findKeys(records, text.trim()))
      const keys = await readStore(options, reports =>
        Promise.all(ids.map(({ id, account_id }) => reports.key(account_id, id))),
      )
      print(
        options,
        keys.filter(one => one !== undefined),
      )
    })
}

/** A key as JSON: times in ISO 8601, money in roubles, null for no limit. */
export function keyView(key: KeyRecord) {
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    lastFour: key.lastFour,
    state: stateOf(key),
    createdAt: isoTime(key.createdAt),
    models: key.models ?? null,
    budget: key.budgetMicros === undefined ? null : formatRoubles(key.budgetMicros),
    budgetPeriod: key.budgetPeriod ?? null,
    expiresAt: isoTime(key.expiresAt),
    ipAddresses: key.ipAddresses ?? null,
    revokedAt: isoTime(key.revokedAt),
  }
}

function stateOf(key: KeyRecord): 'active' | 'blocked' | 'expired' | 'revoked' {
  if (key.revokedAt !== undefined) return 'revoked'
  if (key.blockedAt !== undefined) return 'blocked'
  return key.expiresAt !== undefined && key.expiresAt <= systemClock.now() ? 'expired' : 'active'
}

/** Keys as a table. */
export function keyTable(keys: readonly KeyRecord[], zone: string): string {
  if (keys.length === 0) return 'no keys: gateway key create makes one\n'
  const rows = keys.map(key => ({
    id: key.id,
    account: key.accountId,
    name: key.name,
    ends: `...${key.lastFour}`,
    state: stateOf(key),
    created: zonedTime(key.createdAt, zone),
    models: key.models?.join(', ') ?? 'all',
    budget:
      key.budgetMicros === undefined ? '' : `${formatRoubles(key.budgetMicros)} ${key.budgetPeriod ?? ''}`,
    expires: key.expiresAt === undefined ? '' : zonedTime(key.expiresAt, zone),
  }))
  return formatTable(rows)
}

/** A key's name and limits as options. */
interface KeyOptions extends SharedOptions {
  readonly name?: string
  readonly models?: string
  readonly allowUnknownModels?: boolean
  readonly budgetRub?: string
  readonly budgetPeriod?: string
  readonly expires?: string
  readonly ips?: string
}

interface EditOptions extends KeyOptions {
  readonly reason: string
}

/** The value that removes a limit. */
const none = 'none'

/**
 * Checks that each entry of an allow-list covers a model: a typo would make a key that is refused everything without
 * an obvious reason.
 * @throws CommandError that lists the entries without a model, each with the nearest name
 */
function checkModels(options: SharedOptions, entries: readonly string[]): void {
  const config = openModelNames(options)
  const names = [...config.models.keys(), ...config.aliases.keys()]
  const unknown = entries.filter(entry => !standsForModel(config, entry))
  if (unknown.length === 0) return
  const file = findConfig(options.config)
  const lines = unknown.map(entry => {
    const near = nearestEntry(entry, names)
    return `${file} has no model "${entry}"${near === undefined ? '' : `; did you mean "${near}"?`}`
  })
  throw new CommandError(
    `${lines.join('\n')}\ngateway models lists them; --allow-unknown-models takes the names of models to come`,
  )
}

/** A prefix is compared with prefixes of about its length. */
function nearestEntry(entry: string, names: readonly string[]): string | undefined {
  if (!entry.endsWith('*')) return nearest(entry, names)
  const beginning = entry.slice(0, -1)
  const lengths = [beginning.length, beginning.length + 1, beginning.length - 1]
  const near = nearest(
    beginning,
    names.flatMap(name => lengths.map(length => name.slice(0, length))),
  )
  return near === undefined ? undefined : `${near}*`
}

/** `key edit`. */
function addKeyEdit(key: Command, { stdout }: CliContext): void {
  addCommand(key, 'edit <key>', 'change a key; by its id, not its value; what is not named stays as it is')
    .requiredOption('--reason <text>', 'for the log; the customer does not see it')
    .option('--name <name>', 'what to call it')
    .option('--models <list>', `the models it may use, separated by commas; ${none}: all of them`)
    .option('--allow-unknown-models', 'among them such as the configuration does not have yet')
    .option('--budget-rub <amount>', `how much it may spend, what it has spent counted; ${none}: no budget`)
    .option('--budget-period <period>', `when the budget begins anew: ${budgetPeriods.join(', ')}`)
    .option('--expires <time>', `an ISO date or time; ${none}: never`)
    .option('--ips <list>', `the addresses and networks it may come from; ${none}: from everywhere`)
    .action(async (id: string, options: EditOptions) => {
      const edit = editOf(id, options)
      if (options.allowUnknownModels !== true) checkModels(options, edit.models ?? [])
      const edited = await changeAccounts(options, accounts => accounts.editKey(edit))
      answer(stdout, options, keyView(edited), keyTable([edited], openTimeZone(options)))
    })
}

/** @throws UsageError */
function editOf(id: string, options: EditOptions): KeyEdit {
  const { name, models, budgetRub, budgetPeriod, expires, ips } = options
  if (budgetPeriod !== undefined && (budgetRub === undefined || budgetRub === none))
    throw new UsageError('--budget-period needs --budget-rub with an amount')
  if ([name, models, budgetRub, expires, ips].every(one => one === undefined))
    throw new UsageError('name what to change: --name, --models, --budget-rub, --expires or --ips')
  const limit = <T>(text: string, read: (text: string) => T): T | null => (text === none ? null : read(text))
  return {
    id,
    reason: reasonText(options.reason),
    operator: operatorName(),
    ...(name !== undefined && { name: nameText(name) }),
    ...(models !== undefined && { models: limit(models, text => modelList('--models', text)) }),
    ...(budgetRub !== undefined && { budgetMicros: limit(budgetRub, text => roubles('--budget-rub', text)) }),
    ...(budgetPeriod !== undefined && {
      budgetPeriod: oneOf('--budget-period', budgetPeriod, budgetPeriods),
    }),
    ...(expires !== undefined && {
      expiresAt: limit(expires, text => futureTime('--expires', text, openTimeZone(options))),
    }),
    ...(ips !== undefined && { ipAddresses: limit(ips, text => addressList('--ips', text)) }),
  }
}

interface CreateOptions extends KeyOptions {
  readonly account: string
}

/** `key`: creates, edits, lists and revokes keys. */
export function fillKey(key: Command, context: CliContext): void {
  addCreate(key, context)
  addKeyEdit(key, context)
  addKeyViews(key, context)
  addRevoke(key, context)
}

function addCreate(key: Command, { stdout }: CliContext): void {
  addCommand(key, 'create', 'make a key; its value is shown once')
    .requiredOption('--account <id>', 'the account that pays')
    .option('--name <name>', 'what to call it')
    .option('--models <list>', 'the models it may use, separated by commas; a trailing * matches any ending')
    .option('--allow-unknown-models', 'among them such as the configuration does not have yet')
    .option('--budget-rub <amount>', 'how much it may spend')
    .option('--budget-period <period>', `when the budget begins anew: ${budgetPeriods.join(', ')}`)
    .option('--expires <time>', 'an ISO date or time')
    .option('--ips <list>', 'the addresses and networks it may come from, separated by commas')
    .action(async (options: CreateOptions) => {
      const wanted = newKey(options)
      if (wanted.models !== undefined && options.allowUnknownModels !== true)
        checkModels(options, wanted.models)
      const { id, key: value } = await changeAccounts(options, accounts => accounts.createKey(wanted))
      answer(
        stdout,
        options,
        { id, key: value },
        `key ${id} created. Its value is shown this once and stored nowhere:\n${value}\n`,
      )
    })
}

function newKey(options: CreateOptions): NewKey {
  const { account, name, models, budgetRub, budgetPeriod, expires, ips } = options
  if (budgetPeriod !== undefined && budgetRub === undefined)
    throw new UsageError('--budget-period needs --budget-rub')
  return {
    accountId: account,
    ...(name === undefined ? {} : { name: nameText(name) }),
    ...(models === undefined ? {} : { models: modelList('--models', models) }),
    ...(budgetRub === undefined ? {} : { budgetMicros: roubles('--budget-rub', budgetRub) }),
    ...(budgetPeriod === undefined
      ? {}
      : { budgetPeriod: oneOf('--budget-period', budgetPeriod, budgetPeriods) }),
    ...(expires === undefined ? {} : { expiresAt: futureTime('--expires', expires, openTimeZone(options)) }),
    ...(ips === undefined ? {} : { ipAddresses: addressList('--ips', ips) }),
  }
}

function addRevoke(key: Command, { stdout }: CliContext): void {
  addCommand(key, 'revoke <key>', 'revoke a key by its id, not its value').action(
    async (id: string, options: SharedOptions) => {
      await changeAccounts(options, accounts => accounts.revokeKey(id, operatorName()))
      answer(stdout, options, { id, revoked: true }, `key ${id} revoked\n`)
    },
  )
}
