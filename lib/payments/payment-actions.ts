import { AccountError } from '../accounts/accounts.ts'
import { requireKept } from '../administration/forget-user.ts'
import type { Clock } from '../platform/clock.ts'
import type { Reports } from '../ledger/reports.ts'
import { formatRoubles, type Micros } from '../money/amount.ts'
import type { PaymentService } from './payment-service.ts'
import { formatWholeKopecks } from '../money/kopecks.ts'
import type { ProviderPayment } from './payment-provider.ts'
import type { Payment } from './payment-reader.ts'
import type { PaymentContext, Payments } from './payments.ts'
import { returnedElsewhere } from './refunds.ts'

/** A payment that an operator created. */
interface CreatedPayment {
  readonly id: string
  readonly providerId: string | null
  readonly status: string
  readonly confirmationUrl: string | null
}

/** A refund that an operator requested; the amount is in roubles. */
interface CreatedRefund {
  readonly id: string
  readonly payment: string
  readonly status: string
  readonly amount: string
}

/** Operators' actions on payments. */
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

/** The actions of a gateway that runs payments itself. */
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
      requireKept(accountId, account.email)
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

/** The result of a comparison with the provider's list. */
export interface Reconciliation {
  /** The number of the provider's payments that were compared. */
  readonly compared: number
  /** Credited now: paid at the provider, but no notification arrived. */
  readonly settled: readonly string[]
  /** Differences between both sides; nothing was changed for these. */
  readonly differences: readonly Difference[]
}

/** A difference between the gateway and the provider. */
interface Difference {
  /** The gateway's payment; null where only the provider has one. */
  readonly payment: string | null
  readonly providerId: string | null
  readonly difference: string
}

const hour = 3_600_000

/** Compares payments of a period with the provider's list; payments that are paid and not credited are credited. */
export async function reconcile(
  { rows, provider, log, alarm }: PaymentContext,
  payments: Payments,
  from: number,
  until: number,
): Promise<Reconciliation> {
  const settled: string[] = []
  const differences: Difference[] = []
  const seen = new Set<string>()
  // Both sides record the creation, at slightly different times.
  for await (const found of provider.payments(from - hour, until + hour)) {
    seen.add(found.id)
    const known =
      (await rows.paymentOf(provider.name, found.id)) ?? (await rows.payment(found.paymentId ?? ''))
    if (known === undefined) {
      // A shop may also sell elsewhere. A payment with an account id of this gateway should be known here.
      if (found.accountId !== undefined)
        differences.push({
          payment: null,
          providerId: found.id,
          difference: `${found.state} there, unknown here`,
        })
      continue
    }
    await payments.settle(known, found)
    const now = (await rows.payment(known.id)) ?? known
    await compareReturned(payments, now, found)
    const { difference } = (await rows.payment(known.id)) ?? now
    if (difference !== null) differences.push({ payment: known.id, providerId: found.id, difference })
    else if (now.state === 'succeeded' && known.state !== 'succeeded') settled.push(known.id)
  }
  for (const known of await rows.payments({ createdFrom: from, createdUntil: until, state: 'succeeded' })) {
    const { id: payment, provider_id: providerId } = known
    if (known.provider === provider.name && !seen.has(providerId ?? ''))
      differences.push({ payment, providerId, difference: 'credited here, unknown there' })
  }
  const found = { compared: seen.size, settled, differences }
  if (differences.length > 0) alarm('reconciliation_differs', found)
  else log.info({ compared: seen.size, settled }, 'payments were compared with those of their provider')
  return found
}

/** Refunds at the provider beyond those requested here: chargebacks, or refunds made in the provider's own pages. */
async function compareReturned(
  payments: Payments,
  known: Payment,
  { state, refundedMicros = 0 }: ProviderPayment,
): Promise<void> {
  const more = refundedMicros - known.refunded_micros
  if (state === 'succeeded' && known.state === 'succeeded' && more > 0)
    await payments.differs(known, returnedElsewhere(formatWholeKopecks(more)))
}
