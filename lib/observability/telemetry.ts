import type { IncomingMessage } from 'node:http'
import {
  createTraceState,
  diag,
  DiagLogLevel,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Attributes, Context, Histogram, Span, Tracer } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TracerProvider,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'
import type { TelemetryOptions } from '../config/plugin-options.ts'
import type { Log } from '../platform/log.ts'

/** A finished span. Times are milliseconds since the epoch. */
interface FinishedSpan {
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  /** Why it failed. */
  readonly error?: string | undefined
}

/** The measurements of a generation, in seconds and tokens. */
interface Generation {
  readonly attributes: Attributes
  readonly seconds: number
  /** For streams. */
  readonly firstChunkSeconds?: number | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
}

const closeMs = 5000
const tokenBounds = Array.from({ length: 14 }, (_, index) => 4 ** index)
const secondBounds = Array.from({ length: 14 }, (_, index) => 0.01 * 2 ** index)
const firstChunkBounds = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]

/** Sends spans and metrics to a collector with OpenTelemetry's own SDK. What the collector does not accept is lost. */
export class Telemetry {
  readonly #traces: TracerProvider
  readonly #metrics: MeterProvider
  readonly #tracer: Tracer
  readonly #durations: Histogram
  readonly #firstChunks: Histogram
  readonly #tokens: Histogram

  constructor(options: TelemetryOptions, log: Pick<Log, 'warn'>) {
    const { url, headers, serviceName, sampleRatio, exportMs } = options
    const tell = (message: string): void => log.warn({ reason: message.slice(0, 500) }, 'telemetry')
    const silent = (): void => undefined
    diag.setLogger(
      { error: tell, warn: tell, info: silent, debug: silent, verbose: silent },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    )
    const resource = resourceFromAttributes({ 'service.name': serviceName })
    const to = (path: string) => ({ url: `${url.replace(/\/+$/, '')}${path}`, headers })
    const spans = {
      exporter: new OTLPTraceExporter(to('/v1/traces')),
      scheduledDelayMillis: Math.min(exportMs, 5000),
    }
    this.#traces = new TracerProvider({
      resource,
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [new BatchSpanProcessor(spans)],
    })
    const reader = new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(to('/v1/metrics')),
      exportIntervalMillis: exportMs,
      exportTimeoutMillis: exportMs,
    })
    this.#metrics = new MeterProvider({ resource, readers: [reader] })
    this.#tracer = this.#traces.getTracer('gateway')
    const meter = this.#metrics.getMeter('gateway')
    const histogram = (name: string, unit: string, description: string, bounds: number[]): Histogram =>
      meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } })
    this.#durations = histogram(
      'gen_ai.client.operation.duration',
      's',
      'How long requests take.',
      secondBounds,
    )
    this.#firstChunks = histogram(
      'gen_ai.client.operation.time_to_first_chunk',
      's',
      'How long streams take to begin.',
      firstChunkBounds,
    )
    this.#tokens = histogram('gen_ai.client.token.usage', '{token}', 'Tokens of requests.', tokenBounds)
  }

  /** Starts the span of a request, as a child of the client's span where the config honors it. */
  beginRequest(request: IncomingMessage | undefined, startMs: number): Span {
    const parent = request === undefined ? ROOT_CONTEXT : clientContext(request)
    return this.#tracer.startSpan('request', { kind: SpanKind.SERVER, startTime: startMs }, parent)
  }

  endRequest(span: Span, { name, endMs, attributes, error }: FinishedSpan): void {
    span.updateName(name)
    span.setAttributes(attributes)
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    span.end(endMs)
  }

  /** Records an attempt at a provider, as a child of its request's span. */
  attempt(request: Span, { name, startMs, endMs, attributes, error }: FinishedSpan): void {
    const within = trace.setSpan(ROOT_CONTEXT, request)
    const options = { kind: SpanKind.CLIENT, startTime: startMs, attributes }
    const span = this.#tracer.startSpan(name, options, within)
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    span.end(endMs)
  }

  record({ attributes, seconds, firstChunkSeconds, inputTokens, outputTokens }: Generation): void {
    this.#durations.record(seconds, attributes)
    if (firstChunkSeconds !== undefined) this.#firstChunks.record(firstChunkSeconds, attributes)
    const tokens = { input: inputTokens, output: outputTokens }
    for (const [type, count] of Object.entries(tokens)) {
      if (count !== undefined) this.#tokens.record(count, { ...attributes, 'gen_ai.token.type': type })
    }
  }

  /** Sends what is left, for some seconds at most. */
  async close(): Promise<void> {
    const sent = Promise.allSettled([this.#traces.shutdown(), this.#metrics.shutdown()])
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, closeMs)
    await Promise.race([sent, late])
    clearTimeout(timer)
  }
}

const traceParent = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/

/** Parses W3C Trace Context; invalid headers are ignored. */
function clientContext({ headers }: IncomingMessage): Context {
  const { traceparent, tracestate } = headers
  const [, traceId = '', spanId = '', flags = '00'] = traceParent.exec(String(traceparent)) ?? []
  const context = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(context) ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT
}

/** The span as a W3C `traceparent`. */
export function traceParentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}
