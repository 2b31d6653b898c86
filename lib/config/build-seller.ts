import { dirname, resolve } from 'node:path'
import { readFileSync, statSync } from 'node:fs'
import { cleanCompanyDetails, companyProblems, describeProblem } from '../companies/company-details.ts'
import { checkText, cleanText } from '../companies/printable-text.ts'
import { payeeBytesOver, type Seller, type TaxPeriod } from '../companies/seller.ts'
import type { Problems } from './problems.ts'
import type { SellerSettings } from './house-schema.ts'
import { fileProblem, readProblem } from '../platform/file-problem.ts'

const basisLengthMax = 120

/**
 * Builds the seller that documents name, and reports values that cannot be printed. An account number whose check
 * digit does not match the bank is only a notice: after a merger a bank keeps accounts under the old bank's code, and
 * the seller has no other number to give.
 */
export function buildSeller(
  settings: SellerSettings,
  file: string,
  problems: Problems,
): { readonly seller: Seller; readonly notices: readonly string[] } {
  const { tax, numbering, accountant, facsimile, payWithinDays, email, kpp, ediId, ...rest } = settings
  const details = cleanCompanyDetails({
    ...rest,
    kind: settings.inn.trim().length === 12 ? 'sole' : 'company',
    ...(email !== undefined && { email }),
    ...(kpp !== undefined && { kpp }),
    ...(ediId !== undefined && { ediId }),
  })
  // Empty values are removed from `details`; a seller always has both.
  const { bank = rest.bank, signer = rest.signer } = details
  const image =
    facsimile === undefined ? undefined : facsimileUrl(resolve(dirname(file), facsimile), problems)
  const seller: Seller = {
    ...details,
    bank,
    signer,
    ...(accountant !== undefined && { accountant: cleanText(accountant) }),
    tax: tax
      .map(({ basis, ...period }) => (basis === undefined ? period : { ...period, basis: cleanText(basis) }))
      .toSorted((a, b) => a.from.localeCompare(b.from)),
    numbering: {
      invoicePrefix: numbering.invoicePrefix ?? '',
      documentPrefix: numbering.documentPrefix ?? '',
    },
    payWithinDays,
    ...(image !== undefined && { facsimile: image }),
  }
  const notices: string[] = []
  const found = companyProblems(seller).filter(({ field, problem }) => {
    if (field !== 'bank.account' || problem.kind !== 'checkDigit') return true
    notices.push(`seller.bank.account ${describeProblem(problem)}`)
    return false
  })
  for (const { field, problem } of found)
    problems.add(['seller', ...field.split('.')], describeProblem(problem))
  if (found.length === 0) checkPaymentCode(seller, problems)
  if (seller.accountant !== undefined) {
    const problem = checkText(seller.accountant, 180)
    if (problem !== undefined) problems.add(['seller', 'accountant'], describeProblem(problem))
  }
  checkTax(settings.tax, problems)
  return { seller, notices }
}

function checkPaymentCode(seller: Seller, problems: Problems): void {
  const over = payeeBytesOver(seller)
  if (over === 0) return
  problems.add(
    ['seller', 'name'],
    `and bank.name are ${over} bytes too long for the payment code of invoices (GOST R 56042-2014); abbreviate them`,
  )
}

function checkTax(
  periods: readonly (Omit<TaxPeriod, 'basis'> & { basis?: string | undefined })[],
  problems: Problems,
): void {
  const seen = new Set<string>()
  for (const [index, { from, rate, basis }] of periods.entries()) {
    const path = ['seller', 'tax', index]
    if (!from.endsWith('-01'))
      problems.add([...path, 'from'], 'must be the first day of a month: a month has one closing document')
    if (seen.has(from))
      problems.add([...path, 'from'], `is there twice: only one rate can hold from ${from} on`)
    seen.add(from)
    if (rate !== 'none' && basis !== undefined) {
      problems.add([...path, 'basis'], 'must be absent: it is the reason why no tax is owed')
    } else if (rate === 'none') {
      const problem = checkText(cleanText(basis ?? ''), basisLengthMax)
      if (problem !== undefined) problems.add([...path, 'basis'], describeProblem(problem))
    }
  }
}

/** A signature and stamp at 300 dpi are far smaller. */
const facsimileBytesMax = 512 * 1024

const pngHead = Buffer.from('89504e470d0a1a0a', 'hex')
const pngEnd = Buffer.from('49454e44ae426082', 'hex')
const jpegHead = Buffer.from('ffd8ff', 'hex')
const jpegEnd = Buffer.from('ffd9', 'hex')

/**
 * Reads an image of signature and stamp as a `data:` URL. It is read with the configuration: replacing the file later
 * has no effect until the configuration is read again.
 * @returns `problem` when the image cannot be used
 */
function readFacsimile(file: string): { readonly url: string } | { readonly problem: string } {
  const problem = readProblem(file)
  if (problem !== undefined) return { problem: problem.words }
  const { size } = statSync(file)
  if (size > facsimileBytesMax)
    return { problem: `${file} has ${size} bytes; at most ${facsimileBytesMax} are kept with documents` }
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    return { problem: `${file} cannot be read: ${fileProblem(error)}` }
  }
  const type = typeOf(bytes)
  if (type === undefined) return { problem: `${file} is neither a PNG nor a JPEG image` }
  if (!bytes.subarray(-pngEnd.length).includes(type === 'png' ? pngEnd : jpegEnd))
    return { problem: `${file} is cut off: the end of the image is missing` }
  return { url: `data:image/${type};base64,${bytes.toString('base64')}` }
}

function typeOf(bytes: Buffer): 'png' | 'jpeg' | undefined {
  if (bytes.subarray(0, pngHead.length).equals(pngHead)) return 'png'
  return bytes.subarray(0, jpegHead.length).equals(jpegHead) ? 'jpeg' : undefined
}

function facsimileUrl(file: string, problems: Problems): string | undefined {
  const read = readFacsimile(file)
  if ('url' in read) return read.url
  problems.add(['seller', 'facsimile'], read.problem)
  return undefined
}
