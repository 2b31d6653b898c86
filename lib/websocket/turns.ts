import { nodeHttp } from '../platform/node-http.ts'
import { memoryBody } from '../bodies/outgoing-body.ts'
import type { TurnEvent, TurnProtocol } from '../dialects/session.ts'
import { asGatewayError } from '../ledger/as-gateway-error.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { eventOf } from '../http/event-splitter.ts'
import { Connection } from '../models/connection.ts'
import { addMeters } from '../money/usage.ts'
import { newId } from '../platform/new-id.ts'
import { Exchange, type Outcome } from '../pipeline/exchange.ts'
import type { SessionTap } from '../pipeline/plugin.ts'
import type { TurnRelay } from '../pipeline/turn-relay.ts'
import { MessageRefusedError } from './close-codes.ts'

export interface TurnsOptions {
  /** The exchange of the connection. */
  readonly exchange: Exchange
  readonly protocol: TurnProtocol
  /** @throws what a gate throws */
  readonly beginTurn: (exchange: Exchange) => Promise<TurnRelay>
  readonly now: () => number
  readonly egressName: () => string | undefined
  /** Called with the change in the number of held message bytes. May throw when it is too much. */
  readonly onHeld: (bytes: number) => void
  /** A response must not continue; the provider stops when its connection is closed. */
  readonly onCut: (reason: Error) => void
}

/** One request over the connection, from its gates to its charge. */
export interface Turn {
  readonly relay: TurnRelay
  readonly lane: string
  /** The length of its message, which is kept as its body. */
  readonly bytes: number
  responseId: string | undefined
  /** An error was sent for it. Its last event may still follow. */
  hasFailed: boolean
}

/**
 * The requests of one connection: each is an exchange of its own. A lane has one response at a time, so that it is
 * certain which request each message of the provider belongs to.
 */
export class Turns implements SessionTap {
  readonly connection: Connection
  readonly #options: TurnsOptions
  readonly #lanes = new Map<string, Turn>()
  endReason: Error | undefined
  /** A turn that has passed the gates, and whose message is not sent yet. */
  #unsent: Turn | undefined

  constructor(options: TurnsOptions) {
    this.#options = options
    this.connection = new Connection(options.exchange.id)
  }

  get isBusy(): boolean {
    return this.#open().some(({ hasFailed }) => !hasFailed)
  }

  endAfterTurn(reason: Error): void {
    this.endReason ??= reason
  }

  /** @throws MessageRefusedError */
  async onClientMessage(data: Buffer): Promise<Buffer | undefined> {
    return this.messageOf(await this.begin(data), data)
  }

  /** The message to send for a request; undefined where the original message is sent. */
  messageOf({ relay }: Turn, data: Buffer): Buffer | undefined {
    const { body } = relay.exchange.get('target')
    if (!Buffer.isBuffer(body)) throw new Error('A request that came in memory is not there any more.')
    return body.equals(data) ? undefined : body
  }

  /**
   * Runs a request through the gates.
   * @throws MessageRefusedError
   */
  async begin(data: Buffer): Promise<Turn> {
    const { protocol, beginTurn, onHeld, onCut } = this.#options
    const exchange = this.#exchangeOf(data)
    let isHeld = false
    try {
      if (this.endReason !== undefined) throw this.endReason
      onHeld(data.length)
      isHeld = true
      const relay = await beginTurn(exchange)
      relay.onCut = onCut
      const lane = exchange.get('request').lane ?? ''
      const turn: Turn = { relay, lane, bytes: data.length, responseId: undefined, hasFailed: false }
      const before = this.#lanes.get(lane)
      if (before?.hasFailed === true) await this.#end(before, { kind: 'completed' })
      else if (before !== undefined) {
        await relay.end({ kind: 'refused', error: underWay })
        throw underWay
      }
      this.#lanes.set(lane, turn)
      this.#unsent = turn
      return turn
    } catch (error) {
      if (isHeld) onHeld(-data.length)
      throw this.#refusal(error, protocol.readEvent(data).lane)
    }
  }

