import { z } from 'zod'
import { microsPerKopeck, parseKopecks } from '../../money/kopecks.ts'
import type { ProviderPayment, ProviderReceipt, ProviderRefund, ProviderState } from '../payment-provider.ts'

// Unknown members and kinds are tolerated: the API grows.

const amount = z.object({
  value: z.string().transform((text, context) => {
    const kopecks = parseKopecks(text)
    if (kopecks !== undefined) return kopecks * microsPerKopeck
    context.addIssue('is no amount in roubles')
    return z.NEVER
  }),
  currency: z.string(),
})

const canceled = z.object({ party: z.string(), reason: z.string() }).optional()

export const paymentSchema = z.object({
  id: z.string().min(1).max(64),
  status: z.enum(['pending', 'waiting_for_capture', 'succeeded', 'canceled']),
  amount,
  test: z.boolean(),
  metadata: z.record(z.string(), z.string()).nullish(),
  confirmation: z
    .object({ confirmation_url: z.string().optional(), confirmation_data: z.string().optional() })
    .nullish(),
  payment_method: z
    .object({
      type: z.string(),
      id: z.string().max(64).optional(),
      saved: z.boolean().optional(),
      title: z.string().optional(),
    })
    .nullish(),
  refunded_amount: amount.nullish(),
  cancellation_details: canceled,
})

export const refundSchema = z.object({
  id: z.string().min(1).max(64),
  status: z.enum(['pending', 'succeeded', 'canceled']),
  payment_id: z.string(),
  amount,
  metadata: z.record(z.string(), z.string()).nullish(),
  cancellation_details: canceled,
})

export const receiptSchema = z.object({
  id: z.string().min(1).max(64),
  type: z.enum(['payment', 'refund']),
  status: z.enum(['pending', 'succeeded', 'canceled']),
  settlements: z.array(z.object({ type: z.string(), amount })).nullish(),
  fiscal_document_number: z.string().nullish(),
  fiscal_storage_number: z.string().nullish(),
  fiscal_attribute: z.string().nullish(),
})

/** One page of a list. */
export function listSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next_cursor: z.string().nullish() })
}

/** The API's description of a failure. */
export const errorSchema = z.object({
  code: z.string().max(100),
  description: z.string().max(1000).optional(),
  parameter: z.string().max(200).optional(),
})

function failureOf(details: z.output<typeof canceled>): { failure?: string } {
  return details === undefined ? {} : { failure: `${details.party}/${details.reason}` }
}

/** Whether a link leads to a web page; a browser would execute some other schemes. */
function isLink(text: string | undefined): text is string {
  return text !== undefined && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

export function paymentOf(found: z.output<typeof paymentSchema>): ProviderPayment {
  const { confirmation, metadata, payment_method: method } = found
  const link = [confirmation?.confirmation_url, confirmation?.confirmation_data].find(isLink)
  // Payments are captured at once, so this state is at most transient.
  const state: ProviderState = found.status === 'waiting_for_capture' ? 'pending' : found.status
  return {
    id: found.id,
    state,
    amountMicros: found.amount.value,
    currency: found.amount.currency,
    isTest: found.test,
    ...(metadata?.['payment_id'] === undefined ? {} : { paymentId: metadata['payment_id'] }),
    ...(metadata?.['account'] === undefined ? {} : { accountId: metadata['account'] }),
    ...(link === undefined ? {} : { confirmationUrl: link }),
    ...(found.refunded_amount === undefined || found.refunded_amount === null
      ? {}
      : { refundedMicros: found.refunded_amount.value }),
    ...(method?.saved === true && method.id !== undefined ? { savedMethodId: method.id } : {}),
    ...(method?.title === undefined ? {} : { methodTitle: method.title.slice(0, 200) }),
    ...failureOf(found.cancellation_details),
  }
}

export function refundOf(found: z.output<typeof refundSchema>): ProviderRefund {
  return {
    id: found.id,
    state: found.status,
    providerPaymentId: found.payment_id,
    amountMicros: found.amount.value,
    currency: found.amount.currency,
    ...(found.metadata?.['refund_id'] === undefined ? {} : { refundId: found.metadata['refund_id'] }),
    ...failureOf(found.cancellation_details),
  }
}

export function receiptOf(found: z.output<typeof receiptSchema>): ProviderReceipt {
  const {
    fiscal_document_number: document,
    fiscal_storage_number: storage,
    fiscal_attribute: attribute,
  } = found
  const { settlements = [] } = found
  return {
    id: found.id,
    type: found.type,
    isOffset: settlements?.some(({ type }) => type === 'prepayment') === true,
    ...(settlements === null || settlements.length === 0
      ? {}
      : { amountMicros: settlements.reduce((sum, one) => sum + one.amount.value, 0) }),
    state: found.status,
    ...(typeof document === 'string' ? { documentNumber: document } : {}),
    ...(typeof storage === 'string' ? { storageNumber: storage } : {}),
    ...(typeof attribute === 'string' ? { attribute } : {}),
  }
}
