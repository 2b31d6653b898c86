import type { PaymentsConfig } from '../config/config.ts'
import type { ReceiptSettings } from '../config/payments-schema.ts'
import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks } from '../money/kopecks.ts'

/** An amount in the API's format. */
function apiAmount(amountMicros: Micros): object {
  return { value: formatWholeKopecks(amountMicros), currency: 'RUB' }
}

/** The settings of receipts at a time; undefined where no receipts are made. */
export function receiptSettings({ receipts }: PaymentsConfig, at: number): ReceiptSettings | undefined {
  return receipts.findLast(({ from }) => from <= at)
}

/** Whether the payment is used later, and then needs a receipt of its own (54-FZ art. 1.2). */
export function isPrepayment({ paymentMode }: ReceiptSettings): boolean {
  return /prepayment$|^advance$/.test(paymentMode)
}

/** Codes of VAT rates, each with the calculated rate for advances (Tax Code art. 164 p. 4): 22 % and 22/122. */
const calculatedRates = [
  [3, 5],
  [4, 6],
  [7, 9],
  [8, 10],
  [11, 12],
] as const

/** The code of the rate for a receipt: the calculated rate as long as nothing was delivered. */
function vatCodeFor(code: number, isAdvance: boolean): number {
  const rates = calculatedRates.find(pair => pair.some(one => one === code))
  return rates?.[isAdvance ? 1 : 0] ?? code
}

const descriptions = { prepayment: 'Аванс за услуги доступа к API', used: 'Услуги доступа к API' }

interface ReceiptContent {
  readonly email: string
  readonly amountMicros: Micros
}

function receipt(settings: ReceiptSettings, { email, amountMicros }: ReceiptContent, isUse: boolean): object {
  const { taxSystem, vatCode, paymentMode, subject } = settings
  const isAdvance = !isUse && isPrepayment(settings)
  return {
    customer: { email },
    items: [
      {
        description: isAdvance ? descriptions.prepayment : descriptions.used,
        quantity: 1,
        measure: 'piece',
        amount: apiAmount(amountMicros),
        vat_code: vatCodeFor(vatCode, isAdvance),
        payment_subject: isUse && subject === 'payment' ? 'service' : subject,
        payment_mode: isUse ? 'full_payment' : paymentMode,
      },
    ],
    ...(taxSystem === undefined ? {} : { tax_system_code: taxSystem }),
  }
}

/** The receipt sent with a payment or refund; empty where no receipts are made. */
function enclosedReceipt(
  settings: ReceiptSettings | undefined,
  content: ReceiptContent,
): { readonly receipt?: object } {
  return settings === undefined ? {} : { receipt: receipt(settings, content, false) }
}

/** The body of a separate receipt: for the use of a prepayment, or to replace a failed one. */
export function receiptBody(
  kind: 'payment' | 'refund' | 'offset',
  object: { readonly payment: string } | { readonly refund: string },
  content: ReceiptContent,
  settings: ReceiptSettings,
): string {
  const isUse = kind === 'offset'
  return JSON.stringify({
    type: 'refund' in object ? 'refund' : 'payment',
    ...('refund' in object ? { refund_id: object.refund } : { payment_id: object.payment }),
    ...receipt(settings, content, isUse),
    send: true,
    settlements: [{ type: isUse ? 'prepayment' : 'cashless', amount: apiAmount(content.amountMicros) }],
  })
}

/**
 * How the customer pays: on a page or in a bank's app that returns to the gateway, or by a saved card without
 * confirmation.
 */
export type PaymentWay =
  | {
      readonly method: 'bank_card' | 'sbp' | null
      readonly returnUrl: string
      readonly language: 'ru' | 'en'
      /** Whether to save the card for automatic top-ups, with its owner's consent. */
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

/** For SBP the API returns the text of a QR code: a page shows it, a phone opens it. */
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
    // The default, false, would only authorize the amount and wait for a capture that never comes.
    capture: true,
    ...wayMembers(way),
    description: `${what} баланса, лицевой счёт ${accountId}`,
    metadata: { payment_id: id, account: accountId },
    merchant_customer_id: accountId,
    ...enclosedReceipt(settings, { email, amountMicros }),
  })
}

/** The body that creates a refund. */
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
