import { GatewayError } from '../pipeline/errors.ts'
import type { NamedObject, UsageLine } from '../money/usage.ts'
import type { NamedModel, Operation } from './dialect.ts'
import { objectsIn } from './named-objects.ts'
import { namedModelsIn } from './naming-members.ts'
import type { ProviderTool } from './provider-tools.ts'
import {
  JsonScanError,
  JsonScanner,
  type Interest,
  type ScanOptions,
  type ScanResult,
} from '../http/json-scan.ts'

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** Work that is done in steps, so that a long message does not block other exchanges. */
export type Steps<T> = Generator<undefined, T>

/** Bytes of a message to scan in one step. */
const stepBytes = 16_384
/** No legitimate message has more parts; each uses some memory. */
const findingsMax = 20_000

/**
 * The findings of interest in a message from a client.
 * @throws GatewayError body_invalid, also for JSON that is not an object; field_ambiguous
 */
export function* scanMessage(
  message: Buffer,
  interest: Interest,
  options: ScanOptions = {},
): Steps<ScanResult> {
  const scanner = new JsonScanner(interest, { findingsMax, ...options }, true)
  try {
    for (let start = 0; start < message.length; start += stepBytes) {
      if (start > 0) yield undefined
      scanner.push(message.subarray(start, start + stepBytes))
    }
    const found = scanner.end()
    if (scanner.isObject) return found
  } catch (error) {
    throw clientError(error)
  }
  throw new GatewayError('body_invalid', 'A message must be a JSON object.')
}

/** The error that the client gets for an error of the scan. */
function clientError(error: unknown): unknown {
  if (!(error instanceof JsonScanError)) return error
  return new GatewayError(error.reason === 'duplicate' ? 'field_ambiguous' : 'body_invalid', error.message, {
    cause: error,
    ...(error.path === '' ? {} : { param: error.path }),
  })
}

/** The length of strings that are not text: audio and images. */
export function encodedLength(scan: ScanResult, name: string): number {
  let length = 0
  for (const found of scan.findings) {
    if (found.name === name && found.type === 'string') length += found.end - found.start - 2
  }
  return length
}

/** The number of values with a name. */
export function countOf(scan: ScanResult, name: string): number {
  return scan.findings.filter(found => found.name === name && found.type !== 'null').length
}

/** The playing time of audio with this encoded length, by the bytes per second of its format. */
export function encodedSeconds(encodedLength: number, bytesPerSecond: number): number {
  return (encodedLength * 3) / 4 / bytesPerSecond
}

/** A provider's message; no members if it is not valid JSON, in which case it is passed on unread. */
export function parseMessage(message: Buffer): Fields {
  try {
    return fieldsOf(JSON.parse(message.toString('utf8')))
  } catch {
    return {}
  }
}

/** The members of an object; none for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** The UTF-8 bytes of a text; 0 for any other value. */
export function lengthOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

/** What a message from the client means for the turns of a session. */
export interface ClientEvent {
  /**
   * `response`: this message starts a response. `input`: it may start one by itself, or continue the running one.
   * Absent: the message costs nothing by itself.
   */
  readonly starts?: 'response' | 'input'
  /** The client's own id of the message, to which errors refer. */
  readonly id?: string
  /** Bytes of text in it, as the provider reads it. */
  readonly textBytes: number
  /** Seconds of audio in it. */
  readonly audioSeconds: number
  /** The tokens counted for its images. */
  readonly imageTokens?: number
  /** The response reads this message instead of the conversation, or is not added to it. */
  readonly isApart?: boolean
  /** Whether the response is spoken, independent of the session's setting. */
  readonly isSpoken?: boolean
  /** The most output tokens the response may have. */
  readonly outputTokensCap?: number
  /** The tools that the provider may run for the response, in addition to those of the session. */
  readonly tools?: readonly ProviderTool[]
  /** The model that it names, and the position of its value, including its quotes. */
  readonly model?: { readonly name: string; readonly start: number; readonly end: number }
}

/** The usage that the provider reported in one message. */
export interface TurnUsage {
  /** A line without a model belongs to the session's model. */
  readonly lines: readonly UsageLine[]
  /** The provider's usage object as JSON text. */
  readonly raw: string
  readonly details: Readonly<Record<string, number>>
  readonly flags: readonly string[]
}

