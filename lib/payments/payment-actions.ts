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

/** A payment that an operator made. */
interface CreatedPayment {
  readonly id: string
  readonly providerId: string | null
  readonly status: string
  readonly confirmationUrl: string | null
}

/** A refund that an operator asked for; the amount is in roubles. */
interface CreatedRefund {
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

/** What a comparison with the provider's list found. */
export interface Reconciliation {
  /** Payments of the provider that were compared. */
  readonly compared: number
  /** Credited now: the provider had them as paid, and nobody had told. */
  readonly settled: readonly string[]
  /** Where both sides differ: nothing was changed for these. */
  readonly differences: readonly Difference[]
}

/** What is not the same here and there. */
interface Difference {
  /** Our payment; null where only the provider has one. */
  readonly payment: string | null
  readonly providerId: string | null
  readonly difference: string
}

const hour = 3_600_000

/** Compares payments of a time with the provider's own list; what is paid and not credited is credited. */
export async function reconcile(
  { rows, provider, log, alarm }: PaymentContext,
  payments: Payments,
  from: number,
  until: number,
): Promise<Reconciliation> {
  const settled: string[] = []
  const differences: Difference[] = []
  const seen = new Set<string>()
  // Both sides note the creation, not at the same moment.
  for await (const found of provider.payments(from - hour, until + hour)) {
    seen.add(found.id)
    const known =
      (await rows.paymentOf(provider.name, found.id)) ?? (await rows.payment(found.paymentId ?? ''))
    if (known === undefined) {
      // A shop may sell elsewhere, too. A payment that names an account of ours should be known.
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

/** What the provider has returned beyond what was asked for here: a chargeback, or somebody in its own pages. */
async function compareReturned(
  payments: Payments,
  known: Payment,
  { state, refundedMicros = 0 }: ProviderPayment,
): Promise<void> {
  const more = refundedMicros - known.refunded_micros
  if (state === 'succeeded' && known.state === 'succeeded' && more > 0)
    await payments.differs(known, returnedElsewhere(formatWholeKopecks(more)))
}
