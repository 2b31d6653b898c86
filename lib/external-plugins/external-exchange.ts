import { GatewayError } from '../pipeline/errors.ts'
import { answerHeaders, headerValues, requestHeaders } from '../http/headers.ts'
import type { Exchange, Fact, Facts } from '../pipeline/exchange.ts'
import type {
  PluginError,
  PluginExchange,
  PluginFact,
  PluginFacts,
  UpstreamRequest,
} from '../plugin-api/plugin-api.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** What plugins from outside tell each other, by their own names. */
    ownFacts: Map<string, unknown>
  }
}

/** What plugins from outside read of the gateway's facts, and how it is shown to them. */
const shownFacts: { readonly [F in 'key' | 'request' | 'target']: (value: Facts[F]) => PluginFacts[F] } = {
  key: ({ id, name, accountId }) => ({ id, name, accountId }),
  request: ({ model, isStreaming, outputTokensCap, media }) => ({
    model,
    isStreaming,
    outputTokensCap,
    mediaCount: media.length,
  }),
  target: ({ provider, modelName, upstreamModelName }) => ({
    provider: provider.name,
    model: modelName,
    upstreamModel: upstreamModelName,
  }),
}

function isShown(fact: string): fact is keyof typeof shownFacts {
  return Object.hasOwn(shownFacts, fact)
}

/** A fact as the pipeline checks its order: the gateway's by its own name, others apart from them. */
export function pipelineFact(fact: string): Fact {
  return (isShown(fact) ? fact : `plugin:${fact}`) as Fact
}

/** RFC 9110 section 5.6.2. */
const headerName = /^[\w!#$%&'*+.^`|~-]+$/
/** What every HTTP/1.1 server takes: printable, without line breaks. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
/** They say how the body is to be read, which no plugin changes. */
const describesBody = /^(?:content-|accept-encoding$|trailer$|x-gateway-)/i

/** The view of an exchange that a plugin from outside has. */
export class ExternalExchange implements PluginExchange<PluginFact, PluginFact> {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get id(): string {
    return this.#exchange.id
  }

  get startedAt(): number {
    return this.#exchange.startedAt
  }

  get method(): string {
    return this.#exchange.request.method ?? 'GET'
  }

  get path(): string {
    return (this.#exchange.request.url ?? '').split('?', 1)[0] ?? ''
  }

  get dialect(): PluginExchange['dialect'] {
    return this.#exchange.get('route').dialect.name
  }

  get operation(): string {
    return this.#exchange.get('route').match.operation.name
  }

  header(name: string): string | undefined {
    return shownHeader(requestHeaders(this.#exchange.request.rawHeaders), name)
  }

  get<F extends PluginFact>(fact: F): PluginFacts[F] {
    const value = this.find(fact)
    if (value === undefined) throw new Error(`The fact "${fact}" was read before a plugin set it.`)
    return value
  }

  find<F extends PluginFact>(fact: F): PluginFacts[F] | undefined {
    if (!isShown(fact)) return this.#exchange.find('ownFacts')?.get(fact) as PluginFacts[F] | undefined
    const value = this.#exchange.find(fact)
    const show = shownFacts[fact] as (value: Facts[typeof fact]) => PluginFacts[F]
    return value === undefined ? undefined : show(value)
  }

  set<F extends PluginFact>(fact: F, value: PluginFacts[F]): void {
    if (isShown(fact)) throw new TypeError(`The fact "${fact}" is the gateway's.`)
    const facts = this.#exchange.find('ownFacts') ?? new Map<string, unknown>()
    this.#exchange.set('ownFacts', facts.set(fact, value))
  }

  addResponseHeader(name: string, value: string): void {
    requireHeader(name, value, answerHeaders)
    if (this.#exchange.response.headersSent) throw new TypeError('The head of the response has left.')
    this.#exchange.extraHeaders.push(name, value)
  }

  cut(error: PluginError): void {
    if (!(error instanceof GatewayError)) throw new TypeError('cut takes an error made by context.error.')
    this.#exchange.answerEnd?.cutAtEvent(error)
  }
}

/** Where the headers go that a plugin sets on the request to the provider. */
export function upstreamRequest(exchange: Exchange): UpstreamRequest {
  return {
    setHeader(name, value) {
      requireHeader(name, value, requestHeaders)
      exchange.upstreamHeaders ??= new Map()
      exchange.upstreamHeaders.set(name.toLowerCase(), value)
    },
  }
}

/** A header as it was sent, its values joined by commas; undefined where there is none. */
export function shownHeader(headers: readonly string[], name: string): string | undefined {
  const values = headerValues(headers, name.toLowerCase())
  return values.length === 0 ? undefined : values.join(', ')
}

/** @param passed what of some headers is passed on: what is dropped from a client's or provider's is no plugin's to set */
function requireHeader(name: string, value: string, passed: (headers: string[]) => string[]): void {
  if (!headerName.test(name) || !headerValue.test(value))
    throw new TypeError(`The header ${JSON.stringify(name)} cannot be sent with this name and value.`)
  if (describesBody.test(name) || passed([name, value]).length === 0)
    throw new TypeError(`The header "${name}" is the gateway's own.`)
}
