import { createHash } from 'node:crypto'
import { formatKopecks, type Kopecks } from '../money/kopecks.ts'
import { StatementError } from './statement.ts'
import type { AccountSection, PaymentSide, Statement, StatementDocument } from './statement.ts'

/** Money that arrived in the seller's account. */
export interface IncomingPayment {
  /** The same in every file that contains the payment, and in no other payment. */
  readonly key: string
  readonly line: number
  readonly number: string
  readonly date: string
  readonly receivedOn: string
  readonly amount: Kopecks
  readonly payer: PaymentSide
  readonly purpose: string
}

/**
 * The payments into an account by a statement, once its own totals agree with its documents.
 *
 * @throws StatementError when the statement is of another account, or its totals do not add up
 */
export function incomingPayments(statement: Statement, account: string): readonly IncomingPayment[] {
  const sections = statement.sections.filter(section => section.account === account)
  if (sections.length === 0) {
    const found = [...new Set(statement.sections.map(section => section.account))].join(', ')
    throw new StatementError(
      found === '' ? 'account_none' : 'account_other',
      `the statement is of ${found === '' ? 'no account' : `account ${found}`}; the seller's is ${account}`,
      { found, own: account },
    )
  }
  const received = statement.documents.filter(
    one => one.payee.account === account && one.receivedOn !== undefined,
  )
  const sent = statement.documents.filter(one => one.payer.account === account && one.sentOn !== undefined)
  for (const section of sections) checkSection(section, received, sent)
  for (const document of received) checkIsCovered(document, sections)
  return withKeys(received, account, sections)
}

function checkSection(
  section: AccountSection,
  received: readonly StatementDocument[],
  sent: readonly StatementDocument[],
): void {
  const isWithin = (day: string | undefined): boolean =>
    day !== undefined && day >= section.from && day <= section.to
  const cameIn = sum(received.filter(one => isWithin(one.receivedOn)))
  const wentOut = sum(sent.filter(one => isWithin(one.sentOn)))
  checkTotal(section, 'ВсегоПоступило', section.received, cameIn, received)
  checkTotal(section, 'ВсегоСписано', section.sent, wentOut, sent)
  if (section.opening === undefined || section.closing === undefined) return
  checkTotal(section, 'КонечныйОстаток', section.closing, section.opening + cameIn - wentOut, received)
}

function sum(documents: readonly StatementDocument[]): Kopecks {
  return documents.reduce((total, one) => total + one.amount, 0)
}

function checkTotal(
  section: AccountSection,
  name: string,
  said: Kopecks | undefined,
  found: Kopecks,
  documents: readonly StatementDocument[],
): void {
  if (said === undefined || said === found) return
  const { from, to, line } = section
  const message =
    `${name} is ${formatKopecks(said)}, and the documents from ${from} to ${to} make ` +
    `${formatKopecks(found)}: some are missing, changed or doubled`
  const details = { name, saidKopecks: said, foundKopecks: found, from, to, line }
  const doubled = firstDoubled(documents)
  if (doubled === undefined) throw new StatementError('totals_differ', message, details)
  const [first, again] = doubled
  throw new StatementError(
    'totals_doubled',
    `${message} (the document of line ${first} stands again in line ${again})`,
    { ...details, first, again },
  )
}

/** A payment that no total covers could be anything. */
function checkIsCovered(document: StatementDocument, sections: readonly AccountSection[]): void {
  const day = document.receivedOn ?? ''
  if (sections.some(section => day >= section.from && day <= section.to)) return
  throw new StatementError(
    'day_uncovered',
    `the document came in on ${day}, a day that the statement does not cover`,
    { day, line: document.line },
  )
}

/** White space differs between exports of the same bank. */
function identity(document: StatementDocument, account: string): string {
  const { date, number, amount, payer, purpose } = document
  return JSON.stringify([account, date, number, amount, payer.account, purpose.replaceAll(/\s+/g, '')])
}

function firstDoubled(documents: readonly StatementDocument[]): [number, number] | undefined {
  const lines = new Map<string, number>()
  for (const document of documents) {
    const key = identity(document, '')
    const before = lines.get(key)
    if (before !== undefined) return [before, document.line]
    lines.set(key, document.line)
  }
  return undefined
}

/**
 * Two identical payments count as two only when the bank's total says so; their order distinguishes them, which is the
 * same in every file that covers their day.
 */
function withKeys(
  documents: readonly StatementDocument[],
  account: string,
  sections: readonly AccountSection[],
): readonly IncomingPayment[] {
  const doubled = firstDoubled(documents)
  if (doubled !== undefined && sections.some(section => section.received === undefined)) {
    const [first, line] = doubled
    throw new StatementError(
      'payment_doubled',
      `stands in line ${first} already, and no total says that both came`,
      { first, line },
    )
  }
  const seen = new Map<string, number>()
  return documents.map(document => {
    const alike = identity(document, account)
    const count = seen.get(alike) ?? 0
    seen.set(alike, count + 1)
    const { line, number, date, receivedOn = date, amount, payer, purpose } = document
    const key = createHash('sha256').update(`${alike}#${count}`).digest('hex')
    return { key, line, number, date, receivedOn, amount, payer, purpose }
  })
}
