import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { readCompany } from '../companies/read-company.ts'
import { CompanyBook, setCompany } from '../documents/company-book.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import type { CliContext } from './context.ts'
import { withRecords } from './with-records.ts'

interface CompanyOptions extends SharedOptions {
  readonly set?: string
}

/** `account company`: shows or sets the company that an account's documents are made out to. */
export function addAccountCompany(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'company <account>', 'show or set the company that documents are made out to')
    .option(
      '--set <file>',
      'a JSON file: kind (company or sole), name, inn, kpp, ogrn, address, email, bank, signer, ediId',
    )
    .action(async (accountId: string, options: CompanyOptions) => {
      const typed = options.set === undefined ? undefined : readDetails(options.set)
      const version = await withRecords(options, (records, now) =>
        typed === undefined
          ? new CompanyBook(records).current(accountId)
          : setCompany(records, accountId, typed, now),
      )
      if (version === undefined) throw new CommandError(`the account ${accountId} has no company details`)
      const { details } = version
      stdout.write(
        options.json === true
          ? `${JSON.stringify(details)}\n`
          : `${details.name}, INN ${details.inn}${details.kpp === undefined ? '' : `, KPP ${details.kpp}`}\n`,
      )
    })
}

/** @throws CommandError when the file is none that can be read */
function readDetails(file: string): ReturnType<typeof readCompany> {
  try {
    return readCompany(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new CommandError(`${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