  onSent(): void {
    const turn = this.#unsent
    this.#unsent = undefined
    if (turn === undefined) return
    const { exchange } = turn.relay
    exchange.wasSent = true
    // Requests after the first one make no attempts of their own.
    if (exchange.find('upstream') === undefined)
      exchange.set('upstream', { attemptCount: 1, egressName: this.#options.egressName() })
  }

  /**
   * Refuses a request that has passed the gates but cannot be sent.
   * @returns the error for the client
   */
  async refuse(turn: Turn, error: Error): Promise<MessageRefusedError> {
    this.#unsent = undefined
    await this.#end(turn, { kind: 'refused', error })
    return this.#refusal(error, turn.lane)
  }

  onProviderMessage(data: Buffer): Promise<void> | undefined {
    const event = this.#options.protocol.readEvent(data)
    const turn = this.#turnOf(event)
    if (turn === undefined) return undefined
    if (turn.responseId === undefined && event.responseId !== undefined) {
      turn.responseId = event.responseId
      turn.relay.exchange.set('providerRequestId', event.responseId)
    }
    if (event.kind === 'error' && turn.responseId === undefined) {
      // It corresponds to the status of a response over HTTP.
      turn.relay.exchange.responseStatus = event.status ?? 400
      return this.#end(turn, { kind: 'completed' })
    }
    if (event.kind === 'error') turn.hasFailed = true
    const barrier = turn.relay.onData(eventOf(data))
    if (event.kind !== 'ended') return barrier?.then(() => undefined)
    return Promise.resolve(barrier).then(() => this.#end(turn, { kind: 'completed' }))
  }

  /** The client has left; returns whether open responses are read to their usage. */
  onClientLeft(): 'abort' | 'drain' {
    const policy = this.connection.place?.provider.onClientLeft ?? 'abort'
    for (const { relay } of this.#open()) {
      relay.exchange.hasClientLeft = true
      if (policy === 'drain') relay.exchange.drain = 'reading'
    }
    return policy
  }

  /** An error for a response that is awaited; undefined when there is none. */
  errorText(error: Error): string | undefined {
    const turn = this.#open().find(({ hasFailed }) => !hasFailed)
    if (turn === undefined) return undefined
    return this.#options.protocol.errorMessage(asGatewayError(error), turn.lane)
  }

  /** The connection has ended: open turns are charged or released. */
  async settle(outcome: Outcome): Promise<void> {
    const ends = this.#open().map(turn => this.#end(turn, outcomeOf(turn, outcome)))
    // The failure of one turn must not keep the others open.
    const failed = (await Promise.allSettled(ends)).find(result => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  #open(): readonly Turn[] {
    return [...this.#lanes.values()]
  }

  /** @throws GatewayError upstream_failed for a response without a request: there is no hold for it */
  #turnOf({ kind, lane, responseId }: TurnEvent): Turn | undefined {
    if (kind === 'other') return undefined
    const turn = this.#lanes.get(lane)
    if (kind === 'error') return turn
    const isFirst = turn?.responseId === undefined
    const isOfTurn = isFirst ? responseId !== undefined : (responseId ?? turn.responseId) === turn.responseId
    if (turn !== undefined && isOfTurn) return turn
    throw new GatewayError('upstream_failed', 'The provider sent a response that was not requested.')
  }

  async #end(turn: Turn, outcome: Outcome): Promise<void> {
    const { relay, lane, bytes, responseId } = turn
    this.#lanes.delete(lane)
    this.#options.onHeld(-bytes)
    await relay.end(outcome)
    if (outcome.kind !== 'completed' || responseId === undefined) return
    const used = relay.exchange.find('usage') ?? []
    this.connection.keep(
      responseId,
      used.reduce((sum, line) => addMeters(sum, line.meters), {}),
    )
  }

  #refusal(error: unknown, lane: string): MessageRefusedError {
    const told = asGatewayError(error)
    const cause = error instanceof Error ? error : told
    return new MessageRefusedError(this.#options.protocol.errorMessage(told, lane), cause)
  }

  #exchangeOf(data: Buffer): Exchange {
    const { exchange, protocol, now } = this.#options
    const { request } = exchange
    const turn = new Exchange(newId(), request, new nodeHttp.ServerResponse(request), now())
    const route = exchange.get('route')
    turn.set('route', { ...route, match: { ...route.match, operation: protocol.turn } })
    turn.set('connection', this.connection)
    turn.set('body', memoryBody(data))
    turn.set('content', memoryBody(data))
    return turn
  }
}

const underWay = new GatewayError(
  'request_invalid',
  'A response is under way here: wait for its end, or name another stream_id.',
  { param: 'stream_id' },
)

/** The outcome of a response that was open when the connection ended. */
function outcomeOf({ relay, hasFailed }: Turn, outcome: Outcome): Outcome {
  if (hasFailed) return { kind: 'completed' }
  if (relay.exchange.hasClientLeft || outcome.kind === 'aborted') return { kind: 'aborted' }
  if (outcome.kind === 'broken') return outcome
  const error = new GatewayError(
    'upstream_failed',
    'The provider closed the connection in the middle of a response.',
  )
  return { kind: 'broken', error }
}
