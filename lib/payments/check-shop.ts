import { ProviderError } from './payment-provider.ts'
import type { PaymentProvider } from './payment-provider.ts'

/** What a provider says of the shop that the config names. `unreachable`: it did not answer. */
export type ShopState = 'known' | 'refused' | 'unreachable'

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
