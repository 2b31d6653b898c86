import { actionStep } from '../administration/operator-log.ts'
import type { Seller } from '../companies/seller.ts'
import { formatKopecks, type Kopecks } from '../money/kopecks.ts'
import type { TransferRow } from '../stores/records/document-tables.ts'
import { readAmong, RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader, RecordStep, Records } from '../stores/records/records.ts'
import { decodeStatement } from '../statements/statement.ts'
import { incomingPayments } from '../statements/incoming-payments.ts'
import type { IncomingPayment } from '../statements/incoming-payments.ts'
import { matchPayment, comparableNumber, namedInvoices } from '../statements/match-payment.ts'
import type { Match, Payable, PayableInvoice } from '../statements/match-payment.ts'
import { parseStatement } from '../statements/parse-statement.ts'
import { changeStep, creditStep, partSteps } from './transfers.ts'
import { accountsByInn } from './company-versions.ts'
import { listInvoices } from './invoices.ts'
import { moscowDay } from '../ledger/moscow-days.ts'

/** What importing a statement did, or would do. */
export interface ImportResult {
  readonly documents: number
  readonly credited: readonly ImportedTransfer[]
  readonly queued: readonly ImportedTransfer[]
  /** Payments that an earlier file already contained. */
  readonly repeated: number
}

/** A payment of a statement and its result. */
export interface ImportedTransfer {
  readonly id: string
  readonly line: number
  readonly amount: string
  readonly payerInn: string
  readonly payerName: string
  readonly purpose: string
  readonly reason: string
  readonly account?: string
  readonly invoice?: string
}

interface StatementFile {
  readonly bytes: Uint8Array
  readonly at: number
  readonly isDryRun: boolean
  /** For the operator log. */
  readonly by?: { readonly operator: string; readonly fileName: string }
}

/** Payments per transaction: charges wait for its end. */
const batchSize = 200

/**
 * Imports a bank statement: payments that name their payer's own invoice are credited, the others are queued for a
 * person. A payment is imported once, however many files contain it; the next run continues an interrupted one.
 *
 * @throws StatementError with the line; then nothing is imported
 */
export async function importStatement(
  records: Records,
  seller: Seller,
  { bytes, at, isDryRun, by }: StatementFile,
): Promise<ImportResult> {
  const statement = parseStatement(decodeStatement(bytes))
  const payments = incomingPayments(statement, seller.bank.account)
  const known = await knownIds(records, payments)
  const { repeated, alike } = await findAlike(records, payments, known)
  const fresh = payments.filter(({ key }) => !known.has(key) && !repeated.has(key))
  const taken = matchAll(fresh, await readPayable(records, fresh, moscowDay(at)), alike)
  let late = 0
  if (!isDryRun) {
    // The import takes several transactions; the log entry precedes the first.
    if (by !== undefined) await records.write([importStep(records, by, taken, at)])
    for (let begin = 0; begin < taken.length; begin += batchSize) {
      late += await takeIn(records, taken.slice(begin, begin + batchSize), at)
    }
  }
  const described = taken.map(({ payment, match }) => ({ match, transfer: describe(payment, match) }))
  return {
    documents: statement.documents.length,
    credited: described.flatMap(({ match, transfer }) => (match.kind === 'credit' ? [transfer] : [])),
    queued: described.flatMap(({ match, transfer }) => (match.kind === 'queue' ? [transfer] : [])),
    repeated: payments.length - fresh.length + late,
  }
}

/** Matches payments in order: each sees invoices as paid by the ones before. */
function matchAll(
  payments: readonly IncomingPayment[],
  payable: Payable,
  alike: ReadonlySet<string>,
): readonly MatchedPayment[] {
  const paid = new Map<string, Kopecks>()
  const left: Payable = {
    ...payable,
    invoicesByNumber: number =>
      payable
        .invoicesByNumber(number)
        .map(one => ({ ...one, open: Math.max(0, one.open - (paid.get(one.id) ?? 0)) })),
  }
  return payments.map(payment => {
    const { amount, purpose, payer } = payment
    const found = matchPayment({ amount, purpose, payerInn: payer.inn }, left)
    const match = alike.has(payment.key) ? unsure(found) : found
    for (const { invoice, amount: part } of match.kind === 'credit' ? match.parts : [])
      paid.set(invoice.id, (paid.get(invoice.id) ?? 0) + part)
    return { payment, match }
  })
}

