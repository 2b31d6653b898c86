import { basename } from 'node:path'
import { readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import { assignTransfer, returnTransfer, undoTransfer, listTransfers } from '../documents/transfers.ts'
import { importStatement, type ImportResult, type ImportedTransfer } from '../documents/import-statement.ts'
import { formatKopecks } from '../money/kopecks.ts'
import { seenText } from '../platform/seen-text.ts'
import { statementBytesMax } from '../statements/statement.ts'
import type { TransferRow } from '../stores/records/document-tables.ts'
import { answer, addCommand, CommandError, countOf, UsageError } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { textLengthsMax } from '../administration/text-lengths.ts'
import { noteText, oneOf, operatorName } from './arguments.ts'
import { requiredSeller, withRecords } from './with-store.ts'
import { fileProblem } from '../platform/file-problem.ts'

interface AssignOptions extends SharedOptions {
  readonly account?: string
  readonly invoice?: string
  readonly note: string
}

/** @throws UsageError unless exactly one of the two is given */
function target({
  account,
  invoice,
}: AssignOptions): { readonly accountId: string } | { readonly invoiceId: string } {
  if (account !== undefined && invoice === undefined) return { accountId: account }
  if (invoice !== undefined && account === undefined) return { invoiceId: invoice }
  throw new UsageError('name either --account or --invoice')
}

/** `statement`: imports bank statements and resolves the payments in them that need a decision. */
export function fillStatement(statement: Command, context: CliContext): void {
  const { stdout } = context
  addCommand(statement, 'import <file>', 'credit what a statement of the bank shows (1CClientBankExchange)')
    .option('--dry-run', 'show what would happen, and change nothing')
    .action(async (file: string, options: SharedOptions & { readonly dryRun?: boolean }) => {
      const seller = requiredSeller(options)
      const bytes = readStatement(file)
      const isDryRun = options.dryRun === true
      const by = { operator: operatorName(), fileName: seenText(basename(file)) }
      const result = await withRecords(options, (records, at) =>
        importStatement(records, seller, { bytes, at, isDryRun, by }),
      )
      answer(stdout, options, result, summary(result, isDryRun))
    })
  addCommand(statement, 'list', 'list payments of statements, the newest first')
    .option('--state <state>', 'queued (needs a person), credited or returned')
    .action(async (options: SharedOptions & { readonly state?: string }) => {
      const { state } = options
      const wanted =
        state === undefined ? undefined : oneOf('--state', state, ['queued', 'credited', 'returned'] as const)
      const all = await withRecords(options, records => listTransfers(records, wanted))
      for (const row of all) answer(stdout, options, view(row), `${line(row)}\n`)
      if (all.length === 0 && options.json !== true) stdout.write('no payments\n')
    })
  addDecisions(statement, context)
}

function addDecisions(statement: Command, { stdout }: CliContext): void {
  const show = (options: SharedOptions, row: TransferRow): void => {
    answer(stdout, options, view(row), `${line(row)}\n`)
  }
  addCommand(statement, 'assign <transfer>', 'credit a queued payment to an account')
    .option('--account <account>', 'whose it is')
    .option('--invoice <invoice>', 'which invoice it pays: its id')
    .option('--note <text>', 'why, such as a letter of a third party', '')
    .action(async (id: string, options: AssignOptions) => {
      const note = transferNote(options)
      const to = target(options)
      show(
        options,
        await withRecords(options, (records, at) =>
          assignTransfer(records, { id, to, note, at, operator: operatorName() }),
        ),
      )
    })
  const decisions = [
    ['return', 'note that a queued payment was sent back to its payer', returnTransfer],
    ['undo', 'undo the decision on a payment: it is queued again', undoTransfer],
  ] as const
  for (const [name, description, decide] of decisions) {
    addCommand(statement, `${name} <transfer>`, description)
      .option('--note <text>', 'why', '')
      .action(async (id: string, options: SharedOptions & { readonly note: string }) => {
        const note = transferNote(options)
        const row = await withRecords(options, (records, at) =>
          decide(records, { id, note, at, operator: operatorName() }),
        )
        show(options, row)
      })
  }
}

/** @throws UsageError when it is too long, or contains invisible characters */
function transferNote({ note }: { readonly note: string }): string {
  return noteText(note, '--note', textLengthsMax.transferNote)
}

/** @throws CommandError when the file does not exist or is too large */
function readStatement(file: string): Uint8Array {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) throw new CommandError(`there is no file ${file}`)
  if (size > statementBytesMax) {
    throw new CommandError(
      `${file} has ${size} bytes; at most ${statementBytesMax / 1024 ** 2} MB are read at once: export a shorter period`,
    )
  }
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${fileProblem(error)}`)
  }
}

function summary({ documents, credited, queued, repeated }: ImportResult, isDryRun: boolean): string {
  const would = isDryRun ? 'would be ' : ''
  const rows = (all: readonly ImportedTransfer[]): string[] =>
    all.map(
      one => `  ${one.amount} ₽  ${one.payerName}  ${one.reason}  ${one.account ?? one.id.slice(0, 12)}`,
    )
  const lines = [
    `${countOf(documents, 'document')}; ${credited.length} ${would}credited, ${queued.length} ${would}queued, ${repeated} known already`,
    ...(credited.length > 0 ? ['credited:', ...rows(credited)] : []),
    ...(queued.length > 0 ? ['queued, for a person to assign or return:', ...rows(queued)] : []),
  ]
  return `${lines.join('\n')}\n`
}

function view(row: TransferRow): object {
  return {
    id: row.id,
    receivedOn: row.received_on,
    number: row.number,
    amount: formatKopecks(row.amount_kopecks),
    payerInn: row.payer_inn,
    payerName: row.payer_name,
    purpose: row.purpose,
    state: row.state,
    reason: row.reason,
    suggestions: JSON.parse(row.suggestions) as unknown,
    account: row.account_id,
    invoice: row.invoice_id,
  }
}

function line(row: TransferRow): string {
  const { id, received_on, amount_kopecks, payer_name, state, reason, purpose } = row
  return `${id.slice(0, 12)}  ${received_on}  ${formatKopecks(amount_kopecks)} ₽  ${state}  ${reason}  ${payer_name}: ${purpose}`
}
