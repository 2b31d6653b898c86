import { z } from 'zod'
import { addressRange, baseUrl, integer, roubles } from './scalars.ts'

/** Where YooKassa's notifications come from, as its documentation lists them. */
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
  secretKey: z.string().regex(/^[\x21-\x39\x3b-\x7e]+$/, 'must be a key in printable ASCII without spaces and colons'),
  baseUrl: baseUrl.prefault('https://api.yookassa.ru/v3'),
  notificationAddresses: z
    .array(addressRange)
    .default(yookassaAddresses)
    .meta({ description: 'Who may notify; checked where trustedProxies says whose addresses are believed.' }),
})

const receiptFields = {
  taxSystem: integer(1, 6).optional().meta({ description: 'tax_system_code; not needed for "Чеки от ЮKassa".' }),
  vatCode: integer(1, 12).meta({ description: 'vat_code of the service: 1 without VAT, 7 for 5 %, 8 for 7 %, 11 for 22 %. Receipts of advances have the calculated rate, such as 22/122.' }),
  paymentMode: z.enum(['full_prepayment', 'partial_prepayment', 'advance', 'full_payment']).default('full_prepayment'),
  subject: z.enum(['service', 'payment', 'commodity', 'another']).default('service'),
}
const receipt = z.strictObject(receiptFields)
const datedReceipt = z.strictObject({
  from: z.iso.date({ error: 'must be a date such as 2026-01-31' }),
  ...receiptFields,
})

/** The section `payments`. */
export const paymentsSchema = z
  .strictObject({
    provider: z.enum(['yookassa', 'sandbox']),
    yookassa: yookassa.optional().meta({ description: 'The shop; its key comes from the environment.' }),
    topUp: z
      .strictObject({
        rubMin: roubles.default('100'),
        rubMax: roubles.default('350000'),
        presets: z.array(roubles).max(8).default(['500', '1000', '5000']),
        methods: z
          .array(z.enum(['bank_card', 'sbp']))
          .min(1)
          .default(['bank_card', 'sbp']),
      })
      .prefault({}),
    autoTopUp: z
      .boolean()
      .default(false)
      .meta({
        description:
          'Whether customers may save a card and have it charged when the balance is low. YooKassa must allow it to the shop.',
      }),
    receipts: z
      .union([receipt, z.array(datedReceipt).min(1)], {
        error: 'must be { vatCode, taxSystem, paymentMode, subject }, or a list of such with from: DATE',
      })
      .optional()
      .meta({ description: 'What fiscal receipts say; a list has one entry for each period. Absent: no receipts.' }),
  })
  .nullish()
  .meta({
    description:
      'How customers pay. Absent: the sandbox while only sandbox models are served, else nobody can; null: nobody can.',
  })

/** The section `payments` as it is parsed. */
export type PaymentsSettings = NonNullable<z.output<typeof paymentsSchema>>

/** The section `startingCredit`. */
export const startingCreditSchema = z
  .union([roubles, z.strictObject({ rub: roubles, accountsPerDay: integer(1, 1_000_000).default(100) })], {
    error: 'must be roubles in quotes, such as "50.00", or { rub, accountsPerDay }',
  })
  .default('0')
  .meta({ description: 'Credited to each new account whose email is confirmed; at most accountsPerDay (100) a day.' })
