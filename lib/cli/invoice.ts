import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { systemClock } from '../platform/clock.ts'
import { createInvoice, cancelInvoice, listInvoices } from '../documents/invoices.ts'
import { moscowDay } from '../ledger/moscow-days.ts'
import { DocumentPrinter } from '../documents/print/document-printer.ts'
import { formatKopecks, parseKopecks } from '../money/kopecks.ts'
import { answer, addCommand, UsageError, type SharedOptions, type CliContext } from './command.ts'
import { operatorName, outFile } from './arguments.ts'
import { checkAccount, requiredSeller, withRecords } from './with-store.ts'

interface CreateOptions extends SharedOptions {
  readonly account: string
  readonly rub: string
  readonly out?: string
  readonly email: boolean
}

/** `invoice`: makes invoices for companies, lists and cancels them. */
export function fillInvoice(invoice: Command, context: CliContext): void {
  addCreate(invoice, context)
  addList(invoice, context)
  addCancel(invoice, context)
}

function addCreate(invoice: Command, { stdout }: CliContext): void {
  addCommand(invoice, 'create', 'make an invoice for the company of an account')
    .requiredOption('--account <account>', 'whose balance it is for')
    .requiredOption('--rub <amount>', 'roubles and kopecks, such as 10000.00')
    .option('--out <file>', 'where to write it as PDF')
    .option('--no-email', 'do not email it to the company')
    .action(async (options: CreateOptions) => {
      const amount = parseKopecks(options.rub)
      if (amount === undefined)
        throw new UsageError(`--rub: "${options.rub}" is not an amount such as 10000.00`)
      const out = options.out === undefined ? undefined : outFile(options.out)
      const seller = requiredSeller(options)
      const { id, document } = await withRecords(options, (records, at) =>
        createInvoice(records, seller, {
          accountId: options.account,
          amount,
          at,
          isEmailed: options.email,
        }),
      )
      if (out !== undefined) {
        const printer = new DocumentPrinter()
        try {
          writeFileSync(out, await printer.print(document, seller.facsimile))
        } finally {
          await printer.close()
        }
      }
      const { number, date } = document
      const json = { id, number, date, amount: formatKopecks(amount) }
      answer(
        stdout,
        options,
        json,
        `invoice ${number} of ${date} for ${json.amount} ₽ made, with the id ${id}${out === undefined ? '' : `: ${out}`}\n`,
      )
    })
}

function addList(invoice: Command, { stdout }: CliContext): void {
  addCommand(invoice, 'list', 'list invoices, the newest first')
    .option('--account <account>', 'of one account')
    .action(async (options: SharedOptions & { readonly account?: string }) => {
      const today = moscowDay(systemClock.now())
      const { account } = options
      const filter = account === undefined ? {} : { accountId: account }
      const all = await withRecords(options, async records => {
        await checkAccount(records, account)
        return listInvoices(records, today, filter)
      })
      for (const { id, accountId, document, paid, state } of all) {
        const { number, date, payUntil, amount } = document
        const line = {
          id,
          account: accountId,
          number,
          date,
          payUntil,
          amount: formatKopecks(amount),
          paid: formatKopecks(paid),
          state,
        }
        answer(
          stdout,
          options,
          line,
          `${id}  ${number}  ${date}  ${line.amount} ₽  ${state}  ${document.buyer.name}\n`,
        )
      }
      if (all.length === 0 && options.json !== true) stdout.write('no invoices\n')
    })
}

function addCancel(invoice: Command, { stdout }: CliContext): void {
  addCommand(invoice, 'cancel <invoice>', 'cancel an invoice').action(
    async (id: string, options: SharedOptions) => {
      await withRecords(options, (records, at) =>
        cancelInvoice(records, id, at, { operator: operatorName() }),
      )
      answer(stdout, options, { id }, `invoice ${id} canceled\n`)
    },
  )
}
