import { XmlDocument } from 'xmldoc'
import { canonicalDecimal, parseDecimal, productOf, decimalUnit } from '../money/decimal.ts'
import type { Decimal } from '../money/price.ts'
import { actionStep } from '../administration/operator-log.ts'
import type { DatedRate } from '../money/pricing.ts'
import type { RateRow } from '../stores/records/operator-tables.ts'
import { ReasonedError } from '../platform/reasoned-error.ts'
import { RecordConflictError, type RecordReader, type Records } from '../stores/records/records.ts'

export interface DayRate {
  /** `2026-11-24`, in Moscow. */
  readonly day: string
  /** Roubles for a dollar. */
  readonly usdRub: Decimal
}

/** Why a rate cannot be read, or must not be used. */
export const rateCodes = [
  'dollar_missing',
  'dollar_unreadable',
  'dollar_zero',
  'list_unreadable',
  'no_list',
  'none_held',
  'rate_not_held',
] as const

/** A rate that cannot be read, or must not be used. */
export class RateError extends ReasonedError<(typeof rateCodes)[number]> {
  override readonly name = 'RateError'
}

const day = /^(\d\d)[./](\d\d)[./](\d{4})$/
const encoding = /^<\?xml[^>]*\bencoding=["']([\w-]+)["']/
const powersOfTen: ReadonlyMap<string, Decimal> = new Map([
  ['1', '1'],
  ['10', '0.1'],
  ['100', '0.01'],
  ['1000', '0.001'],
])

/**
 * Reads the dollar's rate from the Central Bank's daily XML, which is in windows-1251 and writes decimals with a comma.
 * @throws RateError for anything else, or a rate that is not above 0
 */
export function readCbrRate(body: Buffer): DayRate {
  const root = readXml(body)
  const [, dayOfMonth, month, year] = day.exec(root.attr['Date'] ?? '') ?? []
  if (root.name !== 'ValCurs' || year === undefined) {
    throw new RateError('no_list', 'is no list of rates of the Central Bank: it has no ValCurs with a Date')
  }
  const dollar = root.childrenNamed('Valute').find(one => one.valueWithPath('CharCode')?.trim() === 'USD')
  if (dollar === undefined) throw new RateError('dollar_missing', 'has no rate of USD')
  const value = (dollar.valueWithPath('Value') ?? '').trim().replace(',', '.')
  const nominal = (dollar.valueWithPath('Nominal') ?? '').trim()
  const unit = powersOfTen.get(nominal)
  if (unit === undefined || !/^\d{1,6}(?:\.\d{1,9})?$/.test(value)) {
    throw new RateError(
      'dollar_unreadable',
      `has a rate of USD that cannot be read: "${value}" for "${nominal}"`,
      { value, nominal },
    )
  }
  if (parseDecimal(value) === 0n) throw new RateError('dollar_zero', 'has a rate of 0 for USD')
  return { day: `${year}-${month}-${dayOfMonth}`, usdRub: canonicalDecimal(productOf(value, unit)) }
}

function readXml(body: Buffer): XmlDocument {
  const name = encoding.exec(body.subarray(0, 200).toString('latin1'))?.[1] ?? 'utf-8'
  try {
    return new XmlDocument(new TextDecoder(name).decode(body))
  } catch (error) {
    throw new RateError('list_unreadable', 'is no XML that can be read', {}, { cause: error })
  }
}

/** The most rates to read: the month for which prices may still be needed. */
const rowsMax = 40

/** The result of recording a rate. */
interface NotedRate {
  readonly rate: DayRate
  /** `known` if the day has its rate already. */
  readonly became: 'known' | RateRow['state']
  /** The rate that was in use before. */
  readonly before?: Decimal
}

/** The latest rates, the newest first. */
export function readRates(records: RecordReader): Promise<readonly RateRow[]> {
  const { build } = records
  return records.all(build.selectFrom('exchange_rates').selectAll().orderBy('day', 'desc').limit(rowsMax))
}

/**
 * Stores a new rate. One that differs from the rate before by more than the limit is held.
 * @param changePercentMax a decimal
 */
export async function noteRate(
  records: Records,
  rate: DayRate,
  changePercentMax: Decimal,
  now: number,
): Promise<NotedRate> {
  const rows = await readRates(records)
  if (rows.some(row => row.day === rate.day)) return { rate, became: 'known' }
  const before = rows.find(row => row.state === 'used' && row.day < rate.day)?.usd_rub
  const state = before !== undefined && isJump(before, rate.usdRub, changePercentMax) ? 'held' : 'used'
  const row = { day: rate.day, usd_rub: rate.usdRub, state, found_at: now, accepted_at: null } as const
  try {
    await records.write([{ write: records.build.insertInto('exchange_rates').values(row) }])
  } catch (error) {
    // Another node was faster.
    if (error instanceof RecordConflictError) return { rate, became: 'known' }
    throw error
  }
  return { rate, became: state, ...(before !== undefined && { before }) }
}

interface RateAcceptance {
  /** By default the latest held rate. */
  readonly day?: string | undefined
  /** For the operators' log. */
  readonly operator: string
}

/**
 * Puts a held rate into use.
 * @throws RateError when there is none
 */
export async function acceptRate(
  records: Records,
  { day, operator }: RateAcceptance,
  now: number,
): Promise<RateRow> {
  const held = (await readRates(records)).find(
    row => row.state === 'held' && (day === undefined || row.day === day),
  )
  if (held === undefined)
    throw day === undefined
      ? new RateError('none_held', 'no rate is held: gateway prices rate shows those there are')
      : notHeld(day)
  const change = records.build
    .updateTable('exchange_rates')
    .set({ state: 'used', accepted_at: now })
    .where('day', '=', held.day)
    .where('state', '=', 'held')
  const reason = `${held.day}: ${held.usd_rub}`
  try {
    await records.write([
      { write: change, rows: 1 },
      actionStep(records, { operator, action: 'accept-rate', accountId: '', reason, at: now }),
    ])
  } catch (error) {
    // Another operator was faster.
    throw error instanceof RecordConflictError ? notHeld(held.day, error) : error
  }
  return { ...held, state: 'used', accepted_at: now }
}

function notHeld(day: string, cause?: RecordConflictError): RateError {
  return new RateError(
    'rate_not_held',
    `the rate of ${day} is not held: gateway prices rate shows those there are`,
    { day },
    { cause },
  )
}

/**
 * The rates for pricing: the one in force, the one before it for exchanges that began then, and future ones. A rate
 * applies from midnight in Moscow on; the first one ever found applies from the beginning.
 */
export function ratesInForce(
  rows: readonly Pick<RateRow, 'day' | 'usd_rub' | 'state'>[],
  now: number,
): DatedRate[] {
  const used = rows
    .filter(({ state }) => state === 'used')
    .toSorted((one, other) => (one.day < other.day ? -1 : 1))
  const begun = used.findLastIndex(({ day }) => Date.parse(startOf(day)) <= now)
  return used
    .slice(Math.max(0, begun - 1))
    .map(({ day, usd_rub: usdRub }, index) =>
      begun <= 0 && index === 0 ? { usdRub } : { from: startOf(day), usdRub },
    )
}

function startOf(day: string): string {
  return `${day}T00:00:00+03:00`
}

function isJump(before: Decimal, after: Decimal, percentMax: Decimal): boolean {
  const [left, right] = [parseDecimal(before), parseDecimal(after)]
  const change = left > right ? left - right : right - left
  return change * 100n * decimalUnit > parseDecimal(before) * parseDecimal(percentMax)
}

/** How much a rate differs from the one before, in percent with two decimals: `-7.25`. */
export function changePercent(before: Decimal, after: Decimal): string {
  const left = parseDecimal(before)
  const hundredths = ((parseDecimal(after) - left) * 10_000n) / left
  const size = hundredths < 0n ? -hundredths : hundredths
  return `${hundredths < 0n ? '-' : ''}${size / 100n}.${String(size % 100n).padStart(2, '0')}`
}
