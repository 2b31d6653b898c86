import type { Seller } from './seller.ts'
import type { Kopecks } from '../money/kopecks.ts'

/** Who is paid, as the payment code has it. */
export type Payee = Pick<Seller, 'name' | 'inn' | 'kpp' | 'bank'>

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

/** How many bytes of the payment code's mandatory block a payee takes beyond what fits; 0 when it fits. */
export function payeeBytesOver(payee: Payee): number {
  return Math.max(0, Buffer.byteLength(mandatory(payee, '|')) - mandatoryBytesMax)
}

/**
 * The text of a payment QR code, GOST R 56042-2014: in UTF-8 (`ST00012`), separated by a character that no value
 * holds.
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
