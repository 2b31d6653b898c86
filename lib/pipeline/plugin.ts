import type { Exchange, Fact, Outcome } from './exchange.ts'
import type { TurnRelay } from './turn-relay.ts'

/** Watches an answer's bytes in flight: every chunk, once, in order. It cannot change, delay or stop them. */
export interface Tap {
  onData(chunk: Buffer): void
}

/** The upstream's answer before its body. */
export interface ResponseHead {
  readonly status: number
  /** Flat, as sent: name, value, name, value; case, order and duplicates kept; framing left out. */
  readonly headers: readonly string[]
  /** The length the upstream announced; undefined when the answer ends by chunking or close. */
  readonly contentLength: number | undefined
}

/** How the relay slows down or stops the upstream. */
export interface UpstreamControls {
  pause(): void
  resume(): void
  abort(reason: Error): void
}

/** Where `forward` pushes the answer: head once, data as it comes, then exactly one of end and error. */
export interface ResponseSink {
  /** An informational response (RFC 9110 section 15.2), of which there may be some before the head; headers flat. */
  onInformation(status: number, headers: readonly string[]): void
  onHead(head: ResponseHead, controls: UpstreamControls): void
  /**
   * @param isLast whether nothing more has come with it; false where that is not known
   * @param framed the chunk as HTTP/1.1 frames it, where it came so
   */
  onData(chunk: Buffer, isLast?: boolean, framed?: Buffer): void
  /** @param trailers what came behind the body, fit to be passed on; flat */
  onEnd(trailers?: readonly string[]): void
  onError(error: Error): void
}

/**
 * Watches the messages of a session in both directions, each before it goes on. A promise keeps it back until
 * it is fulfilled.
 */
export interface SessionTap {
  /** Returns other bytes for the message to say. A rejection refuses the message. */
  onClientMessage(data: Buffer): Promise<Buffer | undefined> | Buffer | undefined
  onProviderMessage(data: Buffer): Promise<void> | undefined
  /** The client's message that was seen last goes to the provider now. */
  onSent?(): void
  /** A turn runs. */
  readonly isBusy: boolean
  /** No turn is to begin any more. */
  windUp(reason: Error): void
  /** Why the session may not go on after the turn that runs. */
  readonly endReason: Error | undefined
}

/** How a session is ended from outside. */
export interface SessionControls {
  /** Lets a turn that runs come to its end, and ends the session then. */
  windUp(reason: Error): void
  /** Ends it at once. */
  cut(reason: Error): void
}

/** Where `forwardSession` reports: a session came about and ended, or none did. */
export interface SessionSink {
  /** The provider agreed, and the client has not been told yet. */
  onOpen(): readonly SessionTap[]
  /**
   * Has one of the requests that come over the connection pass the gates, as an exchange of its own.
   * @throws what a gate throws, when that exchange has ended
   */
  beginTurn(exchange: Exchange): Promise<TurnRelay>
  onEnd(outcome: Outcome): void
  /** No session came about. */
  onError(error: Error): void
}

/**
 * The hooks of a plugin, or of a part of one. The pipeline calls them; plugins never call each other. A plugin reads
 * and writes facts on the exchange, and declares which, so that the order is checked at boot.
 */
export interface Stage {
  readonly needs?: readonly Fact[]
  readonly provides?: readonly Fact[]
  /** Facts it needs for exchanges that are forwarded; checked at boot, and absent where the gateway answers. */
  readonly needsToForward?: readonly Fact[]

  /** Once, before the server listens. Throw to refuse to boot. */
  start?(): Promise<void> | void

  /**
   * Gate. In order, one at a time, request headers in hand. Throw a GatewayError to refuse. Once a gate has
   * set the exchange's own answer, only those of the others run whose needs are met; so it is where a connection is
   * opened whose messages are exchanges of their own.
   */
  onRequest?(exchange: Exchange): Promise<void> | void

  /** All gates have let the exchange pass, and it is about to be forwarded. A throw refuses it. */
  onUpstreamRequest?(exchange: Exchange): void

  /** The one exclusive hook: exactly one plugin sends the request and pushes the answer into the sink. */
  forward?(exchange: Exchange, sink: ResponseSink): UpstreamControls

  /** As `forward`, for a request that was upgraded to a WebSocket; by the same plugin. */
  forwardSession?(exchange: Exchange, sink: SessionSink): SessionControls

  /** A session is about to begin. Return a tap to watch its messages. */
  onSession?(exchange: Exchange): SessionTap | undefined

  /** The upstream's head is here and no byte has been relayed. Return a tap to watch the body. */
  onResponse?(exchange: Exchange, head: ResponseHead): Tap | undefined

  /**
   * The upstream has ended or the client has left: decide what is owed and make it durable. Awaited; the
   * answer ends only after it. A rejection cuts the answer off.
   */
  onSettle?(exchange: Exchange, outcome: Outcome): Promise<void> | void

  /** Exactly once for each exchange, whatever happened. Errors are logged and never reach the client. */
  onEnd?(exchange: Exchange, outcome: Outcome): Promise<void> | void

  /** The gateway drains: what the plugin begins by itself, with no exchange behind it, begins no more. */
  windUp?(): void

  /** Once, after the last exchange has ended. */
  stop?(): Promise<void> | void
}

/** A stage that is known by its name: in the config, in errors and in metrics. */
export interface Plugin extends Stage {
  readonly name: string
}
