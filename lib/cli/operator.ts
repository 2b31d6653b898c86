import type { Command } from 'commander'
import { findActions } from '../administration/operator-log.ts'
import { zonedTime } from '../platform/clock.ts'
import { answer, answerList, addCommand, formatTable } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { dayOf, emailAddress, nameText, oneOf, operatorName } from './arguments.ts'
import { openTimeZone, openOperatorArea } from './open-config.ts'
import { checkAccount, readRecords, withRecords } from './with-store.ts'
import { addOperator, listOperators, removeOperator } from '../administration/operators.ts'
import { operatorActions, type OperatorRow } from '../stores/records/operator-tables.ts'

interface LogOptions extends SharedOptions {
  readonly account?: string
  readonly operator?: string
  readonly action?: string
  readonly day?: string
}

const loggedMax = 1000

/** `operator log`. */
function addOperatorLog(operator: Command, { stdout }: CliContext): void {
  addCommand(operator, 'log', `list what operators did, the newest first, at most ${loggedMax}`)
    .option('--account <id>', 'only what was done to this account')
    .option('--operator <name>', 'only by this operator: an email, or a name as the list shows it')
    .option('--action <action>', `only this: ${operatorActions.join(', ')}`)
    .option('--day <date>', 'only of this day, such as 2026-11-22')
    .action(async (options: LogOptions) => {
      const zone = openTimeZone(options)
      const { account, operator: who = '', action, day } = options
      if (action !== undefined) oneOf('--action', action, operatorActions)
      const query = {
        isDescending: true,
        limit: loggedMax,
        offset: 0,
        filters: { account: account ?? '', operator: who, action: action ?? '' },
        ...(day !== undefined && dayOf('--day', day, zone)),
      }
      const actions = await readRecords(options, async records => {
        await checkAccount(records, account)
        return findActions(records, query)
      })
      const rows = actions.map(one => ({
        at: options.json === true ? new Date(one.at).toISOString() : zonedTime(one.at, zone),
        operator: one.operator,
        action: one.action,
        account: one.account_id,
        reason: one.reason,
      }))
      answerList(stdout, options, rows, rows.length === 0 ? 'nothing was done\n' : formatTable(rows))
    })
}

interface AddOptions extends SharedOptions {
  readonly email: string
  readonly role: string
  readonly name?: string
}

const roles = ['owner', 'finance', 'support'] as const

/** `operator`: adds, lists and removes users of the operator's pages. */
export function fillOperator(operator: Command, context: CliContext): void {
  addAdd(operator, context)
  addList(operator, context)
  addRemove(operator, context)
  addOperatorLog(operator, context)
}

function addAdd(operator: Command, { stdout }: CliContext): void {
  addCommand(operator, 'add', 'add an operator, or change the role of one; prints a link to set a password')
    .requiredOption('--email <address>', 'by which the operator signs in')
    .requiredOption('--role <role>', `${roles.join(', ')}: everything, money, or read-only`)
    .option('--name <name>', 'what to call them')
    .action(async (options: AddOptions) => {
      const name = options.name === undefined ? undefined : nameText(options.name)
      const added = {
        email: emailAddress(options.email),
        role: oneOf('--role', options.role, roles),
        by: operatorName(),
        ...(name !== undefined && { name }),
      }
      const { id, token } = await withRecords(options, (records, now) => addOperator(records, added, now))
      const path = `/set-password?token=${token}`
      const pages = pagesUrl(options)
      const where =
        pages === undefined
          ? `at this path of the operators' pages, which are off: set operatorArea in the configuration\n${path}\n`
          : `here:\n${pages}${path}\n`
      answer(
        stdout,
        options,
        { id, link: `${pages ?? ''}${path}` },
        `${added.email} is an operator with the role ${added.role}. Within a day, set a password ${where}`,
      )
    })
}

function addList(operator: Command, { stdout }: CliContext): void {
  addCommand(operator, 'list', 'list operators').action(async (options: SharedOptions) => {
    const operators = await readRecords(options, listOperators)
    const text =
      operators.length === 0
        ? 'no operators: gateway operator add makes one\n'
        : table(operators, openTimeZone(options))
    answerList(stdout, options, operators.map(operatorView), text)
  })
}

function addRemove(operator: Command, { stdout }: CliContext): void {
  addCommand(operator, 'remove', 'remove an operator: the sessions end at once')
    .requiredOption('--email <address>', 'the email of the operator')
    .action(async (options: SharedOptions & { readonly email: string }) => {
      const email = emailAddress(options.email)
      await withRecords(options, (records, now) =>
        removeOperator(records, { email, by: operatorName() }, now),
      )
      answer(stdout, options, { email }, `${email} is no longer an operator\n`)
    })
}

/** Undefined where the pages are off. */
function pagesUrl(options: SharedOptions): string | undefined {
  const operatorArea = openOperatorArea(options)
  if (operatorArea === undefined) return undefined
  const { listen, publicUrl } = operatorArea
  return publicUrl?.origin ?? `http://${listen.host}:${listen.port}`
}

function operatorView({ id, email, name, role, created_at, two_factor_enabled }: OperatorRow) {
  return {
    id,
    email,
    name,
    role,
    createdAt: new Date(created_at).toISOString(),
    hasSecondFactor: two_factor_enabled === 1,
  }
}

function table(operators: readonly OperatorRow[], zone: string): string {
  const rows = operators.map(({ email, name, role, created_at, two_factor_enabled }) => ({
    email,
    name: name ?? '',
    role,
    since: zonedTime(created_at, zone),
    'second factor': two_factor_enabled === 1 ? 'on' : 'not yet',
  }))
  return formatTable(rows)
}
