import { z } from 'zod'
import { integer } from './scalars.ts'

const number = z.string({
  // Of what is absent the usual message says more.
  error: ({ input }) =>
    input === undefined ? undefined : 'must be digits in quotes: numbers without quotes lose their zeros',
})

const taxPeriod = z.strictObject({
  from: z.iso.date({ error: 'must be a date such as 2026-01-01' }),
  rate: z
    .union([z.literal('none'), z.literal(5), z.literal(7), z.literal(22)], { error: 'must be none, 5, 7 or 22' })
    .meta({ description: 'none, or the percentage of value added tax.' }),
  basis: z
    .string()
    .optional()
    .meta({ description: 'By which article no tax is owed, such as п. 2 ст. 346.11 НК РФ; with none only.' }),
})

/** The section `seller`. */
export const sellerSchema = z
  .strictObject({
    name: z.string().meta({ description: 'As in the charter; of a sole proprietor ИП and the full name.' }),
    inn: number,
    kpp: number.optional().meta({ description: 'Absent for a sole proprietor.' }),
    ogrn: number,
    address: z.string(),
    email: z.string().optional(),
    bank: z.strictObject({ name: z.string(), bic: number, account: number, correspondentAccount: number }),
    signer: z.strictObject({ name: z.string(), position: z.string() }),
    accountant: z.string().optional().meta({ description: 'The chief accountant, where there is one.' }),
    tax: z.array(taxPeriod).min(1).meta({ description: 'Each from the first day of a month on.' }),
    ediId: z.string().optional().meta({
      description: 'The id at an operator of electronic documents, such as 2BM-7707083893-773601001-20260101.',
    }),
    numbering: z
      .strictObject({
        invoicePrefix: z.string().regex(/^[А-ЯЁA-Z0-9-]{0,10}$/, 'must be at most 10 capitals, digits and hyphens'),
        documentPrefix: z.string().regex(/^[А-ЯЁA-Z0-9-]{0,10}$/, 'must be at most 10 capitals, digits and hyphens'),
      })
      .partial()
      .default({})
      .meta({ description: 'What stands before the number of the year.' }),
    payWithinDays: integer(1, 60).default(5).meta({ description: 'Working days to pay an invoice within.' }),
    facsimile: z.string().optional().meta({ description: 'An image of signature and stamp: PNG or JPEG, 512 KB at most.' }),
  })
  .optional()

/** The section `seller` as it is parsed. */
export type SellerSettings = NonNullable<z.output<typeof sellerSchema>>
