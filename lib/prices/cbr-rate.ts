import { XmlDocument } from 'xmldoc'
import { canonicalDecimal, parseDecimal, productOf } from '../money/decimal.ts'
import type { Decimal } from '../money/price.ts'

/** The rate of a day. */
export interface DayRate {
  /** `2026-11-24`, in Moscow. */
  readonly day: string
  /** Roubles for a dollar. */
  readonly usdRub: Decimal
}

/** A rate that cannot be read, or must not be used. */
export class RateError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'RateError'
  }
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
 * Reads the dollar's rate out of the Central Bank's daily XML, which is in windows-1251 and writes decimals with a comma.
 * @throws RateError for anything that is no such list, or a rate that is not above 0
 */
export function readCbrRate(body: Buffer): DayRate {
  const root = readXml(body)
  const [, dayOfMonth, month, year] = day.exec(root.attr['Date'] ?? '') ?? []
  if (root.name !== 'ValCurs' || year === undefined) {
    throw new RateError('is no list of rates of the Central Bank: it has no ValCurs with a Date')
  }
  const dollar = root.childrenNamed('Valute').find(one => one.valueWithPath('CharCode')?.trim() === 'USD')
  if (dollar === undefined) throw new RateError('has no rate of USD')
  const value = (dollar.valueWithPath('Value') ?? '').trim().replace(',', '.')
  const nominal = (dollar.valueWithPath('Nominal') ?? '').trim()
  const unit = powersOfTen.get(nominal)
  if (unit === undefined || !/^\d{1,6}(?:\.\d{1,9})?$/.test(value)) {
    throw new RateError(`has a rate of USD that cannot be read: "${value}" for "${nominal}"`)
  }
  if (parseDecimal(value) === 0n) throw new RateError('has a rate of 0 for USD')
  return { day: `${year}-${month}-${dayOfMonth}`, usdRub: canonicalDecimal(productOf(value, unit)) }
}

function readXml(body: Buffer): XmlDocument {
  const name = encoding.exec(body.subarray(0, 200).toString('latin1'))?.[1] ?? 'utf-8'
  try {
    return new XmlDocument(new TextDecoder(name).decode(body))
  } catch (error) {
    throw new RateError('is no XML that can be read', { cause: error })
  }
}
