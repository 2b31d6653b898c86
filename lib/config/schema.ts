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

/** Every top-level key of the config, with its default. */
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
          description:
            'Accounts whose requests are counted together in the metrics; all other accounts are counted as others.',
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
      description: 'The zone of days given by their date, and of times that the command line prints.',
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
        description:
          'When timers are late by this, new requests are refused; at a fifth of it, unknown keys are.',
      }),
      // The writer commits about 50,000 a second; the ledger itself refuses when that many wait.
      writesWaitingMax: integer(1, 50_000).default(30_000).meta({
        description:
          'Writes that wait for the ledger: new requests are refused at this number, unknown keys at a third of it.',
      }),
      freeRequestsPerMinute: integer(1, 1_000_000).default(3000).meta({
        description:
          'For each account and worker: lists, retrievals, uploads, token counts, own endpoints of the gateway.',
      }),
      headersMs: milliseconds.default(10_000),
      bodyMs: milliseconds.default(300_000),
      answerMs: milliseconds.default(10_800_000).meta({
        description: 'A response of unannounced length is cut off after this time.',
      }),
      answerBytesMax: bytes.default(2 * 1024 ** 3),
      stallMs: milliseconds.default(600_000).meta({
        description: 'A client that reads nothing of its response for this long is treated as disconnected.',
      }),
      session: z
        .strictObject({
          sessionMs: milliseconds.default(3_600_000),
          idleMs: milliseconds.default(600_000),
          messageBytesMax: bytes.default(16 * 1024 ** 2),
        })
        .prefault({})
        .meta({ description: 'WebSocket sessions: duration, idle time and message size.' }),
    })
    .prefault({}),
  hold: z
    .strictObject({
      mediaRub: z
        .partialRecord(z.enum(['image', 'audio', 'video', 'document', 'other']), roubles)
        .default({}),
      likelyOutputTokens: integer(1, 100_000_000)
        .default(4096)
        .meta({ description: 'Expected output for an account and model without history.' }),
      riskRub: roubles.default('30').meta({
        description: 'How far worst cases may go beyond the money of an account that has paid anything.',
      }),
      riskOfPaid: riskFactor
        .default('1.0')
        .meta({ description: 'This multiple of the lifetime payments of the account is added to riskRub.' }),
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
      description: 'The uploaded files that one account may keep at providers; deleted files do not count.',
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
      description: "DNS servers for the names of providers and proxies; null: the system's.",
    }),
  trustedProxies: z.array(addressRange).default([]),
  cors: z.strictObject({ origins: z.array(origin).default([]) }).prefault({}),
  tls: z.strictObject({ cert: z.string(), key: z.string() }).nullable().default(null),
  log: z
    .strictObject({
      level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
      clientAddress: z.enum(['full', 'truncated', 'none']).default('truncated').meta({
        description:
          'How log lines show client addresses: in full, as its network (203.0.113.0, 2001:db8:1::), or not at all.',
      }),
    })
    .prefault({}),
  unmetered: z.boolean().default(false),
})

export type ConfigKey = keyof typeof configSchema.shape
/** The parsed sections; those with many entries are parsed entry by entry elsewhere. */
export type Settings = z.output<typeof configSchema>
