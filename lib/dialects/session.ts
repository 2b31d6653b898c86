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

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>

/** Work that is done step by step, so that a long message keeps nobody waiting. */
export type Steps<T> = Generator<undefined, T>

/** How much of a message is scanned in one step. */
const stepBytes = 16_384
/** More parts than any message needs; each takes up some memory. */
const findingsMax = 20_000

/**
 * What a message from a client says of what is of interest.
 * @throws GatewayError body_invalid, also for JSON that is no object; field_ambiguous
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
    throw toldError(error)
  }
  throw new GatewayError('body_invalid', 'A message must be a JSON object.')
}

/** An error of the scan as the client is told it. */
function toldError(error: unknown): unknown {
  if (!(error instanceof JsonScanError)) return error
  return new GatewayError(error.reason === 'duplicate' ? 'field_ambiguous' : 'body_invalid', error.message, {
    cause: error,
    ...(error.path === '' ? {} : { param: error.path }),
  })
}

/** The length of strings that are no text: audio and images. */
export function encodedLength(scan: ScanResult, name: string): number {
  let length = 0
  for (const found of scan.findings) {
    if (found.name === name && found.type === 'string') length += found.end - found.start - 2
  }
  return length
}

/** How many values of a name there are. */
export function countOf(scan: ScanResult, name: string): number {
  return scan.findings.filter(found => found.name === name && found.type !== 'null').length
}

/** How long audio is that stands encoded in so many characters, by the bytes that a second of it takes. */
export function encodedSeconds(encodedLength: number, bytesPerSecond: number): number {
  return (encodedLength * 3) / 4 / bytesPerSecond
}

/** A provider's message; undefined for what is no JSON, which is passed on unread. */
export function parseMessage(message: Buffer): Fields {
  try {
    return fieldsOf(JSON.parse(message.toString('utf8')))
  } catch {
    return {}
  }
}

/** The members of an object; none for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** The bytes of a text; 0 for anything else. */
export function lengthOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

/** What a message from the client means for the turns of a session. */
export interface ClientEvent {
  /**
   * `response`: a response begins by this message. `input`: one may begin by itself with it, or one that
   * runs goes on. Absent: it costs nothing by itself.
   */
  readonly starts?: 'response' | 'input'
  /** The client's own id of the message, which errors name. */
  readonly id?: string
  /** Text in it, as the provider will read it. */
  readonly textBytes: number
  /** Audio in it. */
  readonly audioSeconds: number
  /** What its images are taken for. */
  readonly imageTokens?: number
  /** The response reads what is in this message instead of the conversation, or is not added to it. */
  readonly isApart?: boolean
  /** The response is spoken, or not, whatever others of the session are. */
  readonly isSpoken?: boolean
  /** The most output tokens the response may have. */
  readonly outputTokensCap?: number
  /** What the provider may run by itself for the response, beside what it may for all of the session's. */
  readonly tools?: readonly ProviderTool[]
  /** The model it names, and where its value stands, with its quotes. */
  readonly model?: { readonly name: string; readonly start: number; readonly end: number }
}

/** What was consumed, as the provider reported it in one message. */
export interface TurnUsage {
  /** A line without a model is of the session's model. */
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
  /** What the turn has consumed so far; a later one takes its place. */
  | { readonly kind: 'usage'; readonly usage: TurnUsage }
  /** A turn is over; without a usage none was reported with it. */
  | {
      readonly kind: 'finished'
      readonly turn?: string
      readonly usage?: TurnUsage
      readonly isFailed?: boolean
    }
  /** Something beside the turns that is billed, such as the transcript of what was said; `id` names it. */
  | { readonly kind: 'side'; readonly id?: string; readonly usage: TurnUsage }
  /** What was said is being written down, which is billed when it is done; `isOver` then, or when it has failed. */
  | {
      readonly kind: 'transcript'
      readonly item: string
      readonly textBytes: number
      readonly model?: string
      readonly isOver?: boolean
    }
  /** Something that the provider keeps and that a later request may name. */
  | { readonly kind: 'named'; readonly object: NamedObject }
  /** The model that answers, of a session that was opened without one. */
  | { readonly kind: 'model'; readonly name: string }
  /** The provider refused a message; by its id, where it had one. */
  | { readonly kind: 'refused'; readonly id?: string }

/** What a session's reader may know. */
export interface SessionContext {
  /** The provider's config name or what it is `like`. */
  readonly providerKind: string
  /** The model's price counts seconds of audio, so usage is told in them where the provider does. */
  readonly isPricedBySecond: boolean
  /** As the provider knows it. */
  readonly model: string
}

/** Reads the messages of one session in both directions. */
export interface SessionReader {
  /** A response may begin without being asked for, when the speaker pauses. */
  readonly startsByItself: boolean
  readonly isSpoken: boolean
  /** What the provider may run by itself for any response, as far as messages after the first have said so. */
  readonly tools?: readonly ProviderTool[]
  /** A turn reads what came since the one before, and nothing of what was said earlier. */
  readonly forgets?: boolean
  /** @throws GatewayError body_invalid, field_ambiguous */
  onClient(message: Buffer): Steps<ClientEvent>
  onServer(message: Buffer): readonly ServerEvent[]
}

/** What a message of a session names: what the provider keeps, and models. */
export interface SessionNames {
  readonly objects: readonly NamedObject[]
  readonly models: readonly NamedModel[]
}

/** A wire format of sessions over WebSocket. */
export interface SessionProtocol {
  /** The model and more stand in the client's first message, which therefore comes before the provider's. */
  readonly beginsWithMessage: boolean
  /** The model is named while the session runs, by either side, and may be replaced. */
  readonly modelInSession?: {
    /** What a client is told that wants a turn before that. */
    readonly whileUnknown: string
  }
  /** Others may be told of the same turns, which are charged to whoever is the first to see their end. */
  readonly isShared?: boolean
  createReader(context: SessionContext): SessionReader
  /** Where a message from the client names something, and how it is spelled. */
  readonly naming: Interest
  readonly namingOptions?: ScanOptions
  /** An error as a message of the protocol; undefined where it has none and errors close the session. */
  errorMessage?(error: GatewayError, eventId: string): string
}

/**
 * What a message from the client names.
 * @throws GatewayError body_invalid, field_ambiguous
 */
export function* namesIn({ naming, namingOptions }: SessionProtocol, message: Buffer): Steps<SessionNames> {
  const scan = yield* scanMessage(message, naming, namingOptions)
  return { objects: objectsIn(scan), models: namedModelsIn(scan) }
}

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
