import { AccountError } from '../accounts/accounts.ts'
import type { PaymentsConfig } from '../config/config.ts'
import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks, microsPerKopeck } from '../money/kopecks.ts'

/** @throws AccountError payment_amount, payment_method */
export function checkAmount(
  { topUp }: PaymentsConfig,
  {
    amountMicros,
    method,
  }: { readonly amountMicros: Micros; readonly method?: 'bank_card' | 'sbp' | undefined },
): void {
  const offered = method === undefined ? undefined : topUp.methods.find(({ name }) => name === method)
  if (method !== undefined && offered === undefined) {
    throw new AccountError('payment_method', `${method} is not among payments.topUp.methods`)
  }
  const maxMicros = offered?.maxMicros ?? Math.min(...topUp.methods.map(one => one.maxMicros))
  if (amountMicros % microsPerKopeck !== 0 || amountMicros < topUp.minMicros || amountMicros > maxMicros) {
    const bounds = `${formatWholeKopecks(topUp.minMicros)} to ${formatWholeKopecks(maxMicros)}`
    throw new AccountError('payment_amount', `a payment is whole kopecks, from ${bounds} roubles`)
  }
}
