import { z } from 'zod'
import { ownPricing } from './pricing-schema.ts'
import { baseUrl, integer, milliseconds } from './scalars.ts'

/** Words in paths of providers' account administration: people, keys, machines, bills. */
const words: ReadonlySet<string> = new Set(
  `admin billing certificate certificates credit credits deploy deployment deployments endpoint
    endpoints finetune finetunes finetuning invite invites invoice invoices key keys member members org
    organization organizations organisation organisations orgs payment payments project projects secret
    secrets tunes tuning user users workspace workspaces`.split(/\s+/),
)

/** Whether a path contains a word of the provider's administration, in any case and however often it is escaped. */
export function isControlPlane(path: string): boolean {
  const plain = unescaped(path)
  // `api_keys`, `fine-tuning` and `fineTuning` contain the word as part of a segment.
  const parts = plain.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
  return parts.split(/[^a-z]+/).some(word => words.has(word))
}

function unescaped(path: string): string {
  let text = path
  for (let depth = 0; depth < 4 && text.includes('%'); depth += 1) {
    text = text.replaceAll(/%([0-9a-f]{2})/gi, (_whole, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  }
  return text
}

const dialect = z.strictObject({ baseUrl })

const operation = z
  .string()
  .regex(
    /^\/(?:[\w.~:@/-]+(?:\/\*)?|\*)$/,
    'must be a path such as /fim/completions, or /things/* for all below it',
  )
  .refine(
    path => !path.endsWith('*') || !isControlPlane(path),
    'covers what belongs to your account at the provider (keys, people, machines, bills), which no pattern may',
  )
const credentialText = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
const weight = integer(1, 1_000_000)
  .optional()
  .meta({ description: 'Its share of the requests relative to the others; 1 by default.' })
const timeouts = z.strictObject({
  connectMs: milliseconds.optional(),
  firstByteMs: milliseconds.optional(),
  silenceMs: milliseconds.optional(),
})
const credential = z.union(
  [
    credentialText,
    z.strictObject({
      value: credentialText,
      name: z
        .string()
        .regex(
          /^[a-zA-Z][a-zA-Z0-9._-]{0,63}$/,
          'must begin with a letter and have at most 64 letters, digits, dots, dashes and underscores',
        )
        .optional()
        .meta({
          description:
            'Names it in logs and the database, after PROVIDER#, instead of its variable or its number.',
        }),
      weight,
      timeouts: timeouts.optional().meta({ description: "Where they differ from the provider's." }),
    }),
  ],
  { error: 'must be a key in printable ASCII without spaces, or { value, name, weight, timeouts }' },
)
const egressChoice = z.union([z.string(), z.strictObject({ name: z.string(), weight })], {
  error: 'must be direct, the name of an egress, or { name, weight }',
})

/** One entry of `providers`. Absent values come from the built-in defaults of a known name. */
export const providerSchema = z.strictObject({
  like: z
    .string()
    .optional()
    .meta({ description: 'A known provider whose defaults and peculiarities this one shares.' }),
  credentials: z
    .array(credential)
    .optional()
    .meta({ description: 'Usually "${NAME}" of the environment. [] for a server that needs none.' }),
  dialects: z
    .strictObject({
      openai: dialect.nullable().optional(),
      anthropic: dialect.nullable().optional(),
      google: dialect.nullable().optional(),
    })
    .optional()
    .meta({ description: 'Base URLs by wire format; null switches a built-in one off.' }),
  egress: z
    .array(egressChoice)
    .min(1)
    .optional()
    .meta({ description: 'Names of the top-level egress, or direct; requests are shared by weight.' }),
  streamUsage: z.enum(['inject', 'as-sent']).optional().meta({
    description:
      'inject: the gateway requests usage in streams (stream_options.include_usage) on behalf of clients.',
  }),
  responsesWebSocket: z.boolean().optional().meta({
    description: 'Whether /responses may be upgraded to a WebSocket; true by default for openai and xai.',
  }),
  onClientLeft: z.enum(['abort', 'drain']).optional().meta({
    description:
      'When a client disconnects: drain (default) reads the response to its end for the usage; abort closes the upstream request too, and the charge is an estimate.',
  }),
  operations: z.array(operation).optional().meta({
    description:
      'Paths below its base URL, such as /fim/completions, that are forwarded though no wire format knows them; /things/* covers those below. All others are refused.',
  }),
  prompts: z
    .record(
      z.string().min(1),
      z.strictObject({
        accounts: z
          .array(z.string().min(1))
          .min(1)
          .meta({ description: 'Ids of accounts; "*" for every one.' }),
        tools: z.boolean().optional().meta({
          description:
            'Whether it may bring tools that the provider runs; true by default; the hold then includes them.',
        }),
      }),
    )
    .optional()
    .meta({
      description:
        'Prompts stored at OpenAI, by their ids, and the accounts whose responses may use them. They must belong to its first credential.',
    }),
  timeouts: timeouts.optional(),
  failover: z
    .strictObject({ on: z.array(integer(400, 599)).optional(), attemptsMax: integer(1, 20).optional() })
    .optional()
    .meta({ description: 'Statuses on which another credential or provider is tried; [] for none.' }),
  limits: z
    .strictObject({
      connectionsMax: integer(1, 100_000).optional(),
      waitingMax: integer(0, 1_000_000).optional(),
      waitMs: milliseconds.optional(),
    })
    .optional()
    .meta({ description: 'Limits on concurrent requests, for each credential.' }),
  ...ownPricing,
  public: z.boolean().default(false).meta({
    description:
      'Whether customers see its name in charges, lists of models and errors; operators always do.',
  }),
})

/** A provider as written in the config. */
export type ProviderInput = z.output<typeof providerSchema>
