import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { accountAreaSchema, alarmsSchema, operatorAreaSchema, sellerSchema } from './house-schema.ts'
import { isControlPlane } from './control-plane.ts'
import { modelSchema } from './model-schema.ts'
import { ownPricing, pricesSchema } from './pricing-schema.ts'
import {
  addressRange,
  baseUrl,
  bytes,
  dnsServer,
  egressUrl,
  integer,
  listen,
  milliseconds,
  origin,
  publicUrl,
  riskFactor,
  roubles,
} from './scalars.ts'
import { paymentsSchema, startingCreditSchema } from './payments-schema.ts'
import { parseRoubles } from '../money/amount.ts'
import { isTimeZone } from '../platform/clock.ts'

const dialect = z.strictObject({ baseUrl })

const operation = z
  .string()
  .regex(/^\/(?:[\w.~:@/-]+(?:\/\*)?|\*)$/, 'must be a path such as /fim/completions, or /things/* for all below it')
  .refine(
    path => !path.endsWith('*') || !isControlPlane(path),
    "covers what belongs to your account at the provider (keys, people, machines, bills), which no pattern may",
  )
const credentialText = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
const weight = integer(1, 1_000_000).optional().meta({ description: 'Its share beside the others; 1 unless said.' })
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
        .regex(/^[a-zA-Z][a-zA-Z0-9._-]{0,63}$/)
        .optional()
        .meta({ description: 'Names it in logs and the database instead of its number, after PROVIDER#.' }),
      weight,
      timeouts: timeouts.optional().meta({ description: "Where they differ from the provider's." }),
    }),
  ],
  { error: 'must be a key in printable ASCII without spaces, or { value, name, weight, timeouts }' },
)
const egressChoice = z.union([z.string(), z.strictObject({ name: z.string(), weight })], {
  error: 'must be direct, the name of an egress, or { name, weight }',
})

/** One entry of `providers`. What is absent comes from the built-in defaults of a known name. */
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
    description: 'inject: streams are asked for their usage (stream_options.include_usage) on behalf of clients.',
  }),
  responsesWebSocket: z.boolean().optional().meta({
    description: 'Whether /responses may be upgraded to a WebSocket; true by itself for openai and xai.',
  }),
  onClientLeft: z.enum(['abort', 'drain']).optional().meta({
    description: 'drain, the default: what a client leaves is read on for its usage. abort: the provider is left too, and the charge is an estimate.',
  }),
  operations: z
    .array(operation)
    .optional()
    .meta({
      description:
        'Paths below its base URL, such as /fim/completions, that are forwarded though no wire format knows them; /things/* covers those below. All others are refused.',
    }),
  prompts: z
    .record(
      z.string().min(1),
      z.strictObject({
        accounts: z.array(z.string().min(1)).min(1).meta({ description: 'Ids of accounts; "*" for every one.' }),
        tools: z.boolean().optional().meta({
          description: 'Whether it may bring tools that the provider runs; true unless said, and then held for.',
        }),
      }),
    )
    .optional()
    .meta({
      description:
        'Prompts stored at OpenAI, by their ids, and the accounts whose responses may use them. They are where its first credential is.',
    }),
  timeouts: timeouts.optional(),
  failover: z
    .strictObject({
      on: z.array(integer(400, 599)).optional(),
      attemptsMax: integer(1, 20).optional(),
    })
    .optional()
    .meta({ description: 'Statuses on which another credential or provider is tried; [] for none.' }),
  limits: z
    .strictObject({
      connectionsMax: integer(1, 100_000).optional(),
      waitingMax: integer(0, 1_000_000).optional(),
      waitMs: milliseconds.optional(),
    })
    .optional()
    .meta({ description: 'What is sent at once, for each credential.' }),
  ...ownPricing,
  public: z.boolean().default(false).meta({
    description: 'Whether customers are told its name, in charges, lists of models and errors; operators always are.',
  }),
})

/** A provider as it is written. */
export type ProviderInput = z.output<typeof providerSchema>

const egressSchema = z.strictObject({ url: egressUrl })

/** A plugin's name, or one name with its options. */
export const pluginEntrySchema = z.union(
  [z.string(), z.record(z.string(), z.record(z.string(), z.unknown()).nullable())],
  {
    error: 'must be a name, or a name with its options: { size-limit: { ... } }',
  },
)

