import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { advancesTable, listAdvances, type Advance } from '../documents/advances.ts'
import { listClosing, markClosing, correctClosing } from '../documents/closing-documents.ts'
import type { ListedClosing, StoredClosing } from '../documents/closing-documents.ts'
import { monthFiles, zipFiles, type DocumentFile } from '../documents/month-files.ts'
import { isMonth, lastDay, isDay, moscowDay } from '../ledger/moscow-days.ts'
import { DocumentPrinter } from '../documents/print/document-printer.ts'
import { formatKopecks } from '../money/kopecks.ts'
import { answer, addCommand, countOf, UsageError, type SharedOptions, type CliContext } from './command.ts'
import { openHouseConfig } from './open-config.ts'
import { checkAccount, requiredSeller, withRecords } from './with-store.ts'
import { closeMonth } from '../documents/month-close.ts'
import { closingBalance, reconcile } from '../documents/reconcile-account.ts'
import { systemClock } from '../platform/clock.ts'
import { oneOf, operatorName, outFile, reasonText } from './arguments.ts'

/** Options of commands for one month. */
interface MonthOptions extends SharedOptions {
  readonly month: string
}

/** @throws UsageError when it is not a month */
function monthOf({ month }: Pick<MonthOptions, 'month'>): string {
  if (isMonth(month)) return month
  throw new UsageError(`--month: "${month}" is not a month such as 2026-11`)
}

/** `documents export` and `documents advances`: files for the seller's accountant. */
function addExportCommands(documents: Command, { stdout }: CliContext): void {
  addCommand(documents, 'export', "write a month's documents as PDF and XML, with a register as CSV")
    .requiredOption('--month <month>', 'such as 2026-11')
    .requiredOption('--out <path>', 'a folder, made when absent, or a file that ends in .zip')
    .action(async (options: MonthOptions & { readonly out: string }) => {
      const month = monthOf(options)
      const { out, json } = options
      const isArchive = out.toLowerCase().endsWith('.zip')
      outFile(isArchive ? out : join(out, 'register.csv'))
      const files = await filesOf(options, month)
      if (isArchive) writeFileSync(out, zipFiles(files, lastDay(month)))
      else for (const { name, bytes } of files) writeFileSync(join(out, name), bytes)
      stdout.write(
        json === true
          ? `${JSON.stringify({ month, files: files.map(file => file.name) })}\n`
          : `${countOf(files.length, 'file')} in ${out}\n`,
      )
    })
  addCommand(documents, 'advances', 'list what companies paid ahead in a month, for invoices of advances')
    .requiredOption('--month <month>', 'such as 2026-11')
    .option('--out <file>', 'write it as CSV')
    .action(async (options: MonthOptions & { readonly out?: string }) => {
      const month = monthOf(options)
      const out = options.out === undefined ? undefined : outFile(options.out)
      const seller = requiredSeller(options)
      const advances = await withRecords(options, records => listAdvances(records, seller, month))
      if (out !== undefined) writeFileSync(out, advancesTable(advances))
      for (const advance of advances) {
        const said = advanceView(advance)
        answer(
          stdout,
          options,
          said,
          `${said.date}  ${said.amount} ₽  VAT ${said.vat} ₽  ${said.payer}  ${said.name}\n`,
        )
      }
      if (advances.length === 0 && options.json !== true)
        stdout.write(`no advances with value added tax in ${month}\n`)
    })
}

/** A month's documents, with its advances when the seller owes tax on them. */
async function filesOf(options: SharedOptions, month: string): Promise<readonly DocumentFile[]> {
  const { seller } = openHouseConfig(options)
  const printer = new DocumentPrinter()
  try {
    return await withRecords(options, async records => {
      const files = await monthFiles(records, printer, await listClosing(records, { month }))
      const advances = seller === undefined ? [] : await listAdvances(records, seller, month)
      if (advances.length === 0) return files
      return [...files, { name: 'advances.csv', bytes: Buffer.from(advancesTable(advances)) }]
    })
  } finally {
    await printer.close()
  }
}

function advanceView({ accountId, buyer, date, name, amount, rate, vat, left }: Advance) {
  return {
    account: accountId,
    date,
    name,
    payer: buyer.name,
    inn: buyer.inn,
    amount: formatKopecks(amount),
    rate: `${rate}/${100 + rate}`,
    vat: formatKopecks(vat),
    left: formatKopecks(left),
  }
}

interface ReconcileOptions extends SharedOptions {
  readonly account: string
  readonly from: string
  readonly to: string
  readonly out: string
}

