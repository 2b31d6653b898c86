import type { PaymentContext, Payments } from './payments.ts'

/** What a comparison with the provider's list found. */
export interface Reconciliation {
  /** Payments of the provider that were looked at. */
  readonly compared: number
  /** Credited now: the provider had them as paid, and nobody had told. */
  readonly settled: readonly string[]
  /** Where both sides differ, as sentences: nothing was changed for these. */
  readonly differences: readonly string[]
}

const hour = 3_600_000

/** Compares payments of a time with the provider's own list; what is paid and not credited is credited. */
export async function reconcile(
  { rows, provider, log }: PaymentContext,
  payments: Payments,
  from: number,
  until: number,
): Promise<Reconciliation> {
  const settled: string[] = []
  const differences: string[] = []
  const seen = new Set<string>()
  // Both sides note the creation, not at the same moment.
  for await (const found of provider.payments(from - hour, until + hour)) {
    seen.add(found.id)
    const known =
      (await rows.paymentOf(provider.name, found.id)) ?? (await rows.payment(found.paymentId ?? ''))
    if (known === undefined) {
      // A shop may sell elsewhere, too. A payment that names an account of ours should be known.
      if (found.accountId !== undefined) differences.push(`${found.id}: ${found.state} there, unknown here`)
      continue
    }
    await payments.settle(known, found)
    const now = await rows.payment(known.id)
    if (now !== undefined && now.difference !== null) differences.push(`${known.id}: ${now.difference}`)
    else if (now?.state === 'succeeded' && known.state !== 'succeeded') settled.push(known.id)
  }
  for (const known of await rows.payments({ createdFrom: from, createdUntil: until, state: 'succeeded' })) {
    const isMissing = known.provider === provider.name && !seen.has(known.provider_id ?? '')
    if (isMissing) differences.push(`${known.id}: credited here, unknown there`)
  }
  const found = { compared: seen.size, settled, differences }
  if (differences.length > 0) log.error(found, 'payments differ from those of their provider')
  else log.info({ compared: seen.size, settled }, 'payments were compared with those of their provider')
  return found
}
