import type { Exchange } from './exchange.ts'
import type { Fact } from './facts.ts'
import type { Outcome } from './outcome.ts'

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
export interface AnswerSink {
  onHead(head: ResponseHead, controls: UpstreamControls): void
  onData(chunk: Buffer): void
  /** @param trailers what came behind the body, fit to be passed on; flat */
  onEnd(trailers?: readonly string[]): void
  onError(error: Error): void
}

/**
 * One stage of the pipeline. The pipeline calls these hooks; plugins never call each other. A plugin reads
 * and writes facts on the exchange, and declares which, so that the order is checked at boot.
 */
export interface Plugin {
  readonly name: string
  readonly needs?: readonly Fact[]
  readonly provides?: readonly Fact[]
  /** Facts it needs for exchanges that are forwarded; checked at boot, and absent where the gateway answers. */
  readonly needsToForward?: readonly Fact[]

  /** Once, before the server listens. Throw to refuse to boot. */
  start?(): Promise<void> | void

  /**
   * Gate. In order, one at a time, request headers in hand. Throw a GatewayError to refuse. Once a gate has
   * set the exchange's own answer, only those of the others run whose needs are met.
   */
  onRequest?(exchange: Exchange): Promise<void> | void

  /** The one exclusive hook: exactly one plugin sends the request and pushes the answer into the sink. */
  forward?(exchange: Exchange, sink: AnswerSink): UpstreamControls

  /** The upstream's head is here and no byte has been relayed. Return a tap to watch the body. */
  onResponse?(exchange: Exchange, head: ResponseHead): Tap | undefined

  /**
   * The upstream has ended or the client has left: decide what is owed and make it durable. Awaited; the
   * answer ends only after it. A rejection cuts the answer off.
   */
  onSettle?(exchange: Exchange, outcome: Outcome): Promise<void> | void

  /** Exactly once for each exchange, whatever happened. Errors are logged and never reach the client. */
  onEnd?(exchange: Exchange, outcome: Outcome): Promise<void> | void

  /** Once, after the last exchange has ended. */
  stop?(): Promise<void> | void
}