/** Queues a match for a person, whatever account it seems to belong to. */
function unsure(match: Match): Match {
  const accountIds = match.kind === 'credit' ? [match.accountId] : match.accountIds
  return { kind: 'queue', reason: 'alike', accountIds }
}

function importStep(
  records: Records,
  { operator, fileName }: NonNullable<StatementFile['by']>,
  taken: readonly MatchedPayment[],
  at: number,
): RecordStep {
  const credited = taken.filter(({ match }) => match.kind === 'credit').length
  const reason = `${fileName.slice(0, 200)}: ${credited} credited, ${taken.length - credited} queued`
  return actionStep(records, { operator, action: 'import-statement', accountId: '', reason, at })
}

interface MatchedPayment {
  readonly payment: IncomingPayment
  readonly match: Match
}

/** After a conflict with another import, each payment is tried separately. Returns how many were imported already. */
async function takeIn(records: Records, taken: readonly MatchedPayment[], at: number): Promise<number> {
  try {
    await records.write(taken.flatMap(one => stepsOf(records, one, at)))
    return 0
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    if (taken.length === 1) return 1
  }
  let late = 0
  for (const one of taken) late += await takeIn(records, [one], at)
  return late
}

async function knownIds(records: RecordReader, payments: readonly IncomingPayment[]): Promise<Set<string>> {
  const query = records.build.selectFrom('transfers').select('id')
  const keys = payments.map(payment => payment.key)
  const rows = await readAmong(keys, some => records.all(query.where('id', 'in', some)))
  return new Set(rows.map(({ id }) => id))
}

function stepsOf(records: Records, { payment, match }: MatchedPayment, at: number): RecordStep[] {
  const parts = match.kind === 'credit' ? match.parts : []
  const credited = parts[0]?.invoice
  const row: TransferRow = {
    id: payment.key,
    received_on: payment.receivedOn,
    number: payment.number,
    date: payment.date,
    amount_kopecks: payment.amount,
    payer_inn: payment.payer.inn,
    payer_name: payment.payer.name,
    payer_account: payment.payer.account,
    purpose: payment.purpose,
    state: credited === undefined ? 'queued' : 'credited',
    reason: reasonOf(match),
    suggestions: JSON.stringify(match.kind === 'queue' ? match.accountIds : []),
    account_id: credited?.accountId ?? null,
    invoice_id: parts.length === 1 ? (credited?.id ?? null) : null,
    revision: credited === undefined ? 0 : 1,
    imported_at: at,
  }
  const insert: RecordStep = { write: records.build.insertInto('transfers').values(row) }
  if (credited === undefined) return [insert]
  return [
    insert,
    changeStep(records, row, { action: 'credit', accountId: credited.accountId, note: row.reason, at }),
    ...partSteps(
      records,
      row,
      parts.map(({ invoice, amount }) => ({ invoiceId: invoice.id, amount })),
    ),
    creditStep(row, credited.accountId, at),
  ]
}

function reasonOf(match: Match): string {
  return match.kind === 'credit' ? `rule-${match.rule}` : match.reason
}

function describe(payment: IncomingPayment, match: Match): ImportedTransfer {
  const { key, line, amount, payer, purpose } = payment
  return {
    id: key,
    line,
    amount: formatKopecks(amount),
    payerInn: payer.inn,
    payerName: payer.name,
    purpose,
    reason: reasonOf(match),
    ...(match.kind === 'credit' && {
      account: match.accountId,
      invoice: match.parts.map(({ invoice }) => invoice.number).join(', '),
    }),
  }
}

