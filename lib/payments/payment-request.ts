import type { ReceiptSettings } from '../config/payments-schema.ts'
import type { Micros } from '../money/amount.ts'
import { apiAmount, enclosedReceipt } from './receipt-bodies.ts'

/** Who pays how: on a page or in a bank's app, which return to us, or by a saved card, with nobody to ask. */
export type PaymentWay =
  | {
      readonly method: 'bank_card' | 'sbp' | null
      readonly returnUrl: string
      readonly language: 'ru' | 'en'
      /** Whether the card is kept for automatic top-ups, as its owner agreed. */
      readonly savesCard?: boolean
      readonly address?: string
    }
  | { readonly savedMethodId: string }

interface PaymentRequest {
  readonly id: string
  readonly accountId: string
  readonly amountMicros: Micros
  readonly email: string
  readonly way: PaymentWay
}

/** SBP is asked for as the text of a QR code: a page shows it, a phone opens it. */
function wayMembers(way: PaymentWay): object {
  if ('savedMethodId' in way) return { payment_method_id: way.savedMethodId }
  const { method, returnUrl, language, address, savesCard = false } = way
  const type = method === 'sbp' ? 'qr' : 'redirect'
  return {
    confirmation: { type, return_url: returnUrl, locale: language === 'ru' ? 'ru_RU' : 'en_US' },
    ...(method === null ? {} : { payment_method_data: { type: method } }),
    ...(savesCard ? { save_payment_method: true } : {}),
    ...(address === undefined ? {} : { client_ip: address }),
  }
}

/** The body that creates a payment. */
export function paymentBody(request: PaymentRequest, settings: ReceiptSettings | undefined): string {
  const { id, accountId, amountMicros, email, way } = request
  const what = 'savedMethodId' in way ? 'Автопополнение' : 'Пополнение'
  return JSON.stringify({
    amount: apiAmount(amountMicros),
    // Absent is false, which would hold the money for a second step that never comes.
    capture: true,
    ...wayMembers(way),
    description: `${what} баланса, лицевой счёт ${accountId}`,
    metadata: { payment_id: id, account: accountId },
    merchant_customer_id: accountId,
    ...enclosedReceipt(settings, { email, amountMicros }),
  })
}

/** The body that sends money back. */
export function refundBody(
  refund: {
    readonly id: string
    readonly providerPaymentId: string
    readonly amountMicros: Micros
    readonly email: string
  },
  settings: ReceiptSettings | undefined,
): string {
  const { id, providerPaymentId, amountMicros, email } = refund
  return JSON.stringify({
    payment_id: providerPaymentId,
    amount: apiAmount(amountMicros),
    metadata: { refund_id: id },
    ...enclosedReceipt(settings, { email, amountMicros }),
  })
}
