import { createHash } from 'node:crypto'
import { isForgotten } from '../administration/forget-user.ts'
import { cleanCompanyDetails, companyProblems, describeProblem } from '../companies/company-details.ts'
import type { CompanyDetails } from '../companies/company-details.ts'
import { retryConflicts, type RecordReader, type Records } from '../stores/records/records.ts'
import { DocumentError, type PrintedDocument } from './document.ts'
import type { Seller } from '../companies/seller.ts'

/** An account's company details as of some time. */
export interface CompanyVersion {
  readonly accountId: string
  readonly version: number
  readonly details: CompanyDetails
  readonly createdAt: number
  /** When the account became a company's: the time of its first version. */
  readonly since: number
}

const attemptsMax = 20

/**
 * All versions of company details, by account and version; with `accountId`, those of one account. Each change adds a
 * version, so that old documents keep their details.
 */
export async function companyVersions(
  records: RecordReader,
  accountId?: string,
): Promise<readonly CompanyVersion[]> {
  const every = records.build.selectFrom('companies').selectAll().orderBy('account_id').orderBy('version')
  const rows = await records.all(accountId === undefined ? every : every.where('account_id', '=', accountId))
  const since = new Map(rows.filter(row => row.version === 1).map(row => [row.account_id, row.created_at]))
  return rows.map(row => ({
    accountId: row.account_id,
    version: row.version,
    details: JSON.parse(row.details) as CompanyDetails,
    createdAt: row.created_at,
    since: since.get(row.account_id) ?? row.created_at,
  }))
}

/** The latest details of an account; undefined when it does not belong to a company. */
export async function currentCompany(
  records: RecordReader,
  accountId: string,
): Promise<CompanyVersion | undefined> {
  return (await companyVersions(records, accountId)).at(-1)
}

/** Accounts whose company currently has this INN, without deleted ones. */
export async function accountsByInn(records: RecordReader, inn: string): Promise<readonly string[]> {
  const rows = await records.all(
    records.build
      .selectFrom('companies')
      .innerJoin('accounts', 'accounts.id', 'companies.account_id')
      .select(['account_id', 'accounts.email'])
      .distinct()
      .where('inn', '=', inn),
  )
  const open = rows.filter(row => !isForgotten(row.email))
  const current = await Promise.all(open.map(row => currentCompany(records, row.account_id)))
  return current.flatMap(one => (one?.details.inn === inn ? [one.accountId] : []))
}

/**
 * Stores an account's details as a new version; unchanged details change nothing.
 * @throws DocumentError that lists the errors in them
 */
export async function setCompany(
  records: Records,
  accountId: string,
  typed: CompanyDetails,
  at: number,
): Promise<CompanyVersion> {
  const details = cleanCompanyDetails(typed)
  const wrong = companyProblems(details)
  const problems = wrong.map(({ field, problem }) => `${field} ${describeProblem(problem)}`)
  if (problems.length > 0) {
    const fields = wrong.map(({ field }) => field).join(', ')
    throw new DocumentError('company_wrong', `the details are wrong: ${problems.join('; ')}`, { fields })
  }
  return retryConflicts(attemptsMax, async () => {
    const current = await currentCompany(records, accountId)
    if (current !== undefined && JSON.stringify(current.details) === JSON.stringify(details)) return current
    const version = (current?.version ?? 0) + 1
    const row = {
      account_id: accountId,
      version,
      inn: details.inn,
      details: JSON.stringify(details),
      created_at: at,
    }
    await records.write([{ write: records.build.insertInto('companies').values(row) }])
    return { accountId, version, details, createdAt: at, since: current?.since ?? at }
  })
}

const prefix = 'sha256:'

/**
 * The seller as documents store it: the image is stored once, and documents refer to it by the hash of its bytes.
 * Replacing the file later changes no document issued before.
 */
export async function keepFacsimile(records: Records, seller: Seller, at: number): Promise<Seller> {
  const image = seller.facsimile
  if (image === undefined) return seller
  const id = createHash('sha256').update(image).digest('hex')
  const { build } = records
  const [known] = await records.all(build.selectFrom('facsimiles').select('id').where('id', '=', id))
  if (known === undefined) {
    const row = build
      .insertInto('facsimiles')
      .values({ id, image, kept_at: at })
      .onConflict(conflict => conflict.doNothing())
    await records.write([{ write: row }])
  }
  return { ...seller, facsimile: `${prefix}${id}` }
}

/**
 * The signature image of a document, as a `data:` URL.
 * @throws DocumentError when it is not in the store
 */
export async function facsimileOf(
  records: RecordReader,
  { seller: { facsimile } }: PrintedDocument,
): Promise<string | undefined> {
  if (facsimile === undefined || facsimile.startsWith('data:')) return facsimile
  const id = facsimile.slice(prefix.length)
  const [row] = await records.all(records.build.selectFrom('facsimiles').select('image').where('id', '=', id))
  if (row !== undefined) return row.image
  throw new DocumentError('image_missing', `the store has no image ${facsimile}`, { image: facsimile })
}
