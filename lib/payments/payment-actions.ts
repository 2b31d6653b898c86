import { AccountError } from '../accounts/accounts.ts'
import type { Clock } from '../platform/clock.ts'
import type { Reports } from '../ledger/reports.ts'
import { formatRoubles } from '../money/amount.ts'
import type { Micros } from '../money/amount.ts'
import type { PaymentService } from './payment-service.ts'
import type { Reconciliation } from './reconcile.ts'

/** A payment that an operator made. */
export interface CreatedPayment {
  readonly id: string
  readonly providerId: string | null
  readonly status: string
  readonly confirmationUrl: string | null
}

/** A refund that an operator asked for; the amount is in roubles. */
export interface CreatedRefund {
  readonly id: string
  readonly payment: string
  readonly status: string
  readonly amount: string
}

/** What an operator can do with payments. */
export interface PaymentActions {
  createPayment(payment: {
    readonly accountId: string
    readonly amountMicros: Micros
    readonly method?: 'bank_card' | 'sbp' | undefined
  }): Promise<CreatedPayment>
  refundPayment(refund: {
    readonly paymentId: string
    readonly amountMicros: Micros
    readonly reason: string
    readonly operator?: string | undefined
  }): Promise<CreatedRefund>
  reconcilePayments(time: { readonly days: number }): Promise<Reconciliation>
}

const day = 86_400_000

/** The actions of a gateway whose payments run here. */
export function paymentActions(
  service: PaymentService,
  reports: Pick<Reports, 'account'>,
  clock: Clock,
): PaymentActions {
  return {
    async createPayment({ accountId, amountMicros, method }) {
      const account = await reports.account(accountId)
      if (account === undefined)
        throw new AccountError('account_not_found', `there is no account ${accountId}`)
      const payment = await service.payments.create({
        accountId,
        amountMicros,
        method,
        email: account.email,
        language: 'ru',
        origin: 'operator',
      })
      const { id, provider_id: providerId, state: status, confirmation_url: confirmationUrl } = payment
      return { id, providerId, status, confirmationUrl }
    },
    async refundPayment(refund) {
      const {
        id,
        payment_id: payment,
        state: status,
        amount_micros: micros,
      } = await service.refunds.create(refund)
      return { id, payment, status, amount: formatRoubles(micros) }
    },
    reconcilePayments({ days }) {
      const now = clock.now()
      return service.reconcile(now - days * day, now)
    },
  }
}
