import { z } from 'zod'

// What the API takes, strictly: what a real shop would refuse is refused here.

const amount = z.strictObject({
  value: z.string().regex(/^\d{1,10}\.\d{2}$/, 'must be an amount with two decimals'),
  currency: z.literal('RUB'),
})

const vatCodesMax = 12
const item = z.strictObject({
  description: z.string().min(1).max(128),
  quantity: z.number().positive(),
  measure: z.string(),
  amount,
  vat_code: z.int().min(1).max(vatCodesMax),
  payment_subject: z.string(),
  payment_mode: z.enum([
    'full_prepayment',
    'partial_prepayment',
    'advance',
    'full_payment',
    'partial_payment',
    'credit',
    'credit_payment',
  ]),
})

const receipt = {
  customer: z.strictObject({ email: z.email() }),
  items: z.array(item).min(1).max(80),
  tax_system_code: z.int().min(1).max(6).optional(),
}

const metadata = z
  .record(z.string().max(32), z.string().max(512))
  .refine(entries => Object.keys(entries).length <= 16, 'has more than 16 keys')

const returnUrl = z.url().max(2048)
const locale = z.enum(['ru_RU', 'en_US']).optional()

/** `POST /payments`: confirmed by the customer, or with a saved method. */
export const paymentBody = z
  .strictObject({
    amount,
    capture: z.literal(true),
    confirmation: z
      .discriminatedUnion('type', [
        z.strictObject({ type: z.literal('redirect'), return_url: returnUrl, locale }),
        z.strictObject({ type: z.literal('qr'), return_url: returnUrl, locale }),
      ])
      .optional(),
    payment_method_data: z.strictObject({ type: z.enum(['bank_card', 'sbp']) }).optional(),
    payment_method_id: z.string().max(64).optional(),
    save_payment_method: z.boolean().optional(),
    description: z.string().max(128).optional(),
    metadata: metadata.optional(),
    merchant_customer_id: z.string().max(200).optional(),
    client_ip: z.string().optional(),
    receipt: z.strictObject(receipt).optional(),
  })
  .refine(body => (body.payment_method_id === undefined) !== (body.confirmation === undefined), {
    path: ['confirmation'],
    message: 'is needed without payment_method_id, and not taken with it',
  })

/** `POST /refunds`. */
export const refundBody = z.strictObject({
  payment_id: z.string(),
  amount,
  description: z.string().max(250).optional(),
  metadata: metadata.optional(),
  receipt: z.strictObject(receipt).optional(),
})

/** `POST /receipts`. */
export const receiptBody = z.strictObject({
  type: z.enum(['payment', 'refund']),
  payment_id: z.string().optional(),
  refund_id: z.string().optional(),
  ...receipt,
  send: z.literal(true),
  settlements: z
    .array(
      z.strictObject({ type: z.enum(['cashless', 'prepayment', 'postpayment', 'consideration']), amount }),
    )
    .min(1),
})

export type PaymentBody = z.output<typeof paymentBody>
export type RefundBody = z.output<typeof refundBody>
export type ReceiptBody = z.output<typeof receiptBody>

/** An amount as the API writes it. */
interface Amount {
  readonly value: string
  readonly currency: 'RUB'
}

interface Cancellation {
  readonly party: string
  readonly reason: string
}

/** A payment of the shop. It is changed in place. */
export interface ShopPayment {
  readonly id: string
  status: 'pending' | 'succeeded' | 'canceled'
  readonly createdMs: number
  readonly body: PaymentBody
  method: 'bank_card' | 'sbp' | undefined
  /** The id with which the card can be charged again. */
  savedMethodId: string | undefined
  cancellation: Cancellation | undefined
  refundedKopecks: number
}

export interface ShopRefund {
  readonly id: string
  status: 'pending' | 'succeeded' | 'canceled'
  readonly createdMs: number
  readonly body: RefundBody
  cancellation: Cancellation | undefined
}

export interface ShopReceipt {
  readonly id: string
  status: 'pending' | 'succeeded' | 'canceled'
  readonly body: Pick<ReceiptBody, 'type' | 'payment_id' | 'refund_id' | 'settlements'>
}

export function kopecksOf({ value }: Amount): number {
  return Number(value.replace('.', ''))
}

function amountOf(kopecks: number): Amount {
  return { value: (kopecks / 100).toFixed(2), currency: 'RUB' }
}

const methodTitles = { bank_card: 'Bank card *4477', sbp: 'SBP' }

/** A payment as the API returns it. */
export function paymentJson(payment: ShopPayment, origin: string): object {
  const { id, status, body, method, savedMethodId, cancellation, refundedKopecks } = payment
  const type = method ?? body.payment_method_data?.type
  const isPaid = status === 'succeeded'
  const page = `${origin}/pay/${id}`
  const { type: confirmedBy, return_url } = body.confirmation ?? {}
  const confirmation =
    confirmedBy === 'qr'
      ? { type: 'qr', confirmation_data: page, return_url }
      : { type: 'redirect', confirmation_url: page, return_url }
  return {
    id,
    status,
    paid: isPaid,
    amount: body.amount,
    ...(isPaid ? { income_amount: body.amount, refunded_amount: amountOf(refundedKopecks) } : {}),
    created_at: new Date(payment.createdMs).toISOString(),
    ...(body.description === undefined ? {} : { description: body.description }),
    metadata: body.metadata ?? {},
    recipient: { account_id: '100500', gateway_id: '100700' },
    refundable: isPaid,
    test: true,
    ...(status === 'pending' && confirmedBy !== undefined ? { confirmation } : {}),
    ...(type === undefined
      ? {}
      : {
          payment_method: {
            type,
            id: savedMethodId ?? body.payment_method_id ?? id,
            saved: savedMethodId !== undefined || body.payment_method_id !== undefined,
            status: savedMethodId === undefined ? 'inactive' : 'active',
            title: methodTitles[type],
          },
        }),
    ...(cancellation === undefined ? {} : { cancellation_details: cancellation }),
    ...(body.receipt === undefined ? {} : { receipt_registration: isPaid ? 'succeeded' : 'pending' }),
  }
}

/** A refund as the API returns it. */
export function refundJson({ id, status, createdMs, body, cancellation }: ShopRefund): object {
  return {
    id,
    payment_id: body.payment_id,
    status,
    amount: body.amount,
    created_at: new Date(createdMs).toISOString(),
    metadata: body.metadata ?? {},
    ...(cancellation === undefined ? {} : { cancellation_details: cancellation }),
  }
}

/** A receipt as the API returns it. */
export function receiptJson({ id, status, body }: ShopReceipt): object {
  const number = String(Number.parseInt(id.slice(-6), 16))
  return {
    id,
    type: body.type,
    ...(body.payment_id === undefined ? {} : { payment_id: body.payment_id }),
    ...(body.refund_id === undefined ? {} : { refund_id: body.refund_id }),
    status,
    settlements: body.settlements,
    ...(status === 'succeeded'
      ? {
          fiscal_document_number: number,
          fiscal_storage_number: '9960440300000000',
          fiscal_attribute: `3${number.padStart(9, '0')}`,
        }
      : {}),
  }
}
