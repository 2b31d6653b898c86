import { z } from 'zod'
import { alarmCodes } from '../pipeline/alarm-codes.ts'
import { isLoopback, mailServer } from './scalars.ts'

/** Where signed messages are posted. It may hold a token and is never shown. */
const webhookUrl = z
  .string()
  .superRefine((text, context) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      context.addIssue('must be a URL such as https://hooks.example.org/gateway')
    } else if (url.protocol === 'http:' && !isLoopback(url)) {
      context.addIssue('must be https: plain http is for loopback addresses only')
    } else if (url.username !== '' || url.password !== '' || url.hash !== '') {
      context.addIssue('must not hold a user or a fragment')
    }
  })
  .transform(text => new URL(text))

const webhook = z.strictObject({
  url: webhookUrl,
  secret: z
    .string()
    .regex(
      /^whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
      'must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
    )
    .meta({ description: 'Signs its messages, as Standard Webhooks has it.' }),
  egress: z
    .string()
    .optional()
    .meta({ description: 'direct, or the name of an egress; the first of the top-level egress unless said.' }),
})

/** The section `alarms`. */
export const alarmsSchema = z
  .strictObject({
    email: z
      .strictObject({
        to: z.array(z.email('must be an address such as ops@example.org')).min(1).max(20),
        mail: mailServer.optional().meta({ description: "The mail server; the account area's unless said." }),
      })
      .optional(),
    webhooks: z
      .record(z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a short name such as pager'), webhook)
      .default({}),
    except: z
      .array(z.enum(alarmCodes))
      .default([])
      .meta({ description: 'Alarms that nobody is told of; they stay in gateway alarms and in the metrics.' }),
  })
  .nullish()
  .transform(section => section ?? undefined)
  .meta({ description: 'Who is told when an alarm opens and when it is closed; absent or null: nobody.' })
