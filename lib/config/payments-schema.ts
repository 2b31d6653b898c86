import { z } from 'zod'
import { parseRoubles } from '../money/amount.ts'
import { microsPerKopeck } from '../money/kopecks.ts'
import { addressRange, baseUrl, integer, roubles } from './scalars.ts'

const kopecks = roubles.refine(text => parseRoubles(text) % microsPerKopeck === 0, 'has a part of a kopeck')

/** The addresses of YooKassa's notifications, as its documentation lists them. */
const yookassaAddresses = [
  '185.71.76.0/27',
  '185.71.77.0/27',
  '77.75.153.0/25',
  '77.75.154.128/25',
  '77.75.156.11',
  '77.75.156.35',
  '2a02:5180::/32',
]

const yookassa = z.strictObject({
  shopId: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the id of the shop, such as "100500"'),
  secretKey: z
    .string()
    .regex(/^[\x21-\x39\x3b-\x7e]+$/, 'must be a key in printable ASCII without spaces and colons'),
  baseUrl: baseUrl.prefault('https://api.yookassa.ru/v3'),
  notificationAddresses: z
    .array(addressRange)
    .default(yookassaAddresses)
    .meta({ description: 'Addresses that may send notifications; checked when trustedProxies is set.' }),
})

const receiptFields = {
  taxSystem: integer(1, 6)
    .optional()
    .meta({ description: 'tax_system_code; not needed for "Чеки от ЮKassa".' }),
  vatCode: integer(1, 12).meta({
    description:
      'vat_code of the service: 1 without VAT, 7 for 5 %, 8 for 7 %, 11 for 22 %. Receipts of advances have the calculated rate, such as 22/122.',
  }),
  paymentMode: z
    .enum(['full_prepayment', 'partial_prepayment', 'advance', 'full_payment'])
    .default('full_prepayment'),
  subject: z.enum(['service', 'payment', 'commodity', 'another']).default('service'),
}
const receipt = z.strictObject(receiptFields)
const datedReceipt = z.strictObject({
  from: z.iso.date({ error: 'must be a date such as 2026-01-31' }),
  ...receiptFields,
})

const topUpSchema = z.strictObject({
  rubMin: kopecks.default('100'),
  rubMax: kopecks.default('350000'),
  presets: z.array(kopecks).max(8).default(['500', '1000', '5000']),
  methods: z
    .array(z.enum(['bank_card', 'sbp']))
    .min(1)
    .default(['bank_card', 'sbp']),
})
type TopUp = z.output<typeof topUpSchema>

/** The most that one payment can be: a card's limit is half of SBP's. */
const methodMaxMicros = { bank_card: 350_000_000_000, sbp: 700_000_000_000 }
const leastMicros = 1_000_000

function checkTopUp({ rubMin, rubMax, methods }: TopUp, context: z.core.$RefinementCtx): void {
  const [min, max] = [parseRoubles(rubMin), parseRoubles(rubMax)]
  const most = Math.max(...methods.map(method => methodMaxMicros[method]))
  const refuse = (key: keyof TopUp, message: string): void =>
    context.addIssue({ code: 'custom', path: [key], message })
  if (min < leastMicros) refuse('rubMin', 'must be at least 1')
  if (max < min || max > most) refuse('rubMax', `must be from rubMin to ${most / 1_000_000}`)
}

function inMicros({ rubMin, rubMax, presets, methods }: TopUp) {
  const maxMicros = parseRoubles(rubMax)
  return {
    minMicros: parseRoubles(rubMin),
    maxMicros,
    presetsMicros: presets.map(parseRoubles),
    methods: methods.map(name => ({ name, maxMicros: Math.min(maxMicros, methodMaxMicros[name]) })),
  }
}

interface Shop {
  readonly provider: 'yookassa' | 'sandbox'
  readonly yookassa?: { readonly secretKey: string } | undefined
}

function checkShop({ provider, yookassa: shop }: Shop, context: z.core.$RefinementCtx): void {
  if (provider === 'yookassa' && shop === undefined) {
    const message = 'is missing: name the shop by shopId and secretKey'
    context.addIssue({ code: 'custom', path: ['yookassa'], message })
  }
  if (provider === 'sandbox' && shop !== undefined && !shop.secretKey.startsWith('test_')) {
    const message =
      'is sandbox beside the key of a real shop, and would credit money that nobody pays: write yookassa, or remove the key'
    context.addIssue({ code: 'custom', path: ['provider'], message })
  }
}

/** The content of a fiscal receipt beside its amount. */
export type ReceiptSettings = Readonly<z.output<typeof receipt>>

/** Oldest first; empty: no receipts are made. */
function receiptPeriods(
  receipts: ReceiptSettings | readonly z.output<typeof datedReceipt>[] | undefined,
): (ReceiptSettings & { readonly from: number })[] {
  if (receipts === undefined) return []
  const list = 'length' in receipts ? receipts : [{ ...receipts, from: '1970-01-01' }]
  return (
    list
      // A period begins at midnight in Moscow.
      .map(({ from, ...said }) => ({ ...said, from: Date.parse(`${from}T00:00:00+03:00`) }))
      .toSorted((one, other) => one.from - other.from)
  )
}

/** The section `payments`. */
export const paymentsSchema = z
  .strictObject({
    provider: z.enum(['yookassa', 'sandbox']),
    yookassa: yookassa.optional().meta({ description: 'The shop; its key comes from the environment.' }),
    topUp: topUpSchema.superRefine(checkTopUp).prefault({}),
    autoTopUp: z.boolean().default(false).meta({
      description:
        'Whether customers may save a card and have it charged when the balance is low. YooKassa must allow it to the shop.',
    }),
    receipts: z
      .union([receipt, z.array(datedReceipt).min(1)], {
        error: 'must be { vatCode, taxSystem, paymentMode, subject }, or a list of such with from: DATE',
      })
      .optional()
      .transform(receiptPeriods)
      .meta({
        description: 'What fiscal receipts say; a list has one entry for each period. Absent: no receipts.',
      }),
  })
  .superRefine(checkShop)
  .transform(({ topUp, ...payments }) => ({ ...payments, topUp: inMicros(topUp) }))
  .nullish()
  .meta({
    description:
      'How customers pay. Absent: the sandbox while only sandbox models are served, else nobody can; null: nobody can.',
  })

/** The payments of an installation that configures none. */
export const trialPayments = paymentsSchema.parse({ provider: 'sandbox', receipts: { vatCode: 1 } })

/** The section `startingCredit`. */
export const startingCreditSchema = z
  .union([roubles, z.strictObject({ rub: roubles, accountsPerDay: integer(1, 1_000_000).default(100) })], {
    error: 'must be roubles in quotes, such as "50.00", or { rub, accountsPerDay }',
  })
  .default('0')
  .transform(setting => {
    const { rub, accountsPerDay } =
      typeof setting === 'string' ? { rub: setting, accountsPerDay: 100 } : setting
    const amountMicros = parseRoubles(rub)
    return amountMicros === 0 ? undefined : { amountMicros, accountsPerDay }
  })
  .meta({
    description: 'Credited to each new account whose email is confirmed; at most accountsPerDay (100) a day.',
  })
