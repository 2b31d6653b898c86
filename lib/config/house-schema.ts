import { z } from 'zod'
import { checkPagesUrl, isLoopback, listen, mailServer, publicUrl, integer, safeUrl } from './scalars.ts'
import { alarmCodes } from '../pipeline/alarm-codes.ts'

const document = z.strictObject({
  version: z.string().min(1).max(60),
  ru: z.string().meta({ description: 'The text, a file of plain text in Russian.' }),
  en: z.string().meta({ description: 'The same in English.' }),
})

/** The section `accountArea`. */
export const accountAreaSchema = z
  .strictObject({
    listen,
    publicUrl: publicUrl.optional().meta({
      description: 'The URL for customers, used in links of emails; its listen address by default.',
    }),
    name: z.string().min(1).max(60).default('Gateway').meta({ description: 'The name that pages show.' }),
    mail: mailServer.optional().meta({
      description: 'Without it emails are written to the log, which is for trying things out only.',
    }),
    support: z
      .email('must be an address such as support@example.org')
      .optional()
      .meta({ description: 'The support address: shown on pages and in emails, and used for replies.' }),
    secret: z
      .string()
      .min(32, 'must be 32 characters or more')
      .optional()
      .meta({ description: 'Signs cookies and emails; by default a generated one in the store.' }),
    documents: z
      .strictObject({ offer: document.optional(), personalData: document.optional() })
      .default({})
      .meta({ description: 'What a customer agrees to. As shipped they are drafts, and say so.' }),
  })
  .superRefine((area, context) => {
    checkPagesUrl(area, context, 'emails link there')
    const { mail, publicUrl: url } = area
    if (mail !== undefined || url === undefined || isLoopback(url)) return
    const message = 'is needed where publicUrl is not this machine: customers could not sign up'
    context.addIssue({ code: 'custom', path: ['mail'], message })
  })
  .nullish()
  .transform(section => section ?? undefined)
  .meta({ description: 'The web pages for customers; absent or null: off.' })

/** The section `operatorArea`. */
export const operatorAreaSchema = z
  .strictObject({
    listen,
    publicUrl: publicUrl.optional().meta({
      description: 'The URL for operators; its listen address by default.',
    }),
    name: z.string().min(1).max(60).default('Gateway').meta({ description: 'The name that pages show.' }),
    secret: z
      .string()
      .min(32, 'must be 32 characters or more')
      .optional()
      .meta({ description: 'Signs cookies; by default a generated one in the store.' }),
  })
  .superRefine((area, context) => checkPagesUrl(area, context, 'forms are taken from there alone'))
  .nullish()
  .transform(section => section ?? undefined)
  .meta({
    description: 'The web pages for operators; absent or null: off. gateway operator add makes the first.',
  })

/** Where signed messages are posted. The URL may contain a token and is never shown. */
const webhookUrl = safeUrl(
  'https://hooks.example.org/gateway',
  ['username', 'password', 'hash'],
  'a user or a fragment',
).transform(text => new URL(text))

const webhook = z.strictObject({
  url: webhookUrl,
  secret: z
    .string()
    .regex(
      /^whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
      'must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
    )
    .meta({ description: 'Signs its messages according to Standard Webhooks.' }),
  egress: z.string().optional().meta({
    description: 'direct, or the name of an egress; the first of the top-level egress by default.',
  }),
})

/** The section `alarms`. */
export const alarmsSchema = z
  .strictObject({
    email: z
      .strictObject({
        to: z.array(z.email('must be an address such as ops@example.org')).min(1).max(20),
        mail: mailServer.optional().meta({ description: "The mail server; the account area's by default." }),
      })
      .optional(),
    webhooks: z
      .record(z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a short name such as pager'), webhook)
      .default({}),
    except: z.array(z.enum(alarmCodes)).default([]).meta({
      description: 'Alarms that are not sent; gateway alarms and the metrics still show them.',
    }),
  })
  .nullish()
  .transform(section => section ?? undefined)
  .meta({ description: 'Who is notified when an alarm opens and closes; absent or null: nobody.' })

const number = z.string({
  // For an absent value the default message is clearer.
  error: ({ input }) =>
    input === undefined ? undefined : 'must be digits in quotes: numbers without quotes lose their zeros',
})

const taxPeriod = z.strictObject({
  from: z.iso.date({ error: 'must be a date such as 2026-01-01' }),
  rate: z
    .union([z.literal('none'), z.literal(5), z.literal(7), z.literal(22)], {
      error: 'must be none, 5, 7 or 22',
    })
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
    tax: z
      .array(taxPeriod)
      .min(1)
      .meta({ description: 'Tax rates, each valid from the first day of a month.' }),
    ediId: z.string().optional().meta({
      description:
        'The id at an operator of electronic documents, such as 2BM-7707083893-773601001-20260101.',
    }),
    numbering: z
      .strictObject({
        invoicePrefix: z
          .string()
          .regex(/^[А-ЯЁA-Z0-9-]{0,10}$/, 'must be at most 10 capitals, digits and hyphens'),
        documentPrefix: z
          .string()
          .regex(/^[А-ЯЁA-Z0-9-]{0,10}$/, 'must be at most 10 capitals, digits and hyphens'),
      })
      .partial()
      .default({})
      .meta({ description: 'The prefix of the number within the year.' }),
    payWithinDays: integer(1, 60).default(5).meta({ description: 'Working days to pay an invoice within.' }),
    facsimile: z
      .string()
      .optional()
      .meta({ description: 'An image of signature and stamp: PNG or JPEG, 512 KB at most.' }),
  })
  .optional()

/** The section `seller` as it is parsed. */
export type SellerSettings = NonNullable<z.output<typeof sellerSchema>>
