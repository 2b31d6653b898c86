import type { Micros } from '../money/amount.ts'

/** The state of a payment, refund or receipt at its provider. The last two are final. */
export type ProviderState = 'pending' | 'succeeded' | 'canceled'

/** A payment as the provider reports it. */
export interface ProviderPayment {
  readonly id: string
  readonly state: ProviderState
  readonly amountMicros: Micros
  readonly currency: string
  readonly isTest: boolean
  /** The gateway's ids, as sent with the payment; absent for a payment created elsewhere. */
  readonly paymentId?: string
  readonly accountId?: string
  /** Where the customer pays: a page, or for SBP the link of the QR code. */
  readonly confirmationUrl?: string
  /** The total of its refunds, including those made elsewhere. */
  readonly refundedMicros?: Micros
  /** The id for charging the card again; absent where the card was not saved. */
  readonly savedMethodId?: string
  /** The card or bank, such as `Bank card *4477`. */
  readonly methodTitle?: string
  /** Why it was canceled: `party/reason`. */
  readonly failure?: string
}

/** A refund as the provider reports it. */
export interface ProviderRefund {
  readonly id: string
  readonly state: ProviderState
  readonly providerPaymentId: string
  readonly amountMicros: Micros
  readonly currency: string
  /** The gateway's id, as sent; absent for a refund created elsewhere. */
  readonly refundId?: string
  readonly failure?: string
}

/** A fiscal receipt as the provider reports it. */
export interface ProviderReceipt {
  readonly id: string
  readonly type: 'payment' | 'refund'
  /** Whether it is for the use of a prepayment. */
  readonly isOffset: boolean
  /** The settled amount; absent where the provider does not report it. */
  readonly amountMicros?: Micros
  readonly state: ProviderState
  readonly documentNumber?: string
  readonly storageNumber?: string
  readonly attribute?: string
}

/** A request that creates an object; it may be repeated under one idempotence key. */
export interface CreateRequest {
  /** The exact body, stored before the first attempt. */
  readonly body: string
  readonly idempotenceKey: string
}

/** A payment provider. Each call throws ProviderError when it fails or its response is invalid. */
export interface PaymentProvider {
  readonly name: string
  /** Whether no real money moves. */
  readonly isTest: boolean
  /** Since when calls have failed without a response; undefined while the provider responds. */
  unansweredSince(): number | undefined
  createPayment(request: CreateRequest): Promise<ProviderPayment>
  payment(id: string): Promise<ProviderPayment>
  /** All payments created in a period, fetched page by page as they are read. */
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
 * The meaning of a failed call. `refused`: nothing was done, and a retry would not help. `not_found`: no such object.
 * `credentials`: the shop's id or key is wrong. `unknown`: the call may or may not have taken effect.
 */
export type ProviderFailure = 'refused' | 'not_found' | 'credentials' | 'unknown'

/** The provider failed a request, or its result is unknown. The message contains no secrets. */
export class ProviderError extends Error {
  readonly failure: ProviderFailure
  /** The invalid member of the request, where the provider names it. */
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

/** Whether the provider accepts the configured shop. `unreachable`: no response. */
type ShopState = 'known' | 'refused' | 'unreachable'

/** Makes a minimal call to check that the provider accepts the shop's id and key. */
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
