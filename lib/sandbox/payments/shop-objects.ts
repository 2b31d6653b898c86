import type { PaymentBody, ReceiptBody, RefundBody } from './shop-bodies.ts'

/** An amount as the API writes it. */
export interface Amount {
  readonly value: string
  readonly currency: 'RUB'
}

interface Cancellation {
  readonly party: string
  readonly reason: string
}

/** A payment of the shop. What changes is changed in place. */
export interface ShopPayment {
  readonly id: string
  status: 'pending' | 'succeeded' | 'canceled'
  readonly createdMs: number
  readonly body: PaymentBody
  method: 'bank_card' | 'sbp' | undefined
  /** By which the card can be charged again. */
  savedMethodId: string | undefined
  cancellation: Cancellation | undefined
  refundedKopecks: number
}

/** A refund of the shop. */
export interface ShopRefund {
  readonly id: string
  status: 'pending' | 'succeeded' | 'canceled'
  readonly createdMs: number
  readonly body: RefundBody
  cancellation: Cancellation | undefined
}

/** A receipt of the shop. */
export interface ShopReceipt {
  readonly id: string
  status: 'pending' | 'succeeded' | 'canceled'
  readonly body: Pick<ReceiptBody, 'type' | 'payment_id' | 'refund_id' | 'settlements'>
}

/** Kopecks of an amount. */
export function kopecksOf({ value }: Amount): number {
  return Number(value.replace('.', ''))
}

function amountOf(kopecks: number): Amount {
  return { value: (kopecks / 100).toFixed(2), currency: 'RUB' }
}

const methodTitles = { bank_card: 'Bank card *4477', sbp: 'SBP' }

/** A payment as the API answers it. */
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

/** A refund as the API answers it. */
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

/** A receipt as the API answers it. */
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
