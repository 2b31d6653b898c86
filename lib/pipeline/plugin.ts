import type { Exchange, Fact, Outcome } from './exchange.ts'
import type { TurnRelay } from './turn-relay.ts'

/** Watches a response's bytes in flight: every chunk, once, in order. It cannot change, delay or stop them. */
export interface Tap {
  onData(chunk: Buffer): void
}

/** The upstream's response before its body. */
export interface ResponseHead {
  readonly status: number
  /** Flat, as sent: name, value, name, value; case, order and duplicates kept; framing left out. */
  readonly headers: readonly string[]
  /** The length that the upstream announced; undefined when chunking or close ends the response. */
  readonly contentLength: number | undefined
}

/** How the relay slows down or stops the upstream. */
export interface UpstreamControls {
  pause(): void
  resume(): void
  abort(reason: Error): void
}

/** Where `forward` pushes the response: head once, data as it arrives, then exactly one of end and error. */
export interface ResponseSink {
  /** An informational response (RFC 9110 section 15.2), zero or more before the head; headers flat. */
  onInformation(status: number, headers: readonly string[]): void
  onHead(head: ResponseHead, controls: UpstreamControls): void
  /**
   * @param isLast whether nothing more arrived with it; false when unknown
   * @param framed the same bytes as an HTTP/1.1 chunk, when they arrived as exactly one
   */
  onData(chunk: Buffer, isLast?: boolean, framed?: Buffer): void
  /** @param trailers the trailers that may be relayed; flat */
  onEnd(trailers?: readonly string[]): void
  onError(error: Error): void
}

/**
 * Watches the messages of a session in both directions, each before it is relayed. A returned promise delays the
 * message until it is fulfilled.
 */
export interface SessionTap {
  /** Returns the bytes to send instead of the message; undefined keeps it. A rejection refuses the message. */
  onClientMessage(data: Buffer): Promise<Buffer | undefined> | Buffer | undefined
  onProviderMessage(data: Buffer): Promise<void> | undefined
  /** The last client message seen is now sent to the provider. */
  onSent?(): void
  /** Whether a turn is in progress. */
  readonly isBusy: boolean
  /** Allows no new turn. */
  endAfterTurn(reason: Error): void
  /** Why the session may not continue after the turn in progress. */
  readonly endReason: Error | undefined
}

/** Ends a session from outside. */
export interface SessionControls {
  /** Ends the session after the turn in progress. */
  endAfterTurn(reason: Error): void
  /** Ends it at once. */
  cut(reason: Error): void
}

/** Where `forwardSession` reports: a session opened and ended, or none opened. */
export interface SessionSink {
  /** The provider accepted the session, and the client has not been informed yet. */
  onOpen(): readonly SessionTap[]
  /**
   * Runs one of the requests that arrive over the connection through the gates, as an exchange of its own.
   * @throws what a gate throws, after that exchange has ended
   */
  beginTurn(exchange: Exchange): Promise<TurnRelay>
  onEnd(outcome: Outcome): void
  /** No session opened. */
  onError(error: Error): void
}

/**
 * The hooks of a plugin, or of a part of one. The pipeline calls them; plugins never call each other. A plugin reads
 * and writes facts on the exchange, and declares which, so that the order is checked at boot.
 */
export interface Stage {
  readonly needs?: readonly Fact[]
  readonly provides?: readonly Fact[]
  /** Facts it needs for forwarded exchanges; checked at boot, and absent where the gateway itself responds. */
  readonly needsToForward?: readonly Fact[]

  /** Called once, before the server listens. Throw to refuse to boot. */
  start?(): Promise<void> | void

  /**
   * Gate. Called in order, one at a time, when the request headers have arrived. Throw a GatewayError to refuse. Once a
   * gate has set the exchange's own response, only those of the others run whose needs are met; the same holds when a
   * connection is opened whose messages are exchanges of their own.
   */
  onRequest?(exchange: Exchange): Promise<void> | void

  /** All gates have passed the exchange, and it is about to be forwarded. A throw refuses it. */
  onUpstreamRequest?(exchange: Exchange): void

  /** The one exclusive hook: exactly one plugin sends the request and pushes the response into the sink. */
  forward?(exchange: Exchange, sink: ResponseSink): UpstreamControls

  /** Like `forward`, for a request that was upgraded to a WebSocket; implemented by the same plugin. */
  forwardSession?(exchange: Exchange, sink: SessionSink): SessionControls

  /** A session is about to begin. Return a tap to watch its messages. */
  onSession?(exchange: Exchange): SessionTap | undefined

  /** The upstream's head has arrived and no byte has been relayed. Return a tap to watch the body. */
  onResponse?(exchange: Exchange, head: ResponseHead): Tap | undefined

  /**
   * The upstream has ended or the client has left: decide what is owed and make it durable. Awaited: the response ends
   * only after it. A rejection cuts the response off.
   */
  onSettle?(exchange: Exchange, outcome: Outcome): Promise<void> | void

  /** Called exactly once for each exchange, whatever happened. Errors are logged and never reach the client. */
  onEnd?(exchange: Exchange, outcome: Outcome): Promise<void> | void

  /** The gateway drains, or a reload has replaced the pipeline: stop starting work that no exchange requested. */
  drain?(): void

  /** Called once, after the last exchange has ended, or when the pipeline does not start; even if `start` was not. */
  stop?(): Promise<void> | void
}

/** A stage that is known by its name: in the config, in errors and in metrics. */
export interface Plugin extends Stage {
  readonly name: string
}
