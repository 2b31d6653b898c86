import type { Attributes, Span } from '@opentelemetry/api'
import type { TelemetryOptions } from '../config/plugin-options.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange, Facts, Outcome } from '../pipeline/exchange.ts'
import type { Log } from '../platform/log.ts'
import { inputMeters, outputMeters, type Meters } from '../money/usage.ts'
import type { Telemetry } from './telemetry.ts'
import { knownProvider } from '../providers/known-providers.ts'

type Attempt = Readonly<Record<string, unknown>>

/** The names in OpenTelemetry's conventions for generative AI; other operations and providers keep their own names. */
const operationNames: Readonly<Record<string, string>> = {
  chat: 'chat',
  completions: 'text_completion',
  'embed-content': 'embeddings',
  embeddings: 'embeddings',
  'generate-content': 'generate_content',
  messages: 'chat',
  responses: 'chat',
  'stream-generate-content': 'generate_content',
}
/** Turns ended exchanges into spans and metrics. */
export interface ExchangeTelemetry {
  /** Its span, as a header for the provider. */
  traceParent(exchange: Exchange): string
  end(exchange: Exchange, outcome: Outcome): void
  close(): Promise<void>
}

/** Loads OpenTelemetry, and listens for attempts from now on. */
export async function openExchangeTelemetry(
  { clientTrace, ...options }: TelemetryOptions,
  bus: PipelineBus,
  log: Pick<Log, 'warn'>,
): Promise<ExchangeTelemetry> {
  const { Telemetry, traceParentOf } = await import('./telemetry.ts')
  const telemetry = new Telemetry({ clientTrace, ...options }, log)
  const spans = new WeakMap<Exchange, Span>()
  const tried = new WeakMap<Exchange, (Attempt & { readonly endMs: number })[]>()
  const ignore = bus.on('upstream-attempt', (exchange, attempt) => {
    if (exchange === undefined || attempt['result'] === 'relayed') return
    tried.set(exchange, [
      ...(tried.get(exchange) ?? []),
      { ...attempt, endMs: epochMs(exchange, performance.now()) },
    ])
  })
  const spanOf = (exchange: Exchange): Span => {
    const begun = spans.get(exchange)
    if (begun !== undefined) return begun
    const { request, startedAt } = exchange
    const span = telemetry.beginRequest(clientTrace === 'honor' ? request : undefined, startedAt)
    spans.set(exchange, span)
    return span
  }
  return {
    traceParent: exchange => traceParentOf(spanOf(exchange)),
    end(exchange, outcome) {
      tellEnd(telemetry, spanOf(exchange), { exchange, outcome, tried: tried.get(exchange) ?? [] })
    },
    async close() {
      ignore()
      await telemetry.close()
    },
  }
}

interface Ended {
  readonly exchange: Exchange
  readonly outcome: Outcome
  readonly tried: readonly (Attempt & { readonly endMs: number })[]
}

function tellEnd(telemetry: Telemetry, span: Span, ended: Ended): void {
  const { exchange, outcome, tried } = ended
  const { admittedMs, begunMs, endedMs = performance.now() } = exchange.moments
  const endMs = epochMs(exchange, endedMs)
  const error = errorOf(outcome)
  const generation = generationAttributes(exchange)
  const { 'gen_ai.operation.name': operation, 'gen_ai.request.model': model } = generation
  const name = [operation, model].filter(word => typeof word === 'string').join(' ')
  for (const attempt of tried) {
    const { provider, credentialName, egress, status, result, durationMs, endMs: failedMs } = attempt
    telemetry.attempt(span, {
      name,
      startMs: failedMs - Number(durationMs),
      endMs: failedMs,
      attributes: {
        ...withoutResponse(generation, String(provider)),
        ...way(credentialName, egress, status),
        'error.type': String(result),
      },
      error: String(result),
    })
  }
  const upstream = exchange.find('upstream')
  if (upstream !== undefined && upstream.attemptCount > 0) {
    const status = exchange.responseStatus
    const failure = error ?? (status !== undefined && status >= 400 ? String(status) : undefined)
    telemetry.attempt(span, {
      name,
      startMs: tried.at(-1)?.endMs ?? epochMs(exchange, admittedMs ?? begunMs),
      endMs,
      attributes: {
        ...generation,
        ...usageAttributes(exchange.find('charged')),
        ...way(exchange.find('target')?.credential.name, upstream.egressName, status),
        ...(failure !== undefined && { 'error.type': failure }),
      },
      error: failure,
    })
    telemetry.record(recorded(ended, generation, failure))
  }
  const status = exchange.response.statusCode
  telemetry.endRequest(span, {
    name: `${exchange.request.method} ${exchange.find('route')?.match.operation.name ?? 'unknown'}`,
    startMs: exchange.startedAt,
    endMs,
    attributes: requestAttributes(exchange, outcome, error),
    error: outcome.kind === 'broken' || status >= 500 ? (error ?? String(status)) : undefined,
  })
}

