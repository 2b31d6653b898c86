import { z } from 'zod'
import { integer, bytes, baseUrl, milliseconds } from './scalars.ts'
import type { DialectName } from '../dialects/dialect.ts'
import { matchesPattern } from './config.ts'

export const modelRouterOptions = z.strictObject({
  mintedKeys: z.enum(['refuse', 'allow']).default('refuse').meta({
    description:
      'Keys and calls that clients may have a provider make for sessions that go around the gateway, uncharged.',
  }),
})

/** Calls that clients may make although they are not charged. */
export type ModelRouterOptions = z.output<typeof modelRouterOptions>

const most = integer(1, 1_000_000_000).optional()

/** Limits of one key. An absent one means no limit. */
const keyLimits = z.strictObject({
  requestsPerMinute: most,
  /** Input and output together, cached input included. */
  tokensPerMinute: most,
  concurrentRequests: most,
})

/** The options of the plugin rate-limit: the limits of every key, and those of single keys by id. */
export const rateLimitOptions = z
  .strictObject({ ...keyLimits.shape, keys: z.record(z.string(), keyLimits).prefault({}) })
  .refine(
    ({ keys, ...limits }) => [limits, ...Object.values(keys)].some(one => Object.keys(one).length > 0),
    'name at least one of requestsPerMinute, tokensPerMinute and concurrentRequests',
  )

const imageType = z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/heic', 'image/heif'])
const seconds = integer(0, 1_000_000)
const pages = integer(0, 1_000_000)
const sidePixels = integer(1, 1_000_000)

/** Limits of one request, or of each request in a batch. An absent one means no limit of the gateway. */
const mediaLimits = z.strictObject({
  requestBytesMax: bytes.optional(),
  /** Replaces `requestBytesMax` for a batch whose requests are inline. */
  batchBytesMax: bytes.optional(),
  imagesMax: integer(0, 100_000).optional(),
  /** Of one image, decoded from base64. */
  imageBytesMax: bytes.optional(),
  imageTypes: z.array(imageType).min(1).optional(),
  /**
   * An image whose type differs from its declared media type: refused, or sent with `x-gateway-warning` in the
   * response.
   */
  imageLabels: z.enum(['refuse', 'warn']).optional(),
  /** The longer side of an image, in pixels. */
  imageSideMax: sidePixels.optional(),
  /** Width times height. */
  imagePixelsMax: integer(1, 1_000_000_000_000).optional(),
  /** A lower `imageSideMax` for requests with more than `above` images. */
  manyImages: z.strictObject({ above: integer(0, 100_000), imageSideMax: sidePixels }).optional(),
  videosMax: integer(0, 100_000).optional(),
  /** All videos of a request together. */
  videoSecondsMax: seconds.optional(),
  /** All audio of a request together. */
  audioSecondsMax: seconds.optional(),
  /** From this length on the response warns in `x-gateway-warning` that accuracy suffers. */
  audioSecondsWarn: seconds.optional(),
  /** Of one PDF; `pdfBytesTotalMax` is for all PDFs of a request together. */
  pdfBytesMax: bytes.optional(),
  pdfBytesTotalMax: bytes.optional(),
  pdfPagesMax: pages.optional(),
  pdfPagesTotalMax: pages.optional(),
})

const dialectLimits = mediaLimits.extend({
  /** Other limits for models by name, where `*` matches any characters; later entries win. */
  models: z.array(mediaLimits.extend({ names: z.array(z.string().min(1)).min(1) })).optional(),
})

/** Limits of one request; sizes in bytes, absent means no limit. */
export type MediaLimits = z.infer<typeof mediaLimits>
/** The limits of one dialect, with overrides for groups of models. */
type DialectLimits = z.infer<typeof dialectLimits>

const megabyte = 1_048_576
const commonTypes: MediaLimits['imageTypes'] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
/** Where Pillow, the decoder of providers, rejects an image as a decompression bomb. */
const bombPixels = 178_956_970

