import { parseRoubles } from '../money/amount.ts'
import { microsPerKopeck } from '../money/kopecks.ts'
import type { Micros } from '../money/amount.ts'
import type { Config, PaymentsConfig, ReceiptSettings } from './config.ts'
import { paymentsSchema } from './payments-schema.ts'
import type { PaymentsSettings } from './payments-schema.ts'
import type { Problems } from './problems.ts'
import type { Settings } from './schema.ts'

/** The most that one payment can be: a card's limit is half of what SBP takes. */
const methodMaxMicros = { bank_card: 350_000_000_000, sbp: 700_000_000_000 }
const leastMicros = 1_000_000

/** The payments section as it runs: amounts in micro-roubles, receipts by period. */
export function buildPayments(settings: PaymentsSettings, problems: Problems): PaymentsConfig {
  const { provider, yookassa, topUp } = settings
  if (provider === 'yookassa' && yookassa === undefined) {
    problems.add(['payments', 'yookassa'], 'is missing: name the shop by shopId and secretKey')
  }
  if (provider === 'sandbox' && yookassa !== undefined && !yookassa.secretKey.startsWith('test_')) {
    problems.add(
      ['payments', 'provider'],
      'is sandbox beside the key of a real shop, and would credit money that nobody pays: write yookassa, or remove the key',
    )
  }
  const amount = (text: string, key: string): Micros => {
    const micros = parseRoubles(text)
    if (micros % microsPerKopeck !== 0) problems.add(['payments', 'topUp', key], 'has a part of a kopeck')
    return micros
  }
  const minMicros = amount(topUp.rubMin, 'rubMin')
  const maxMicros = amount(topUp.rubMax, 'rubMax')
  const most = Math.max(...topUp.methods.map(method => methodMaxMicros[method]))
  if (minMicros < leastMicros) problems.add(['payments', 'topUp', 'rubMin'], 'must be at least 1')
  if (maxMicros < minMicros || maxMicros > most) {
    problems.add(['payments', 'topUp', 'rubMax'], `must be from rubMin to ${most / 1_000_000}`)
  }
  return {
    provider,
    ...(yookassa !== undefined && { yookassa }),
    topUp: {
      minMicros,
      maxMicros,
      presetsMicros: topUp.presets.map(text => amount(text, 'presets')),
      methods: topUp.methods.map(name => ({ name, maxMicros: Math.min(maxMicros, methodMaxMicros[name]) })),
    },
    autoTopUp: settings.autoTopUp,
    receipts: receiptPeriods(settings.receipts),
  }
}

function receiptPeriods(receipts: PaymentsSettings['receipts']): PaymentsConfig['receipts'] {
  if (receipts === undefined) return []
  const list = Array.isArray(receipts) ? receipts : [{ ...receipts, from: '1970-01-01' }]
  return list
    .map(({ from, taxSystem, ...rest }): ReceiptSettings & { from: number } => ({
      ...rest,
      ...(taxSystem !== undefined && { taxSystem }),
      // A period begins with its day in Moscow.
      from: Date.parse(`${from}T00:00:00+03:00`),
    }))
    .toSorted((one, other) => one.from - other.from)
}

/** Payments as a newcomer meets them. */
export const trialPayments = paymentsSchema.parse({ provider: 'sandbox', receipts: { vatCode: 1 } })

/** Whether all that is served are models of the sandbox. */
export function sellsNothingReal(providers: Config['providers']): boolean {
  return [...providers.values()].every(provider => provider.isOff || provider.kind === 'sandbox')
}

/** What a new account is given; undefined when nothing is. */
export function buildStartingCredit(setting: Settings['startingCredit']): Config['startingCredit'] {
  const { rub, accountsPerDay } = typeof setting === 'string' ? { rub: setting, accountsPerDay: 100 } : setting
  const amountMicros = parseRoubles(rub)
  return amountMicros === 0 ? undefined : { amountMicros, accountsPerDay }
}
