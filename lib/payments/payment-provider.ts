import type { Micros } from '../money/amount.ts'

/** How a payment, refund or receipt stands with its provider. The last two are final. */
export type ProviderState = 'pending' | 'succeeded' | 'canceled'

/** A payment as its provider tells it. */
export interface ProviderPayment {
  readonly id: string
  readonly state: ProviderState
  readonly amountMicros: Micros
  readonly currency: string
  readonly isTest: boolean
  /** Our own ids, as we sent them with the payment; absent for a payment that is not ours. */
  readonly paymentId?: string
  readonly accountId?: string
  /** Where the customer pays: a page, or for SBP the link that a QR code holds. */
  readonly confirmationUrl?: string
  /** What refunds of it have returned, whoever made them. */
  readonly refundedMicros?: Micros
  /** By which the card can be charged again; absent where it was not saved. */
  readonly savedMethodId?: string
  /** The card or bank, such as `Bank card *4477`. */
  readonly methodTitle?: string
  /** Why it was canceled: `party/reason`. */
  readonly failure?: string
}

/** A refund as its provider tells it. */
export interface ProviderRefund {
  readonly id: string
  readonly state: ProviderState
  readonly providerPaymentId: string
  readonly amountMicros: Micros
  readonly currency: string
  /** Our own id, as we sent it; absent for a refund that is not ours. */
  readonly refundId?: string
  readonly failure?: string
}

/** A fiscal receipt as its provider tells it. */
export interface ProviderReceipt {
  readonly id: string
  readonly type: 'payment' | 'refund'
  /** Whether it is of the use of what was paid before. */
  readonly isOffset: boolean
  /** What it settles; absent where the provider does not say. */
  readonly amountMicros?: Micros
  readonly state: ProviderState
  readonly documentNumber?: string
  readonly storageNumber?: string
  readonly attribute?: string
}

/** What becomes of a body that creates something, which is sent under one key however often. */
export interface CreateRequest {
  /** The exact body, as it was saved before it was sent first. */
  readonly body: string
  readonly idempotenceKey: string
}

/** A company that takes payments. Each call throws ProviderError when it is not answered as asked. */
export interface PaymentProvider {
  readonly name: string
  /** Whether no real money moves. */
  readonly isTest: boolean
  /** Since when it has left calls unanswered; undefined while it answers. */
  unansweredSince(): number | undefined
  createPayment(request: CreateRequest): Promise<ProviderPayment>
  payment(id: string): Promise<ProviderPayment>
  /** Payments created in a time, all of them, read as they are taken. */
  payments(createdFrom: number, createdUntil: number): AsyncIterable<ProviderPayment>
  createRefund(request: CreateRequest): Promise<ProviderRefund>
  refund(id: string): Promise<ProviderRefund>
  refundsOf(providerPaymentId: string): Promise<readonly ProviderRefund[]>
  createReceipt(request: CreateRequest): Promise<ProviderReceipt>
  receipt(id: string): Promise<ProviderReceipt>
  receiptsOf(
    object: { readonly payment: string } | { readonly refund: string },
  ): Promise<readonly ProviderReceipt[]>
  close(): Promise<void>
}

/**
 * What a failed call means. `refused`: nothing was done, and the same again changes nothing. `not_found`: there is
 * no such object. `credentials`: the shop's id or key is wrong. `unknown`: it may have been done or not.
 */
export type ProviderFailure = 'refused' | 'not_found' | 'credentials' | 'unknown'

/** The provider did not do, or may not have done, what it was asked. The message holds nothing secret. */
export class ProviderError extends Error {
  readonly failure: ProviderFailure
  /** The member of the request that was wrong, where the provider names it. */
  readonly parameter: string | undefined

  constructor(
    failure: ProviderFailure,
    message: string,
    options?: { readonly cause?: unknown; readonly parameter?: string | undefined },
  ) {
    super(message, options)
    this.name = 'ProviderError'
    this.failure = failure
    this.parameter = options?.parameter
  }
}

/** What a provider says of the shop that the config names. `unreachable`: it did not answer. */
type ShopState = 'known' | 'refused' | 'unreachable'

/** Asks a provider for next to nothing, to see whether it takes the shop's id and key. */
export async function checkShop(
  provider: Pick<PaymentProvider, 'payments'>,
  now: number,
): Promise<{ readonly state: ShopState; readonly error?: ProviderError }> {
  try {
    const found = provider.payments(now - 1000, now)
    await found[Symbol.asyncIterator]().next()
    return { state: 'known' }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    return { state: error.failure === 'credentials' ? 'refused' : 'unreachable', error }
  }
}
