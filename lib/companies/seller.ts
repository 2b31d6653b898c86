import type { BankDetails, CompanyDetails, Signer } from './company-details.ts'
import type { Kopecks } from '../money/kopecks.ts'

/** The tax on a sale: none, or value added tax at a rate in percent. */
export type TaxRate = 'none' | 5 | 7 | 22

/** A rate from the first day of a month on. */
export interface TaxPeriod {
  /** `2026-01-01`, in Moscow. */
  readonly from: string
  readonly rate: TaxRate
  /** The article by which no tax is owed; only with `none`. */
  readonly basis?: string
}

/** The seller, as shown on invoices and closing documents. */
export interface Seller extends CompanyDetails {
  readonly bank: BankDetails
  readonly signer: Signer
  /** Signs beside the head, if there is one. */
  readonly accountant?: string
  /** Oldest first, at least one. */
  readonly tax: readonly TaxPeriod[]
  /** The prefix of the numbers of the year. */
  readonly numbering: { readonly invoicePrefix: string; readonly documentPrefix: string }
  /** Working days within which an invoice is to be paid. */
  readonly payWithinDays: number
  /**
   * An image of signature and stamp as a `data:` URL, PNG or JPEG; on a stored document the hash under which it is
   * stored.
   */
  readonly facsimile?: string
}

/** The tax of a day, or undefined before the first period. */
export function taxOn(periods: readonly TaxPeriod[], day: string): TaxPeriod | undefined {
  return periods.findLast(period => period.from <= day)
}

/** The payee in the payment code. */
type Payee = Pick<Seller, 'name' | 'inn' | 'kpp' | 'bank'>

/** GOST R 56042-2014, 5.2: bytes of the mandatory block. */
const mandatoryBytesMax = 300

function mandatory({ name, bank }: Payee, separator: string): string {
  const { account, bic, correspondentAccount } = bank
  return [
    `Name=${name}`,
    `PersonalAcc=${account}`,
    `BankName=${bank.name}`,
    `BIC=${bic}`,
    `CorrespAcc=${correspondentAccount}`,
  ].join(separator)
}

/** The number of bytes by which a payee exceeds the payment code's mandatory block; 0 when it fits. */
export function payeeBytesOver(payee: Payee): number {
  return Math.max(0, Buffer.byteLength(mandatory(payee, '|')) - mandatoryBytesMax)
}

/**
 * The text of a payment QR code, GOST R 56042-2014: in UTF-8 (`ST00012`), separated by a character that no value
 * contains.
 */
export function paymentCode(payee: Payee, amount: Kopecks, purpose: string): string {
  const values = [payee.name, payee.bank.name, purpose].join('')
  const separator = ['|', '~', '^', '`'].find(one => !values.includes(one))
  if (separator === undefined)
    throw new RangeError('every separator of the payment code is part of its values')
  const rest = [
    `PayeeINN=${payee.inn}`,
    ...(payee.kpp === undefined ? [] : [`KPP=${payee.kpp}`]),
    `Sum=${amount}`,
    `Purpose=${purpose}`,
  ]
  return `ST00012${separator}${[mandatory(payee, separator), ...rest].join(separator)}`
}