/** What a message from the provider means for the turns of a session. */
export type ServerEvent =
  | { readonly kind: 'started'; readonly turn?: string }
  | {
      readonly kind: 'output'
      readonly turn?: string
      readonly textBytes: number
      readonly audioSeconds: number
    }
  /** The usage of the turn so far; a later one replaces it. */
  | { readonly kind: 'usage'; readonly usage: TurnUsage }
  /** A turn is over; without `usage` none was reported. */
  | {
      readonly kind: 'finished'
      readonly turn?: string
      readonly usage?: TurnUsage
      readonly isFailed?: boolean
    }
  /** Billed work beside the turns, such as a transcript of the input; `id` names it. */
  | { readonly kind: 'side'; readonly id?: string; readonly usage: TurnUsage }
  /** A transcription of the input, which is billed when it ends; `isOver` is true then, or when it has failed. */
  | {
      readonly kind: 'transcript'
      readonly item: string
      readonly textBytes: number
      readonly model?: string
      readonly isOver?: boolean
    }
  /** An object that the provider stores and that a later request may name. */
  | { readonly kind: 'named'; readonly object: NamedObject }
  /** The responding model, in a session that was opened without one. */
  | { readonly kind: 'model'; readonly name: string }
  /** The provider refused a message; `id` is the message's own, if it had one. */
  | { readonly kind: 'refused'; readonly id?: string }

/** The context of a session's reader. */
export interface SessionContext {
  /** The provider's config name or what it is `like`. */
  readonly providerKind: string
  /** The model is priced by seconds of audio, so usage is reported in seconds if the provider does so. */
  readonly isPricedBySecond: boolean
  /** The model's name at the provider. */
  readonly model: string
}

/** Reads the messages of one session in both directions. */
export interface SessionReader {
  /** A response may begin without a request, when the speaker pauses. */
  readonly startsByItself: boolean
  readonly isSpoken: boolean
  /** The tools that the provider may run for any response, as set by messages after the first. */
  readonly tools?: readonly ProviderTool[]
  /** A turn reads only what came since the previous turn. */
  readonly forgets?: boolean
  /** @throws GatewayError body_invalid, field_ambiguous */
  onClient(message: Buffer): Steps<ClientEvent>
  onServer(message: Buffer): readonly ServerEvent[]
}

/** The provider's objects and the models that a message of a session names. */
export interface SessionNames {
  readonly objects: readonly NamedObject[]
  readonly models: readonly NamedModel[]
}

/** A wire format of sessions over WebSocket. */
export interface SessionProtocol {
  /** The client's first message contains the model and other settings, so it comes before the provider's. */
  readonly beginsWithMessage: boolean
  /** The model is named while the session runs, by either side, and may be replaced. */
  readonly modelInSession?: {
    /** The error message for a client that starts a turn before that. */
    readonly whileUnknown: string
  }
  /** Several connections may see the same turns; each turn is charged to the first that sees its end. */
  readonly isShared?: boolean
  createReader(context: SessionContext): SessionReader
  /** The places where a message from the client names an object or a model. */
  readonly naming: Interest
  readonly namingOptions?: ScanOptions
  /** An error as a message of the protocol; undefined where it has none and errors close the session. */
  errorMessage?(error: GatewayError, eventId: string): string
}

/**
 * The objects and models that a message from the client names.
 * @throws GatewayError body_invalid, field_ambiguous
 */
export function* namesIn({ naming, namingOptions }: SessionProtocol, message: Buffer): Steps<SessionNames> {
  const scan = yield* scanMessage(message, naming, namingOptions)
  return { objects: objectsIn(scan), models: namedModelsIn(scan) }
}

/** The meaning of a message from the provider for the turns of a connection. */
export interface TurnEvent {
  /**
   * `output`: a part of a response. `ended`: its last part. `error`: the provider refuses a turn, or abandons it.
   * `other`: it belongs to no turn.
   */
  readonly kind: 'output' | 'ended' | 'error' | 'other'
  /** The lane of the connection; empty if the client named none. A lane has one response at a time. */
  readonly lane: string
  /** The provider's id of the response, if the message has it. */
  readonly responseId: string | undefined
  /** The HTTP status of an error, if the message has it. */
  readonly status: number | undefined
}

/** A wire format in which each message from the client is a request whose response is a series of messages. */
export interface TurnProtocol {
  /** The operation of such a request for gates, holds and charges. */
  readonly turn: Operation
  /** Reads a message from either side; of a client's message only the lane is read. */
  readEvent(message: Buffer): TurnEvent
  /** An error as a message of the protocol. */
  errorMessage(error: GatewayError, lane: string): string
}
