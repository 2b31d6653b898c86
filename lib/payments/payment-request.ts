import type { ReceiptSettings } from '../config/config.ts'
import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks } from '../money/kopecks.ts'

interface PaymentRequest {
  readonly id: string
  readonly accountId: string
  readonly amountMicros: Micros
  readonly method: 'bank_card' | 'sbp' | null
  readonly email: string
  readonly returnUrl: string
  readonly language: 'ru' | 'en'
  readonly address?: string
}

function money(amountMicros: Micros): object {
  return { value: formatWholeKopecks(amountMicros), currency: 'RUB' }
}

/** A receipt as it goes with a payment or refund. */
function receipt(
  settings: ReceiptSettings,
  email: string,
  amountMicros: Micros,
  description: string,
): object {
  const { taxSystem, vatCode, paymentMode, subject } = settings
  return {
    customer: { email },
    items: [
      {
        description,
        quantity: 1,
        measure: 'piece',
        amount: money(amountMicros),
        vat_code: vatCode,
        payment_subject: subject,
        payment_mode: paymentMode,
      },
    ],
    ...(taxSystem === undefined ? {} : { tax_system_code: taxSystem }),
  }
}

const prepayment = 'Аванс за услуги доступа к API'
const used = 'Услуги доступа к API'

/** The body that creates a payment. SBP is asked for as a QR code's text: a page shows it, a phone opens it. */
export function paymentBody(request: PaymentRequest, settings: ReceiptSettings | undefined): string {
  const { id, accountId, amountMicros, method, email, returnUrl, language, address } = request
  const type = method === 'sbp' ? 'qr' : 'redirect'
  return JSON.stringify({
    amount: money(amountMicros),
    // Absent is false, which would hold the money for a second step that never comes.
    capture: true,
    confirmation: { type, return_url: returnUrl, locale: language === 'ru' ? 'ru_RU' : 'en_US' },
    ...(method === null ? {} : { payment_method_data: { type: method } }),
    description: `Пополнение баланса, лицевой счёт ${accountId}`,
    metadata: { payment_id: id, account: accountId },
    merchant_customer_id: accountId,
    ...(address === undefined ? {} : { client_ip: address }),
    ...(settings === undefined ? {} : { receipt: receipt(settings, email, amountMicros, prepayment) }),
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
    amount: money(amountMicros),
    metadata: { refund_id: id },
    ...(settings === undefined ? {} : { receipt: receipt(settings, email, amountMicros, prepayment) }),
  })
}

/** The body of a receipt that stands by itself: for what was paid before and is used now, or for one that failed. */
export function receiptBody(
  kind: 'payment' | 'refund' | 'offset',
  object: { readonly payment: string } | { readonly refund: string },
  { email, amountMicros }: { readonly email: string; readonly amountMicros: Micros },
  settings: ReceiptSettings,
): string {
  const isOffset = kind === 'offset'
  const description = isOffset ? used : prepayment
  const mode: ReceiptSettings = isOffset ? { ...settings, paymentMode: 'full_payment' } : settings
  return JSON.stringify({
    type: 'refund' in object ? 'refund' : 'payment',
    ...('refund' in object ? { refund_id: object.refund } : { payment_id: object.payment }),
    ...receipt(mode, email, amountMicros, description),
    send: true,
    settlements: [{ type: isOffset ? 'prepayment' : 'cashless', amount: money(amountMicros) }],
  })
}
