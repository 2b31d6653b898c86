import type { GatewayError } from '../pipeline/errors.ts'
import type { Operation } from './dialect.ts'

/** What a message from the provider is to the turns of a connection. */
export interface TurnEvent {
  /**
   * `output`: a part of a response. `ended`: its last part. `error`: the provider refuses a turn, or gives it up.
   * `other`: it belongs to no turn.
   */
  readonly kind: 'output' | 'ended' | 'error' | 'other'
  /** Which of the connection's lanes; empty where the client named none. A lane has one response at a time. */
  readonly lane: string
  /** The provider's id of the response, where the message has it. */
  readonly responseId: string | undefined
  /** The HTTP status that an error stands for, where the message has it. */
  readonly status: number | undefined
}

/** A wire format in which each message from the client is a request, and its response comes in messages. */
export interface TurnProtocol {
  /** What such a request is to gates, holds and charges. */
  readonly turn: Operation
  /** Of a message from the client the lane is read, whatever else it says. */
  readEvent(message: Buffer): TurnEvent
  /** An error as a message of the protocol. */
  errorMessage(error: GatewayError, lane: string): string
}