/** `documents`: closes months, and lists, corrects and exports their documents. */
export function fillDocuments(documents: Command, context: CliContext): void {
  const { stdout, stderr } = context
  addCommand(documents, 'close', 'make the documents of a month, and of earlier ones that are not closed')
    .requiredOption('--month <month>', 'such as 2026-11')
    .action(async (options: MonthOptions) => {
      const month = monthOf(options)
      if (month === moscowDay(systemClock.now()).slice(0, 7)) {
        stderr.write(
          `the month ${month} is not over: what is charged until its end will be in the next document\n`,
        )
      }
      const seller = requiredSeller(options)
      const { months, made } = await withRecords(options, (records, at) =>
        closeMonth(records, seller, { month, at, operator: operatorName() }),
      )
      if (options.json === true) stdout.write(`${JSON.stringify({ months, documents: made.map(view) })}\n`)
      else {
        for (const stored of made) stdout.write(shown(options, stored))
        stdout.write(
          months.length === 0
            ? `${month} is closed already\n`
            : `closed ${months.join(', ')}: ${countOf(made.length, 'document')}\n`,
        )
      }
    })
  addCommand(documents, 'list', 'list closing documents, the oldest first')
    .option('--month <month>', 'of one month')
    .option('--account <account>', 'of one account')
    .action(async (options: SharedOptions & { readonly month?: string; readonly account?: string }) => {
      const { month, account } = options
      const filter = {
        ...(month !== undefined && { month: monthOf({ month }) }),
        ...(account !== undefined && { accountId: account }),
      }
      const all = await withRecords(options, async records => {
        await checkAccount(records, account)
        return listClosing(records, filter)
      })
      for (const stored of all) stdout.write(shown(options, stored))
      if (all.length === 0 && options.json !== true) stdout.write('no documents\n')
    })
  addChanges(documents, stdout)
  addReconcile(documents, stdout)
  addExportCommands(documents, context)
}

function addChanges(documents: Command, stdout: CliContext['stdout']): void {
  addCommand(documents, 'correct <document>', 'issue a document anew with the details of today (ИспрДок)')
    .requiredOption('--reason <text>', 'why; printed on it')
    .action(async (id: string, options: SharedOptions & { readonly reason: string }) => {
      const seller = requiredSeller(options)
      const reason = reasonText(options.reason)
      stdout.write(
        shown(
          options,
          await withRecords(options, (records, at) =>
            correctClosing(records, seller, { id, reason, at, operator: operatorName() }),
          ),
        ),
      )
    })
  addCommand(documents, 'mark <document>', 'note that a document was sent or signed')
    .requiredOption('--state <state>', 'issued, sent or signed')
    .action(async (id: string, options: SharedOptions & { readonly state: string }) => {
      const state = oneOf('--state', options.state, ['issued', 'sent', 'signed'] as const)
      await withRecords(options, (records, at) =>
        markClosing(records, { id, state, at, operator: operatorName() }),
      )
      answer(stdout, options, { id, state }, `document ${id} is ${state}\n`)
    })
}

/** A closing just made is not replaced by another. */
type ShownClosing = StoredClosing & Partial<Pick<ListedClosing, 'isReplaced'>>

function shown(options: SharedOptions, stored: ShownClosing): string {
  return options.json === true ? `${JSON.stringify(view(stored))}\n` : `${line(stored)}\n`
}

function addReconcile(documents: Command, stdout: CliContext['stdout']): void {
  addCommand(
    documents,
    'reconcile',
    'write what passed between seller and company over some days (акт сверки)',
  )
    .requiredOption('--account <account>', 'whose company')
    .requiredOption('--from <day>', 'the first day, such as 2026-01-01')
    .requiredOption('--to <day>', 'the last day')
    .requiredOption('--out <file>', 'where to write it as PDF')
    .action(async (options: ReconcileOptions) => {
      const { account: accountId, from, to, out } = options
      for (const day of [from, to])
        if (!isDay(day)) throw new UsageError(`"${day}" is not a day such as 2026-01-31`)
      outFile(out)
      const seller = requiredSeller(options)
      const statement = await withRecords(options, records =>
        reconcile(records, seller, { accountId, from, to }),
      )
      const printer = new DocumentPrinter()
      try {
        writeFileSync(out, await printer.print(statement, seller.facsimile))
      } finally {
        await printer.close()
      }
      const balance = closingBalance(statement)
      const closing = formatKopecks(balance)
      const owed =
        balance < 0 ? `${formatKopecks(-balance)} ₽ are owed to the company` : `the company owes ${closing} ₽`
      answer(
        stdout,
        options,
        { from, to, opening: formatKopecks(statement.opening), closing, rows: statement.rows.length },
        `${out}: ${countOf(statement.rows.length, 'row')}; ${owed}\n`,
      )
    })
}

function view({ id, accountId, month, state, document, isReplaced }: ShownClosing): object {
  const { kind, number, date, amount, vat, tax, buyer, correction } = document
  return {
    id,
    account: accountId,
    month,
    kind,
    number,
    date,
    amount: formatKopecks(amount),
    vat: formatKopecks(vat),
    rate: tax.rate,
    inn: buyer.inn,
    name: buyer.name,
    state,
    ...(correction !== undefined && { correction }),
    ...(isReplaced === true && { isReplaced }),
  }
}

function line({ id, document, state, isReplaced }: ShownClosing): string {
  const { kind, number, date, amount, buyer, correction } = document
  const corrected = correction === undefined ? '' : `  correction ${correction.number}`
  const replaced = isReplaced === true ? '  corrected since' : ''
  return `${id}  ${kind} ${number}  ${date}  ${formatKopecks(amount)} ₽  ${state}  ${buyer.name}${corrected}${replaced}`
}
