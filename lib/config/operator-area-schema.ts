import { z } from 'zod'
import { checkPagesUrl, listen, publicUrl } from './scalars.ts'

/** The section `operatorArea`. */
export const operatorAreaSchema = z
  .strictObject({
    listen,
    publicUrl: publicUrl.optional().meta({
      description: 'Where operators find it; its own address unless said.',
    }),
    name: z.string().min(1).max(60).default('Gateway').meta({ description: 'The name that pages show.' }),
    secret: z
      .string()
      .min(32, 'must be 32 characters or more')
      .optional()
      .meta({ description: 'Signs cookies; the store keeps one of its own unless said.' }),
  })
  .superRefine((area, context) => checkPagesUrl(area, context, 'forms are taken from there alone'))
  .nullish()
  .transform(section => section ?? undefined)
  .meta({ description: 'The web pages for operators; absent or null: off. gateway operator add makes the first.' })
