import { z } from 'zod'
import { baseUrl, milliseconds } from './scalars.ts'

/** The options of the plugin telemetry. */
export const telemetryOptions = z.strictObject({
  /** A collector that takes OTLP over HTTP, as JSON; `/v1/traces` and `/v1/metrics` are put behind it. */
  url: z
    .string()
    .refine(
      text => baseUrl.safeParse(text).success,
      'must be https, or http on this machine, without a user, a query and a fragment',
    )
    .default('http://127.0.0.1:4318'),
  headers: z.record(z.string(), z.string()).default({}),
  serviceName: z.string().min(1).default('gateway'),
  /** The part of requests that are traced, where the client does not decide. */
  sampleRatio: z.number().min(0).max(1).default(1),
  /** honour: a span of ours belongs to the trace that the client names in `traceparent`. */
  clientTrace: z.enum(['honour', 'ignore']).default('ignore'),
  /** Providers get a `traceparent` of ours; without it they get none, the client's neither. */
  sendTrace: z.boolean().default(false),
  exportMs: milliseconds.default(10_000),
})

/** The options of the plugin telemetry as they are parsed. */
export type TelemetryOptions = z.output<typeof telemetryOptions>
