import { z } from 'zod'
import { checkPagesUrl, isLoopback, listen, mailServer, publicUrl } from './scalars.ts'

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
      description: 'Where customers find it, for links in letters; its own address unless said.',
    }),
    name: z.string().min(1).max(60).default('Gateway').meta({ description: 'The name that pages show.' }),
    mail: mailServer
      .optional()
      .meta({ description: 'Without it letters are written to the log, which is for trying things out only.' }),
    support: z
      .email('must be an address such as support@example.org')
      .optional()
      .meta({ description: 'Where customers write: shown on pages and in emails, and where replies go.' }),
    secret: z
      .string()
      .min(32, 'must be 32 characters or more')
      .optional()
      .meta({ description: 'Signs cookies and letters; the store keeps one of its own unless said.' }),
    documents: z
      .strictObject({ offer: document.optional(), personalData: document.optional() })
      .default({})
      .meta({ description: 'What a customer agrees to. As shipped they are drafts, and say so.' }),
  })
  .superRefine((area, context) => {
    checkPagesUrl(area, context, 'letters link there')
    const { mail, publicUrl: url } = area
    if (mail !== undefined || url === undefined || isLoopback(url)) return
    const message = 'is needed where publicUrl is not this machine: nobody could sign up'
    context.addIssue({ code: 'custom', path: ['mail'], message })
  })
  .nullish()
  .transform(section => section ?? undefined)
  .meta({ description: 'The web pages for customers; absent or null: off.' })
