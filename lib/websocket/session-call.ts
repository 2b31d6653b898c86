import { providerLabelFirst } from '../config/config.ts'
import { asGatewayError } from '../ledger/as-gateway-error.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { responseHeaders, headerValue } from '../http/headers.ts'
import { newId } from '../platform/new-id.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { SessionControls, SessionSink } from '../pipeline/plugin.ts'
import type { UpstreamFacts } from '../upstream/attempt-plan.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { OpenUpstream, type UpgradeFor, type UpstreamSession } from './open-upstream.ts'
import { Peer } from './peer.ts'
import { SessionError } from './close-codes.ts'
import { Session } from './session.ts'

export interface SessionCallOptions {
  readonly upstreams: Upstreams
  readonly upgradeFor: UpgradeFor
  readonly messageBytesMax: number
  readonly onHeld: (bytes: number) => void
  readonly sessionMs: number
  readonly idleMs: number
}

/** How long a turn is read to its usage after the client has left. */
const drainMs = 600_000
/** Turns of speech take seconds. */
const lastTurnMs = 120_000

/** Opens a session, and runs it. */
export class SessionCall implements SessionControls, UpstreamFacts {
  readonly #exchange: Exchange
  readonly #sink: SessionSink
  readonly #options: SessionCallOptions
  readonly #upstream: OpenUpstream
  #session: Session | undefined
  #cutReason: Error | undefined
  egressName: string | undefined

  constructor(exchange: Exchange, sink: SessionSink, options: SessionCallOptions) {
    this.#exchange = exchange
    this.#sink = sink
    this.#options = options
    this.#upstream = new OpenUpstream(exchange, options.upstreams, options.upgradeFor)
  }

  get attemptCount(): number {
    return this.#upstream.attemptCount
  }

  start(): void {
    this.#run().catch((error: unknown) =>
      this.#sink.onError(error instanceof Error ? error : new Error(String(error))),
    )
  }

  endAfterTurn(reason: Error): void {
    if (this.#session === undefined) this.cut(reason)
    else this.#session.endAfterTurn(reason)
  }

  cut(reason: Error): void {
    this.#cutReason ??= reason
    if (this.#session === undefined) this.#upstream.abort(reason)
    else this.#session.cut(reason)
  }

  async #run(): Promise<void> {
    const upstream = await this.#upstream.open()
    this.egressName = upstream.egressName
    try {
      if (this.#cutReason !== undefined) throw this.#cutReason
      if (upstream.response.head.status === 101) await this.#converse(upstream)
      else await this.#passRefusalOn(upstream)
    } finally {
      upstream.stream.destroy()
      upstream.leave()
    }
  }

  async #converse({ response, stream }: UpstreamSession): Promise<void> {
    const { messageBytesMax, onHeld, sessionMs, idleMs } = this.#options
    const exchange = this.#exchange
    const client = exchange.get('client')
    const taps = this.#sink.onOpen()
    exchange.responseStatus = 101
    exchange.wasSent = true
    if (!client.isAccepted) {
      const headers = [...responseHeaders(response.head.headers), 'x-gateway-request-id', exchange.id]
      client.accept(headers, headerValue(response.head.headers, 'sec-websocket-protocol'))
      exchange.response.statusCode = 101
    }
    const provider = new Peer(stream, { from: 'provider', messageBytesMax, onHeld })
    this.#session = new Session({
      client: client.peer,
      provider,
      taps,
      limits: { sessionMs, idleMs, drainMs, lastTurnMs },
      onClientLeft() {
        exchange.hasClientLeft = true
        return exchange.onClientLeft
      },
      errorText: error => errorText(exchange, error),
      onEnd: outcome => this.#sink.onEnd(outcome),
    })
    await this.#sendFirst(provider)
    await this.#session.run()
  }

  /** Sends the first message, which was already read; the model's name in it may have been replaced. */
  async #sendFirst(provider: Peer): Promise<void> {
    const { first } = this.#exchange.get('client')
    const { body } = this.#exchange.get('target')
    if (first === undefined || !Buffer.isBuffer(body)) return
    if (body.equals(first.data)) await provider.write(first.frames)
    else await provider.writeText(body)
  }

  /** Relays a provider's refusal that only the client can resolve, unchanged. */
  async #passRefusalOn({ response: { head, body } }: UpstreamSession): Promise<void> {
    const { response } = this.#exchange
    const target = this.#exchange.get('target')
    // A response that is neither a refusal nor an upgrade would reach the client uncharged.
    if (head.status < 400 || this.#exchange.get('client').isAccepted) {
      throw new GatewayError(
        'upstream_failed',
        `${providerLabelFirst(target.provider)} did not agree to a session, but said ${head.status}.`,
      )
    }
    this.#exchange.responseStatus = head.status
    const headers = [...responseHeaders(head.headers), 'x-gateway-request-id', this.#exchange.id]
    headers.push('content-length', String(body.length), 'connection', 'close')
    response.writeHead(head.status, headers)
    await new Promise<void>(resolve => {
      response.once('close', resolve)
      response.end(body)
    })
    this.#sink.onEnd({ kind: 'completed' })
  }
}

/** An error as a message of the session's protocol, where it has one. */
export function errorText(exchange: Exchange, error: Error): string | undefined {
  const { session } = exchange.get('route').match.operation
  return session?.errorMessage?.(asGatewayError(toldError(error)), `event_${newId()}`)
}

/** Translates a breach of RFC 6455 into an error of the dialect. */
export function toldError(error: Error): Error {
  if (!(error instanceof SessionError)) return error
  const code =
    error.closeCode === 1009 ? 'body_too_large' : error.closeCode === 1013 ? 'overloaded' : 'request_invalid'
  return new GatewayError(code, error.message, { cause: error })
}
