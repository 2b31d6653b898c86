import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { formatRoubles } from '../money/amount.ts'
import { addAccountAccess, addAccountNotes, addAccountSearch } from './account-support.ts'
import { answer, answerList, addCommand, CommandError, formatTable, UsageError } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { emailAddress, nameText, operatorName, reasonText, roubles, wholeNumber } from './arguments.ts'
import { changeAccounts, checkAccount, withRecords, found, readStore } from './with-store.ts'
import { readCompany } from '../companies/company-details.ts'
import { currentCompany, setCompany } from '../documents/company-versions.ts'
import { textLengthsMax } from '../administration/text-lengths.ts'
import { moveMoney } from '../administration/account-acts.ts'
import { newId } from '../platform/new-id.ts'
import { correctCharge } from '../administration/correct-charge.ts'
import type { AccountReport } from '../ledger/reports.ts'
import { balanceAmounts } from '../ledger/ledger.ts'
import { keyTable, keyView } from './key.ts'
import { zonedTime } from '../platform/clock.ts'
import { openTimeZone } from './open-config.ts'
import { fileProblem } from '../platform/file-problem.ts'

interface MovementOptions extends SharedOptions {
  readonly rub: string
  readonly reason: string
  readonly idempotencyKey?: string
}

/** `account company`: shows or sets the company that an account's documents are made out to. */
function addAccountCompany(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'company <account>', 'show or set the company that documents are made out to')
    .option(
      '--set <file>',
      'a JSON file: kind (company or sole), name, inn, kpp, ogrn, address, email, bank, signer, ediId',
    )
    .action(async (accountId: string, options: SharedOptions & { readonly set?: string }) => {
      const typed = options.set === undefined ? undefined : readDetails(options.set)
      const version = await withRecords(options, async (records, now) => {
        await checkAccount(records, accountId)
        return typed === undefined
          ? currentCompany(records, accountId)
          : setCompany(records, accountId, typed, now)
      })
      if (version === undefined) {
        const remedy = `set them by gateway account company ${accountId} --set FILE`
        throw new CommandError(`the account ${accountId} has no company details: ${remedy}`)
      }
      const { details } = version
      answer(
        stdout,
        options,
        details,
        `${details.name}, INN ${details.inn}${details.kpp === undefined ? '' : `, KPP ${details.kpp}`}\n`,
      )
    })
}

