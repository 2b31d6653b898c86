import type { Accounts } from '../accounts/accounts.ts'
import { systemClock } from '../platform/clock.ts'
import type { Seller } from '../companies/seller.ts'
import { DocumentError } from '../documents/document-error.ts'
import { StatementError } from '../statements/statement.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import type { SharedOptions } from './add-command.ts'
import { connectTo } from './change-accounts.ts'
import { CommandError } from './context.ts'
import { openHouseConfig, openStoreSetting } from './open-config.ts'

/** Works on business rows through the running server, or with the store's lock where none runs. */
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

/** Reads business rows, beside a running server or without one. */
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
  throw new CommandError('the configuration has no seller: name who sells in the section seller')
}