/** Reads, before matching, the candidates for payments: the invoices that they name, and their payers' accounts. */
async function readPayable(
  records: RecordReader,
  payments: readonly IncomingPayment[],
  today: string,
): Promise<Payable> {
  // The number of the year follows the prefix.
  const numbers = payments.flatMap(payment =>
    namedInvoices(payment.purpose).flatMap(({ number }) => /\d{1,9}$/.exec(number)?.[0] ?? []),
  )
  const invoices = await readInvoices(records, [...new Set(numbers.map(Number))], today)
  const inns = [...new Set(payments.map(payment => payment.payer.inn))].filter(inn => inn !== '')
  const accounts = new Map<string, readonly string[]>()
  for (const inn of inns) accounts.set(inn, await accountsByInn(records, inn))
  return {
    invoicesByNumber: number => invoices.get(number) ?? [],
    accountsByInn: inn => accounts.get(inn) ?? [],
  }
}

async function readInvoices(
  records: RecordReader,
  numbers: readonly number[],
  today: string,
): Promise<ReadonlyMap<string, readonly PayableInvoice[]>> {
  const stored = await readAmong(numbers, some => listInvoices(records, today, { numbers: some }))
  const invoices = stored.map(({ id, accountId, document, state, paid, isAccountDeleted }) => {
    const { number, date, amount, buyer } = document
    const open = Math.max(0, amount - paid)
    const of = { id, accountId, number, date, amount, open }
    return { ...of, inn: buyer.inn, isCanceled: state === 'canceled', isAccountDeleted }
  })
  return Map.groupBy(invoices, ({ number }) => comparableNumber(number))
}

/** Payments of a file, by key, that an earlier file may have contained with another purpose text. */
interface AlikePayments {
  /** The purpose has the same letters and digits: an export in another charset, or with other quotes. */
  readonly repeated: ReadonlySet<string>
  /** The purpose differs; a person must decide whether it is the same payment. */
  readonly alike: ReadonlySet<string>
}

/** The fields that are equal in payments that differ only in their purpose. */
function groupOf(date: string, number: string, amount: number, payerAccount: string): string {
  return JSON.stringify([date, number, amount, payerAccount])
}

/** A purpose without the characters that exports write differently. */
function plain(purpose: string): string {
  return purpose
    .toLowerCase()
    .replaceAll('ё', 'е')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/**
 * Finds new payments of a file that differ only in their purpose from a stored payment that the file does not
 * contain. If the file contains both, they are separate payments: the bank's totals include both.
 * @param known keys of the file's payments that are stored
 */
async function findAlike(
  records: RecordReader,
  payments: readonly IncomingPayment[],
  known: ReadonlySet<string>,
): Promise<AlikePayments> {
  const fresh = payments.filter(payment => !known.has(payment.key))
  const days = [...new Set(fresh.map(payment => payment.date))]
  const query = records.build
    .selectFrom('transfers')
    .select(['id', 'date', 'number', 'amount_kopecks', 'payer_account', 'purpose'])
    .orderBy('id')
  const stored = await readAmong(days, some => records.all(query.where('date', 'in', some)))
  const absent = Map.groupBy(
    stored.filter(row => !known.has(row.id)),
    row => groupOf(row.date, row.number, row.amount_kopecks, row.payer_account),
  )
  const absentOf = ({ date, number, amount, payer }: IncomingPayment) =>
    absent.get(groupOf(date, number, amount, payer.account)) ?? []
  const repeated = new Set<string>()
  for (const payment of fresh) {
    const rows = absentOf(payment)
    const same = rows.findIndex(row => plain(row.purpose) === plain(payment.purpose))
    if (same === -1) continue
    rows.splice(same, 1)
    repeated.add(payment.key)
  }
  // Each stored payment matches one payment of the file.
  const others = fresh.filter(payment => !repeated.has(payment.key))
  const alike = others.filter(payment => absentOf(payment).pop() !== undefined)
  return { repeated, alike: new Set(alike.map(payment => payment.key)) }
}
