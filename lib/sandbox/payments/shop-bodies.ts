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

/** `POST /payments`: confirmed by the customer, or by a method that was saved before. */
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
