import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks, microsPerKopeck } from '../money/kopecks.ts'
import type { ProviderPayment, ProviderRefund } from './payment-provider.ts'
import type { Payment } from './payment-reader.ts'
import { AccountError } from '../accounts/accounts.ts'
import type { PaymentsConfig } from '../config/config.ts'

/** The fields of a payment's row that the rules need. */
interface KnownPayment {
  readonly id: string
  readonly accountId: string
  readonly providerId: string | null
  readonly state: 'created' | 'pending' | 'succeeded' | 'canceled'
  readonly amountMicros: Micros
  readonly isTest: boolean
}

/** Extracts from a row what the rules need. */
export function knownPayment(payment: Payment): KnownPayment {
  return {
    id: payment.id,
    accountId: payment.account_id,
    providerId: payment.provider_id,
    state: payment.state,
    amountMicros: payment.amount_micros,
    isTest: payment.is_test === 1,
  }
}

/** What to do with a row after a poll of the provider. */
export type PaymentDecision =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'pend' }
  | { readonly kind: 'credit' }
  | { readonly kind: 'cancel'; readonly failure: string }
  /** Nothing is credited, and an operator must look into it. */
  | { readonly kind: 'alarm'; readonly difference: string }

/** The first difference between the provider's object and the row, as a sentence; undefined when they agree. */
function differenceOf(known: KnownPayment, found: ProviderPayment): string | undefined {
  if (found.currency !== 'RUB') return `the currency is ${found.currency}, not RUB`
  if (found.amountMicros !== known.amountMicros) {
    return `the amount is ${formatWholeKopecks(found.amountMicros)}, not ${formatWholeKopecks(known.amountMicros)}`
  }
  if (found.paymentId !== known.id)
    return `it names ${found.paymentId === undefined ? 'no payment' : `the payment ${found.paymentId}`}`
  if (found.accountId !== known.accountId)
    return `it names ${found.accountId === undefined ? 'no account' : `the account ${found.accountId}`}`
  if (found.isTest !== known.isTest) return found.isTest ? 'it is a test payment' : 'it is no test payment'
  if (known.providerId !== null && known.providerId !== found.id)
    return `its id is ${found.id}, not ${known.providerId}`
  return undefined
}

/**
 * Decides what the provider's response means for a payment. A payment is credited only when the provider itself
 * reports it as paid and it agrees with the row in every field. A payment that was canceled here but paid after all
 * is credited.
 */
export function decidePayment(known: KnownPayment, found: ProviderPayment): PaymentDecision {
  const difference = differenceOf(known, found)
  if (difference !== undefined) return { kind: 'alarm', difference }
  if (found.state === 'succeeded') return { kind: known.state === 'succeeded' ? 'nothing' : 'credit' }
  if (known.state === 'succeeded')
    return { kind: 'alarm', difference: `it is credited here and ${found.state} there` }
  if (found.state === 'canceled') {
    return known.state === 'canceled'
      ? { kind: 'nothing' }
      : { kind: 'cancel', failure: found.failure ?? 'yoo_money/general_decline' }
  }
  return { kind: known.state === 'created' ? 'pend' : 'nothing' }
}

/** What to do with a refund; `give-back` credits the money to the account again. */
type RefundDecision = 'nothing' | 'pend' | 'finish' | 'give-back' | 'alarm'

/** Decides what the provider's response means for a refund. */
export function decideRefund(
  known: {
    readonly state: 'created' | 'pending' | 'succeeded' | 'canceled'
    readonly amountMicros: Micros
    readonly providerPaymentId: string | null
  },
  found: ProviderRefund,
): RefundDecision {
  const isSame =
    found.currency === 'RUB' &&
    found.amountMicros === known.amountMicros &&
    found.providerPaymentId === known.providerPaymentId
  if (!isSame) return 'alarm'
  const isFinal = known.state === 'succeeded' || known.state === 'canceled'
  if (isFinal) return found.state === known.state ? 'nothing' : 'alarm'
  if (found.state === 'succeeded') return 'finish'
  if (found.state === 'canceled') return 'give-back'
  return known.state === 'created' ? 'pend' : 'nothing'
}

const second = 1000
const minute = 60 * second

/** How long after its creation a payment can be paid, with a margin for clock differences. */
const payableMs = 70 * minute

/** The time of the next poll: often while the customer pays, rarely once the payment is overdue. */
export function nextPollAt(now: number, createdAt: number, polls: number): number {
  if (now - createdAt > payableMs) return now + 60 * minute
  return now + Math.min(10 * second * 2 ** Math.min(polls, 10), 5 * minute)
}

/** The longest use of one idempotence key: the provider forgets it after 24 hours. */
export const idempotenceMs = 23 * 60 * minute

/** The time of a receipt's next poll: fiscal registers respond in seconds, or take hours. */
export function nextReceiptPollAt(now: number, since: number): number {
  return now + Math.min(Math.max(10 * second, Math.floor((now - since) / 4)), 60 * minute)
}

/** When to retry a receipt after this many failures: within minutes at first, later daily without end. */
export function nextReceiptTryAt(now: number, failures: number): number {
  return now + Math.min(minute * 2 ** Math.min(failures, 12), 24 * 60 * minute)
}

/** @throws AccountError payment_amount, payment_method */
export function checkAmount(
  { topUp }: PaymentsConfig,
  {
    amountMicros,
    method,
  }: { readonly amountMicros: Micros; readonly method?: 'bank_card' | 'sbp' | undefined },
): void {
  const offered = method === undefined ? undefined : topUp.methods.find(({ name }) => name === method)
  if (method !== undefined && offered === undefined)
    throw new AccountError('payment_method', `${method} is not among payments.topUp.methods`)
  const maxMicros = offered?.maxMicros ?? Math.min(...topUp.methods.map(one => one.maxMicros))
  if (amountMicros % microsPerKopeck !== 0 || amountMicros < topUp.minMicros || amountMicros > maxMicros) {
    const bounds = `${formatWholeKopecks(topUp.minMicros)} to ${formatWholeKopecks(maxMicros)}`
    throw new AccountError('payment_amount', `a payment is whole kopecks, from ${bounds} roubles`)
  }
}