/** Every top-level key of the config. Defaults here are those of a file that does not say. */
export const configSchema = z.strictObject({
  listen: listen.extend({ port: listen.shape.port.default(8080) }).prefault({}),
  publicUrl: publicUrl.optional(),
  accountArea: accountAreaSchema,
  operatorArea: operatorAreaSchema,
  alarms: alarmsSchema,
  admin: z
    .strictObject({
      listen,
      accountGroups: z
        .record(z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a short name such as retail'), z.array(z.string()))
        .optional()
        .meta({ description: 'Accounts whose requests are counted together in the metrics; all else are others.' }),
    })
    .nullish()
    .transform(section => section ?? undefined)
    .meta({ description: 'Health and metrics; absent or null: off.' }),
  store: z
    .string()
    .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, { error: 'must be sqlite:FILE or postgres://...', abort: true })
    .refine(text => text.startsWith('sqlite:') || URL.canParse(text), 'is no URL that can be read')
    .default('sqlite:../data/gateway.db'),
  timeZone: z
    .string()
    .refine(isTimeZone, { error: 'is no time zone such as Europe/Moscow' })
    .default('Europe/Moscow')
    .meta({ description: 'Where a day begins that is named by its date, and in which the command line prints times.' }),
  durability: z.enum(['strict', 'relaxed']).default('strict'),
  workers: z
    .union([z.literal('auto'), integer(1, 1024)], { error: 'must be a number or auto' })
    .default(1)
    .transform(count => (count === 'auto' ? availableParallelism() : count)),
  include: z.array(z.string()).optional(),
  plugins: z
    .array(pluginEntrySchema)
    .default(['auth', 'model-router', 'size-limit', 'upstream-proxy', 'usage-tap']),
  providers: z.record(z.string(), providerSchema).default({}),
  egress: z
    .record(z.string(), egressSchema)
    .refine(table => !Object.hasOwn(table, 'direct'), '"direct" is the way without a proxy; take another name')
    .default({})
    .transform(table => new Map(Object.entries(table))),
  models: z
    .record(z.string(), modelSchema.nullable())
    .default({})
    .meta({ description: 'By name; null takes a model of an included file off sale.' }),
  prices: pricesSchema,
  defaultProvider: z
    .strictObject({
      openai: z.string().optional(),
      anthropic: z.string().optional(),
      google: z.string().optional(),
    })
    .default({})
    .transform(({ openai, anthropic, google }) => ({ openai, anthropic, google })),
  limits: z
    .strictObject({
      bodyMemoryBytes: bytes.default(1024 ** 2),
      bodyBytesMax: bytes.default(128 * 1024 ** 2),
      bodyBytesTotalMax: bytes.default(1024 ** 3),
      connectionsMax: integer(1, 1_000_000).default(20_000),
      exchangesMax: integer(1, 1_000_000).optional(),
      memoryBytesMax: bytes.optional(),
      loopDelayMsMax: milliseconds.default(500).meta({
        description: 'Timers late by this: new requests are turned away; at a fifth of it unknown keys are.',
      }),
      // The writer takes about 50,000 a second; the ledger refuses by itself when as many wait.
      writesWaitingMax: integer(1, 50_000).default(30_000).meta({
        description: 'What waits for the ledger: the same, unknown keys at a third of it.',
      }),
      freeRequestsPerMinute: integer(1, 1_000_000).default(3000).meta({
        description: 'Of an account: lists, retrievals, uploads, counts of tokens, own endpoints; for each worker.',
      }),
      headersMs: milliseconds.default(10_000),
      bodyMs: milliseconds.default(300_000),
      answerMs: milliseconds.default(10_800_000).meta({
        description: 'An answer without an announced length that goes on for longer is cut.',
      }),
      answerBytesMax: bytes.default(2 * 1024 ** 3),
      stallMs: milliseconds
        .default(600_000)
        .meta({ description: 'A client that takes nothing of its answer for so long counts as gone.' }),
      session: z
        .strictObject({
          sessionMs: milliseconds.default(3_600_000),
          idleMs: milliseconds.default(600_000),
          messageBytesMax: bytes.default(16 * 1024 ** 2),
        })
        .prefault({})
        .meta({ description: 'WebSocket sessions: how long, how long silent, and the longest message.' }),
    })
    .prefault({}),
  hold: z
    .strictObject({
      mediaRub: z.partialRecord(z.enum(['image', 'audio', 'video', 'document', 'other']), roubles).default({}),
      likelyOutputTokens: integer(1, 100_000_000)
        .default(4096)
        .meta({ description: 'Output that is expected of an account and model without history.' }),
      riskRub: roubles
        .default('30')
        .meta({ description: 'How far worst cases may go beyond the money of an account that has paid anything.' }),
      riskOfPaid: riskFactor
        .default('1.0')
        .meta({ description: 'So many times what the account has paid in its life is added to riskRub.' }),
      riskRubMax: roubles
        .default('5000')
        .meta({ description: 'The most that one account may cost beyond its money.' }),
    })
    .prefault({})
    .transform(({ riskRub, riskOfPaid, riskRubMax, ...hold }) => ({
      ...hold,
      risk: {
        baseMicros: parseRoubles(riskRub),
        perRoubleMicros: parseRoubles(riskOfPaid),
        maxMicros: parseRoubles(riskRubMax),
      },
    })),
  startingCredit: startingCreditSchema,
  payments: paymentsSchema,
  seller: sellerSchema,
  isolation: z.enum(['strict', 'off']).default('strict'),
  dns: z
    .strictObject({ servers: z.array(dnsServer).min(1) })
    .nullable()
    .default(null)
    .transform(dns => dns ?? undefined)
    .meta({ description: "Who is asked for the addresses of providers and proxies; null: the system's own." }),
  trustedProxies: z.array(addressRange).default([]),
  cors: z.strictObject({ origins: z.array(origin).default([]) }).prefault({}),
  tls: z.strictObject({ cert: z.string(), key: z.string() }).nullable().default(null),
  log: z
    .strictObject({
      level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
      clientAddress: z.enum(['full', 'truncated', 'none']).default('truncated').meta({
        description: 'How lines name the address of a client: whole, its network (203.0.113.0, 2001:db8:1::), or not.',
      }),
    })
    .prefault({}),
  unmetered: z.boolean().default(false),
})

/** A section of the config. */
export type ConfigKey = keyof typeof configSchema.shape
/** The sections as they are parsed; those of many entries are parsed entry by entry elsewhere. */
export type Settings = z.output<typeof configSchema>
