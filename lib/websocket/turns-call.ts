import { providerLabelFirst, type ProviderConfig } from '../config/config.ts'
import { ClientLeftError } from '../bodies/client-stream.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { TurnProtocol } from '../dialects/session.ts'
import { headerValue } from '../http/headers.ts'
import type { Exchange, Outcome } from '../pipeline/exchange.ts'
import type { ResponseHead, SessionControls, SessionSink } from '../pipeline/plugin.ts'
import type { UpstreamFacts } from '../upstream/attempt-plan.ts'
import { MessageRefusedError } from './close-codes.ts'
import type { Message } from './message-reader.ts'
import { OpenUpstream, type UpstreamSession } from './open-upstream.ts'
import { Peer } from './peer.ts'
import { toldError, type SessionCallOptions } from './session-call.ts'
import { Session } from './session.ts'
import { Turns, type Turn } from './turns.ts'

export interface TurnsCallOptions extends SessionCallOptions {
  readonly protocol: TurnProtocol
  readonly now: () => number
}

/** How long a response may continue when its client has left, or when the connection is to end after it. */
const drainMs = 600_000

interface Begun {
  readonly turn: Turn
  readonly message: Message
  readonly upstream: UpstreamSession
}

/**
 * A connection whose messages are requests. The client's upgrade is accepted at once; the provider is contacted when
 * the first request has passed the gates, which decide where it goes.
 */
export class TurnsCall implements SessionControls, UpstreamFacts {
  readonly #exchange: Exchange
  readonly #sink: SessionSink
  readonly #options: TurnsCallOptions
  readonly #turns: Turns
  #opening: OpenUpstream | undefined
  #session: Session | undefined
  #isCut = false
  attemptCount = 0
  egressName: string | undefined

  constructor(exchange: Exchange, sink: SessionSink, options: TurnsCallOptions) {
    this.#exchange = exchange
    this.#sink = sink
    this.#options = options
    this.#turns = new Turns({
      ...options,
      exchange,
      egressName: () => this.egressName,
      beginTurn: turn => this.#sink.beginTurn(turn),
      onCut: reason => this.#session?.cut(reason),
    })
    exchange.response.once('close', () => this.#abandon())
  }

  start(): void {
    this.#run().catch((error: unknown) => {
      const cause = error instanceof Error ? error : new Error(String(error))
      this.#exchange.get('client').refuse(cause, undefined)
      this.#sink.onError(cause)
    })
  }

  endAfterTurn(reason: Error): void {
    this.#turns.endAfterTurn(reason)
    if (this.#session !== undefined) this.#session.endAfterTurn(reason)
    else if (!this.#turns.isBusy) this.cut(reason)
  }

  cut(reason: Error): void {
    if (this.#session !== undefined) {
      this.#session.cut(reason)
      return
    }
    this.#isCut = true
    this.#opening?.abort(reason)
    this.#exchange.get('client').refuse(reason, undefined)
  }

  /** The client left before the provider's connection was open. */
  #abandon(): void {
    if (this.#opening === undefined) return
    this.#turns.onClientLeft()
    this.#opening.abort(new ClientLeftError())
  }

  async #run(): Promise<void> {
    const exchange = this.#exchange
    const client = exchange.get('client')
    client.accept(['x-gateway-request-id', exchange.id], undefined)
    exchange.response.statusCode = 101
    this.#sink.onOpen()
    const begun = await this.#begin()
    if (begun === undefined) {
      client.peer.close(1000, '')
      await client.peer.closed
      this.#sink.onEnd({ kind: 'completed' })
      return
    }
    try {
      await this.#converse(begun)
    } finally {
      begun.upstream.stream.destroy()
      begun.upstream.leave()
    }
  }

  /** The first request that passes the gates and has a provider; undefined when the client leaves before. */
  async #begin(): Promise<Begun | undefined> {
    const { peer } = this.#exchange.get('client')
    for (;;) {
      const message = await this.#nextMessage()
      if (message === undefined) return undefined
      try {
        const turn = await this.#turns.begin(message.data)
        return { turn, message, upstream: await this.#open(turn) }
      } catch (error) {
        if (!(error instanceof MessageRefusedError)) throw error
        await peer.writeText(Buffer.from(error.text))
      }
    }
  }

  async #nextMessage(): Promise<Message | undefined> {
    const { peer } = this.#exchange.get('client')
    const { idleMs } = this.#options
    const late = new GatewayError('request_timeout', `No message arrived for ${idleMs / 1000} s.`)
    const timer = setTimeout(() => this.cut(late), idleMs)
    timer.unref()
    try {
      while (!this.#isCut) {
        const { value, done } = await peer.messages.next()
        if (done === true || value.kind === 'close') return undefined
        if (value.kind === 'data') return value
        // The provider, which would respond to pings, is not connected yet.
        if (value.ping !== undefined) await peer.writePong(value.ping)
      }
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws MessageRefusedError when no provider accepts the request */
  async #open(turn: Turn): Promise<UpstreamSession> {
    const { exchange } = turn.relay
    const { upstreams, upgradeFor } = this.#options
    this.#opening = new OpenUpstream(exchange, upstreams, upgradeFor)
    try {
      const upstream = await this.#opening.open()
      this.attemptCount = this.#opening.attemptCount
      this.egressName = upstream.egressName
      exchange.set('upstream', { attemptCount: this.attemptCount, egressName: this.egressName })
      if (upstream.response.head.status === 101) return upstream
      upstream.stream.destroy()
      upstream.leave()
      throw disagreement(exchange.get('target').provider, upstream.response.head)
    } catch (error) {
      throw await this.#turns.refuse(turn, error instanceof Error ? error : new Error(String(error)))
    } finally {
      this.#opening = undefined
    }
  }

  async #converse({ turn, message, upstream }: Begun): Promise<void> {
    const { messageBytesMax, onHeld, sessionMs, idleMs } = this.#options
    const turns = this.#turns
    const { peer } = this.#exchange.get('client')
    turns.connection.place = turn.relay.exchange.get('target')
    const provider = new Peer(upstream.stream, { from: 'provider', messageBytesMax, onHeld })
    const ended = Promise.withResolvers<Outcome>()
    const session = new Session({
      client: peer,
      provider,
      taps: [turns],
      limits: { sessionMs, idleMs, drainMs, lastTurnMs: drainMs },
      onClientLeft: () => turns.onClientLeft(),
      errorText: error =>
        error instanceof MessageRefusedError ? error.text : turns.errorText(toldError(error)),
      onEnd: ended.resolve,
    })
    this.#session = session
    if (turns.endReason !== undefined) session.endAfterTurn(turns.endReason)
    turns.onSent()
    const changed = turns.messageOf(turn, message.data)
    if (changed === undefined) await provider.write(message.frames)
    else await provider.writeText(changed)
    await session.run()
    // Codex closes the connection without a close frame when it awaits nothing.
    const wasLeft = turns.isBusy
    const outcome = await ended.promise
    await turns.settle(outcome)
    this.#sink.onEnd(outcome.kind === 'aborted' && !wasLeft ? { kind: 'completed' } : outcome)
  }
}

/** The error for a client whose provider did not accept a WebSocket. */
function disagreement(provider: ProviderConfig, { status, headers }: ResponseHead): GatewayError {
  const message = `${providerLabelFirst(provider)} did not agree to a WebSocket, but said ${status}.`
  if (status !== 429) return new GatewayError('upstream_failed', message)
  const seconds = Number(headerValue(headers, 'retry-after'))
  return new GatewayError('rate_limited', message, {
    retryAfterSeconds: Number.isSafeInteger(seconds) ? seconds : 1,
  })
}