/** For messages from the specification of the service, for the others from the providers' documentation. */
const defaults: Readonly<Record<DialectName, DialectLimits>> = {
  anthropic: {
    requestBytesMax: 32 * megabyte,
    batchBytesMax: 256 * megabyte,
    imagesMax: 100,
    imageBytesMax: 5 * megabyte,
    imageTypes: commonTypes,
    // The provider rejects it: "Image does not match the provided media type"; the others decode whatever they find.
    imageLabels: 'refuse',
    imageSideMax: 8000,
    imagePixelsMax: bombPixels,
    manyImages: { above: 20, imageSideMax: 2000 },
    pdfBytesMax: 32 * megabyte,
    pdfPagesTotalMax: 600,
    // Models whose context window is 200,000 tokens.
    models: [
      { names: ['claude-3*', '*haiku*', 'claude-opus-4-0*', 'claude-opus-4-1*'], pdfPagesTotalMax: 100 },
    ],
  },
  openai: {
    imagesMax: 1500,
    imageBytesMax: 50 * megabyte,
    imageTypes: commonTypes,
    imagePixelsMax: bombPixels,
    pdfBytesMax: 50 * megabyte,
    pdfBytesTotalMax: 50 * megabyte,
  },
  google: {
    imagesMax: 3600,
    imageBytesMax: 100 * megabyte,
    imageTypes: ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/heic', 'image/heif'],
    imagePixelsMax: bombPixels,
    videosMax: 10,
    // Three hours at low resolution, in models with a window of a million tokens.
    videoSecondsMax: 10_800,
    audioSecondsMax: 34_200,
    audioSecondsWarn: 570,
    pdfBytesMax: 50 * megabyte,
    pdfPagesMax: 1000,
    models: [{ names: ['*-pro', '*-pro-*'], videoSecondsMax: 3600 }],
  },
}

/** The options of the plugin size-limit, by dialect; an absent option keeps its default. */
export const sizeLimitOptions = z
  .strictObject({
    openai: dialectLimits.prefault({}),
    anthropic: dialectLimits.prefault({}),
    google: dialectLimits.prefault({}),
  })
  .transform(given => ({
    openai: { ...defaults.openai, ...given.openai },
    anthropic: { ...defaults.anthropic, ...given.anthropic },
    google: { ...defaults.google, ...given.google },
  }))

/** The limits for a model with one of these names. */
export function limitsFor(
  { models = [], ...limits }: DialectLimits,
  modelNames: readonly string[],
): MediaLimits {
  const own = models.filter(({ names }) =>
    names.some(pattern => modelNames.some(name => matchesPattern(pattern, name.toLowerCase()))),
  )
  return own.reduce<MediaLimits>((merged, { names: _names, ...others }) => ({ ...merged, ...others }), limits)
}

/** The options of the plugin telemetry. */
export const telemetryOptions = z.strictObject({
  /** A collector of OTLP over HTTP, as JSON; `/v1/traces` and `/v1/metrics` are appended. */
  url: z
    .string()
    .refine(
      text => baseUrl.safeParse(text).success,
      'must be https, or http on this machine, without a user, a query and a fragment',
    )
    .default('http://127.0.0.1:4318'),
  headers: z.record(z.string(), z.string()).default({}),
  serviceName: z.string().min(1).default('gateway'),
  /** The fraction of requests that are traced, where the client does not decide. */
  sampleRatio: z.number().min(0).max(1).default(1),
  /** honor: the gateway's spans join the trace that the client names in `traceparent`. */
  clientTrace: z.enum(['honor', 'ignore']).default('ignore'),
  /** Providers receive the gateway's `traceparent`; without it they receive none, not even the client's. */
  sendTrace: z.boolean().default(false),
  exportMs: milliseconds.default(10_000),
})

/** The parsed options of the plugin telemetry. */
export type TelemetryOptions = z.output<typeof telemetryOptions>

/** How often the gateway polls jobs: first after `pollMs`, then at growing intervals. */
export const usageTapOptions = z.strictObject({
  pollMs: milliseconds.default(5000),
  pollMsMax: milliseconds.default(300_000),
})