function requestAttributes(exchange: Exchange, { kind }: Outcome, error: string | undefined): Attributes {
  const key = exchange.find('key')
  return {
    'http.request.method': exchange.request.method,
    'http.response.status_code': exchange.response.statusCode,
    'gateway.request.id': exchange.id,
    'gateway.outcome': kind,
    ...(key !== undefined && { 'gateway.account.id': key.accountId, 'gateway.key.id': key.id }),
    ...(error !== undefined && { 'error.type': error }),
  }
}

/** The attributes of a generation beside its usage. */
function generationAttributes(exchange: Exchange): Attributes {
  const operation = exchange.find('route')?.match.operation.name ?? 'unknown'
  const target = exchange.find('target')
  const answered = exchange.find('charged')?.charge.answeredModel
  return {
    'gen_ai.operation.name': operationNames[operation] ?? operation,
    ...(target !== undefined && {
      'gen_ai.provider.name': knownProvider(target.provider.kind).telemetryName ?? target.provider.kind,
      'gateway.provider': target.provider.name,
      ...(target.modelName !== undefined && { 'gen_ai.request.model': target.modelName }),
    }),
    ...(answered !== undefined && { 'gen_ai.response.model': answered.slice(0, 100) }),
  }
}

/** The attributes of a failed attempt, which may have been at another provider. */
function withoutResponse(attributes: Attributes, provider: string): Attributes {
  const { 'gen_ai.response.model': _answered, ...asked } = attributes
  if (provider === asked['gateway.provider']) return asked
  return {
    ...asked,
    'gateway.provider': provider,
    'gen_ai.provider.name': knownProvider(provider).telemetryName ?? provider,
  }
}

function way(credential: unknown, egress: unknown, status: unknown): Attributes {
  return {
    ...(typeof credential === 'string' && { 'gateway.credential': credential }),
    ...(typeof egress === 'string' && { 'gateway.egress': egress }),
    ...(typeof status === 'number' && { 'http.response.status_code': status }),
  }
}

function usageAttributes(charged: Facts['charged'] | undefined): Attributes {
  const tokens = tokensOf(charged)
  if (tokens === undefined) return {}
  return {
    'gen_ai.usage.input_tokens': tokens.input,
    'gen_ai.usage.output_tokens': tokens.output,
    'gen_ai.usage.cache_read.input_tokens': tokens.cached,
  }
}

/** Metrics have no label that a client could make up: a model is named by its entry in the configuration. */
function recorded({ exchange, outcome }: Ended, generation: Attributes, failure: string | undefined) {
  const { begunMs, firstByteMs, endedMs = begunMs } = exchange.moments
  const { 'gen_ai.request.model': _asked, 'gen_ai.response.model': _answered, ...known } = generation
  const model = exchange.find('target')?.model?.name
  const tokens = tokensOf(exchange.find('charged'))
  const isStream = exchange.find('request')?.isStreaming === true && outcome.kind !== 'refused'
  return {
    attributes: {
      ...known,
      ...(model !== undefined && { 'gen_ai.request.model': model }),
      ...(failure !== undefined && { 'error.type': failure }),
    },
    seconds: (endedMs - begunMs) / 1000,
    firstChunkSeconds: isStream && firstByteMs !== undefined ? (firstByteMs - begunMs) / 1000 : undefined,
    inputTokens: tokens?.input,
    outputTokens: tokens?.output,
  }
}

/** Undefined where nothing with tokens was charged. */
function tokensOf(charged: Facts['charged'] | undefined) {
  if (charged === undefined) return undefined
  const sum = (meters: readonly (keyof Meters)[]): number =>
    charged.charge.lines.reduce(
      (total, { usage }) => meters.reduce((part, meter) => part + (usage.meters[meter] ?? 0), total),
      0,
    )
  const [input, output] = [sum(inputMeters), sum(outputMeters)]
  if (input + output === 0) return undefined
  return { input, output, cached: sum(['cachedInput', 'cachedAudioInput']) }
}

function errorOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'aborted') return 'client_left'
  if (!('error' in outcome)) return undefined
  return outcome.error instanceof GatewayError ? outcome.error.code : outcome.error.name
}

/** A moment of an exchange, in milliseconds since the epoch. */
function epochMs({ startedAt, moments }: Exchange, momentMs: number): number {
  return startedAt + (momentMs - moments.begunMs)
}
