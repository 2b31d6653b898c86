import type { PaymentsConfig } from '../config/config.ts'
import type { ReceiptSettings } from '../config/payments-schema.ts'
import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks } from '../money/kopecks.ts'

/** An amount as the API writes it. */
export function apiAmount(amountMicros: Micros): object {
  return { value: formatWholeKopecks(amountMicros), currency: 'RUB' }
}

/** What receipts say at a time; undefined where none are made. */
export function receiptSettings({ receipts }: PaymentsConfig, at: number): ReceiptSettings | undefined {
  return receipts.findLast(({ from }) => from <= at)
}

/** Whether what was paid is used later, and then takes a receipt of its own (54-FZ art. 1.2). */
export function isPrepayment({ paymentMode }: ReceiptSettings): boolean {
  return /prepayment$|^advance$/.test(paymentMode)
}

/** Rates of VAT and, of each, the calculated one that an advance takes (Tax Code art. 164 p. 4): 22 % and 22/122. */
const calculatedRates = [
  [3, 5],
  [4, 6],
  [7, 9],
  [8, 10],
  [11, 12],
] as const

/** The code of the rate as a receipt needs it: the calculated one while nothing was delivered. */
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

/** A receipt as it goes with a payment or refund; nothing where none are made. */
export function enclosedReceipt(
  settings: ReceiptSettings | undefined,
  content: ReceiptContent,
): { readonly receipt?: object } {
  return settings === undefined ? {} : { receipt: receipt(settings, content, false) }
}

/** The body of a receipt that stands by itself: for what was paid before and is used now, or for one that failed. */
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
