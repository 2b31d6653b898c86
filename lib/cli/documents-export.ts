import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { advancesTable, listAdvances } from '../documents/advances.ts'
import type { Advance } from '../documents/advances.ts'
import { listClosing } from '../documents/closing-documents.ts'
import { monthFiles } from '../documents/month-files.ts'
import type { DocumentFile } from '../documents/month-files.ts'
import { isMonth, lastDay } from '../ledger/moscow-days.ts'
import { DocumentPrinter } from '../documents/print/document-printer.ts'
import { zipFiles } from '../documents/zip-files.ts'
import { formatKopecks } from '../money/kopecks.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { UsageError } from './context.ts'
import type { CliContext } from './context.ts'
import { openHouseConfig } from './open-config.ts'
import { requiredSeller, withRecords } from './with-records.ts'

/** Options of commands that are about one month. */
export interface MonthOptions extends SharedOptions {
  readonly month: string
}

/** @throws UsageError when it is none */
export function monthOf({ month }: MonthOptions): string {
  if (isMonth(month)) return month
  throw new UsageError(`--month: "${month}" is no month such as 2026-11`)
}

/** `documents export` and `documents advances`: what goes to the seller's accountant. */
export function addExportCommands(documents: Command, { stdout }: CliContext): void {
  addCommand(documents, 'export', "write a month's documents as PDF and XML, with a register as CSV")
    .requiredOption('--month <month>', 'such as 2026-11')
    .requiredOption('--out <path>', 'a folder, made when absent, or a file that ends in .zip')
    .action(async (options: MonthOptions & { readonly out: string }) => {
      const month = monthOf(options)
      const { out, json } = options
      const files = await filesOf(options, month)
      if (out.toLowerCase().endsWith('.zip')) writeFileSync(out, zipFiles(files, lastDay(month)))
      else writeFolder(out, files)
      stdout.write(
        json === true
          ? `${JSON.stringify({ month, files: files.map(file => file.name) })}\n`
          : `${files.length} files in ${out}\n`,
      )
    })
  addCommand(documents, 'advances', 'list what companies paid ahead in a month, for invoices of advances')
    .requiredOption('--month <month>', 'such as 2026-11')
    .option('--out <file>', 'write it as CSV')
    .action(async (options: MonthOptions & { readonly out?: string }) => {
      const month = monthOf(options)
      const seller = requiredSeller(options)
      const advances = await withRecords(options, records => listAdvances(records, seller, month))
      if (options.out !== undefined) writeFileSync(options.out, advancesTable(advances))
      for (const advance of advances) {
        const said = view(advance)
        stdout.write(
          options.json === true
            ? `${JSON.stringify(said)}\n`
            : `${said.date}  ${said.amount} ₽  VAT ${said.vat} ₽  ${said.payer}  ${said.name}\n`,
        )
      }
      if (advances.length === 0 && options.json !== true)
        stdout.write(`no advances with value added tax in ${month}\n`)
    })
}

/** A month's documents, and its advances where the seller owes tax on them. */
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

function writeFolder(folder: string, files: readonly DocumentFile[]): void {
  mkdirSync(folder, { recursive: true })
  for (const { name, bytes } of files) writeFileSync(join(folder, name), bytes)
}

function view({ accountId, buyer, date, name, amount, rate, vat, left }: Advance) {
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