/** @throws CommandError when the file cannot be read as company details */
function readDetails(file: string): ReturnType<typeof readCompany> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${fileProblem(error)}`)
  }
  try {
    return readCompany(JSON.parse(text))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`${file}${error instanceof SyntaxError ? ' is no JSON' : ''}: ${reason}`)
  }
}

interface CorrectOptions extends SharedOptions {
  readonly request: string
  readonly turn: string
  readonly rub: string
  readonly reason: string
}

/** `account correct`. */
function addAccountCorrection(account: Command, { stdout }: CliContext): void {
  addCommand(
    account,
    'correct <account>',
    'set the cost of a request: the difference to its charge is returned to the account',
  )
    .requiredOption('--request <id>', 'the id of x-gateway-request-id')
    .option('--turn <n>', 'the turn of a session, from 0', '0')
    .requiredOption('--rub <amount>', 'the new cost in roubles; 0 returns the whole charge')
    .requiredOption('--reason <text>', 'shown beside the entry; the customer sees it')
    .action(async (accountId: string, options: CorrectOptions) => {
      const correction = {
        accountId,
        requestId: options.request,
        sequence: wholeNumber('--turn', options.turn),
        costMicros: roubles('--rub', options.rub),
        reason: reasonText(options.reason),
        operator: operatorName(),
      }
      const done = await withRecords(options, (records, now) => correctCharge(records, correction, now))
      const { revision, beforeMicros, returnedMicros } = done
      const cost = formatRoubles(correction.costMicros)
      const returned = formatRoubles(returnedMicros)
      const json = { request: options.request, revision, before: formatRoubles(beforeMicros), cost, returned }
      const moved =
        returnedMicros > 0
          ? `${returned} ₽ were returned to ${accountId}`
          : `${formatRoubles(-returnedMicros)} ₽ were taken from ${accountId}`
      answer(
        stdout,
        options,
        json,
        `the request ${options.request} comes to ${cost} ₽ instead of ${json.before} ₽: ${moved}\n`,
      )
    })
}

/** `account list` and `account show`: they read the store whether or not a server runs. */
function addAccountViews(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'list', 'list all accounts with their balances').action(
    async (options: SharedOptions) => {
      const accounts = await readStore(options, reports => reports.accounts())
      const text =
        accounts.length === 0
          ? 'no accounts: gateway account create makes one\n'
          : table(accounts, openTimeZone(options))
      answerList(stdout, options, accounts.map(accountView), text)
    },
  )
  addCommand(account, 'show <account>', 'show an account with its keys').action(
    async (id: string, options: SharedOptions) => {
      const { one, keys } = await readStore(options, async reports => ({
        one: found(await reports.account(id), id),
        keys: await reports.keys(id),
      }))
      const zone = openTimeZone(options)
      const json = { ...accountView(one), keys: keys.map(keyView) }
      answer(stdout, options, json, `${table([one], zone)}\n${keyTable(keys, zone)}`)
    },
  )
}

function accountView(account: AccountReport) {
  const { id, name, email, createdAt } = account
  return {
    id,
    email,
    name: name ?? null,
    createdAt: new Date(createdAt).toISOString(),
    ...balanceAmounts(account),
  }
}

function table(accounts: readonly AccountReport[], zone: string): string {
  const rows = accounts.map(account => {
    const { id, email, name = '', createdAt } = account
    const { balance, debt, held, available } = balanceAmounts(account)
    return { id, email, name, created: zonedTime(createdAt, zone), balance, debt, held, available }
  })
  return formatTable(rows, ['balance', 'debt', 'held', 'available'])
}

/** `account`: creates accounts, credits and debits them, and shows them. */
export function fillAccount(account: Command, context: CliContext): void {
  addCreate(account, context)
  addAccountViews(account, context)
  addMovement(account, context, 'credit')
  addMovement(account, context, 'debit')
  addAccountCorrection(account, context)
  addAccountAccess(account, context)
  addAccountSearch(account, context)
  addAccountNotes(account, context)
  addAccountCompany(account, context)
}

function addCreate(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'create', 'open an account')
    .requiredOption('--email <address>', 'the address of its first user')
    .option('--name <name>', 'what to call it')
    .action(async (options: SharedOptions & { readonly email: string; readonly name?: string }) => {
      const email = emailAddress(options.email)
      const name = options.name === undefined ? undefined : nameText(options.name)
      const created = await changeAccounts(options, accounts =>
        accounts.createAccount({ email, ...(name === undefined ? {} : { name }) }),
      )
      answer(stdout, options, { id: created.id }, `account ${created.id} created\n`)
    })
}

/** @throws UsageError when it is empty or too long */
function movementId(text: string): string {
  const id = nameText(text, '--idempotency-key', textLengthsMax.idempotencyKey)
  if (id === '') throw new UsageError('--idempotency-key: is empty')
  return id
}

function addMovement(account: Command, { stdout }: CliContext, kind: 'credit' | 'debit'): void {
  addCommand(account, `${kind} <account>`, kind === 'credit' ? 'credit money' : 'debit available money')
    .requiredOption('--rub <amount>', 'roubles, such as 100.00; at most six decimals')
    .requiredOption('--reason <text>', 'shown beside the entry; the customer sees it')
    .option('--idempotency-key <key>', `a second ${kind} with the same key is not booked`)
    .action(async (accountId: string, options: MovementOptions) => {
      const typedKey = options.idempotencyKey
      const id = typedKey === undefined ? newId() : movementId(typedKey)
      const reason = reasonText(options.reason)
      const amountMicros = roubles('--rub', options.rub)
      const movement = { id, kind, accountId, amountMicros, reason }
      const { entryId } = await withRecords(options, (records, now) =>
        moveMoney(records, { ...movement, operator: operatorName() }, now),
      )
      const { balance } = balanceAmounts(
        await readStore(options, async reports => found(await reports.balance(accountId), accountId)),
      )
      const json = { entry: entryId, account: accountId, amount: formatRoubles(amountMicros), balance }
      const done = kind === 'credit' ? 'credited to' : 'debited from'
      answer(stdout, options, json, `${json.amount} ₽ ${done} ${accountId}; the balance is ${balance} ₽\n`)
    })
}
