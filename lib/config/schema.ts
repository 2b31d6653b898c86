import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { accountAreaSchema, alarmsSchema, operatorAreaSchema, sellerSchema } from './house-schema.ts'
import { modelSchema } from './model-schema.ts'
import { pricesSchema } from './pricing-schema.ts'
import { providerSchema } from './provider-schema.ts'
import {
  addressRange,
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

const egressSchema = z.strictObject({ url: egressUrl })

/** A plugin's name, or one name with its options. */
export const pluginEntrySchema = z.union(
  [z.string(), z.record(z.string(), z.record(z.string(), z.unknown()).nullable())],
  { error: 'must be a name, or a name with its options: { size-limit: { ... } }' },
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
        .record(
          z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a short name such as retail'),
          z.array(z.string()),
        )
        .optional()
        .meta({
          description: 'Accounts whose requests are counted together in the metrics; all else are others.',
        }),
    })
    .nullish()
    .transform(section => section ?? undefined)
    .meta({ description: 'Health and metrics; absent or null: off.' }),
  store: z
    .string()
    .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, {
      error: 'must be sqlite:FILE or postgres://...',
      abort: true,
    })
    .refine(text => text.startsWith('sqlite:') || URL.canParse(text), 'is no URL that can be read')
    .default('sqlite:../data/gateway.db'),
  timeZone: z
    .string()
    .refine(isTimeZone, { error: 'is no time zone such as Europe/Moscow' })
    .default('Europe/Moscow')
    .meta({
      description:
        'Where a day begins that is named by its date, and in which the command line prints times.',
    }),
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
    .refine(
      table => !Object.hasOwn(table, 'direct'),
      '"direct" is the way without a proxy; take another name',
    )
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
        description:
          'Of an account: lists, retrievals, uploads, counts of tokens, own endpoints; for each worker.',
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
      mediaRub: z
        .partialRecord(z.enum(['image', 'audio', 'video', 'document', 'other']), roubles)
        .default({}),
      likelyOutputTokens: integer(1, 100_000_000)
        .default(4096)
        .meta({ description: 'Output that is expected of an account and model without history.' }),
      riskRub: roubles.default('30').meta({
        description: 'How far worst cases may go beyond the money of an account that has paid anything.',
      }),
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
  uploads: z
    .strictObject({
      filesMax: integer(1, 100_000).default(10_000),
      bytesMax: bytes.default(5 * 1024 ** 3),
    })
    .prefault({})
    .meta({
      description:
        'What one account may have at providers of the files that it has uploaded, until it deletes some.',
    }),
  startingCredit: startingCreditSchema,
  payments: paymentsSchema,
  seller: sellerSchema,
  isolation: z.enum(['strict', 'off']).default('strict'),
  dns: z
    .strictObject({ servers: z.array(dnsServer).min(1) })
    .nullable()
    .default(null)
    .transform(dns => dns ?? undefined)
    .meta({
      description: "Who is asked for the addresses of providers and proxies; null: the system's own.",
    }),
  trustedProxies: z.array(addressRange).default([]),
  cors: z.strictObject({ origins: z.array(origin).default([]) }).prefault({}),
  tls: z.strictObject({ cert: z.string(), key: z.string() }).nullable().default(null),
  log: z
    .strictObject({
      level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
      clientAddress: z.enum(['full', 'truncated', 'none']).default('truncated').meta({
        description:
          'How lines name the address of a client: whole, its network (203.0.113.0, 2001:db8:1::), or not.',
      }),
    })
    .prefault({}),
  unmetered: z.boolean().default(false),
})

export type ConfigKey = keyof typeof configSchema.shape
/** The sections as they are parsed; those of many entries are parsed entry by entry elsewhere. */
export type Settings = z.output<typeof configSchema>
