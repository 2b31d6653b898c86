import { GatewayError } from '../../pipeline/errors.ts'
import { JsonScanError, scanJson, type ScanResult } from '../../http/json-scan.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { freeOperation } from '../operation-kinds.ts'
import { object, value } from '../interest.ts'
import { searched } from '../naming-members.ts'
import { findField, readBoolean, readString } from '../read-field.ts'
import type { TurnEvent, TurnProtocol } from '../session.ts'
import { lastTypes, requestMembers, responses, responsesFacts } from './responses.ts'

/** The pattern that OpenAI's SDKs check. */
const laneName = /^[\w.-]{1,256}$/

const turnRequest = searched({
  ...requestMembers,
  type: value('messageType'),
  stream_id: value('lane'),
  generate: value('generate'),
})

/**
 * The facts of a `response.create`: a request's body, with the lane of its response. It is always streamed, and with
 * `generate: false` the model only reads it, so that a later request can continue from it.
 * @throws GatewayError not_supported for any other message, body_invalid
 */
function turnFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  const type = readString(scan, 'messageType')
  if (type !== 'response.create') {
    const found = type === undefined ? 'A message without a type' : `"${type.slice(0, 64)}"`
    throw new GatewayError('not_supported', `${found} is not served here; send response.create.`, {
      param: 'type',
    })
  }
  if (readBoolean(scan, 'background') === true) {
    throw new GatewayError(
      'not_supported',
      'Background responses are not available over a WebSocket: use POST /v1/responses for them.',
      { param: 'background' },
    )
  }
  const facts = responsesFacts(scan, body)
  const lane = readString(scan, 'lane')
  // Errors name the lane of the message that they are about, if they can.
  if (lane !== undefined && !laneName.test(lane)) {
    throw new GatewayError(
      'body_invalid',
      'stream_id must have 1 to 256 letters, digits, dots, dashes and underscores.',
      { param: 'stream_id' },
    )
  }
  return {
    ...facts,
    isStreaming: true,
    ...(readBoolean(scan, 'generate') === false && { outputTokensCap: 0 }),
    ...(lane !== undefined && { lane }),
  }
}

const turn: Operation = { ...responses, interest: turnRequest, factsFromJson: turnFacts }

const event = object({
  type: value('type'),
  stream_id: value('lane'),
  status: value('status'),
  response: object({ id: value('response') }),
})

const unreadable: TurnEvent = { kind: 'other', lane: '', responseId: undefined, status: undefined }

function readEvent(message: Buffer): TurnEvent {
  let scan: ScanResult
  try {
    scan = scanJson(message, event, { rejectDuplicates: false })
  } catch (error) {
    if (error instanceof JsonScanError) return unreadable
    throw error
  }
  const type = stringIn(scan, 'type') ?? ''
  return {
    kind: kindOf(type),
    lane: stringIn(scan, 'lane') ?? '',
    responseId: stringIn(scan, 'response'),
    status: numberIn(scan, 'status'),
  }
}

function kindOf(type: string): TurnEvent['kind'] {
  if (type === 'error') return 'error'
  if (lastTypes.has(type)) return 'ended'
  return type.startsWith('response.') ? 'output' : 'other'
}

function stringIn(scan: ScanResult, name: string): string | undefined {
  const found = findField(scan, name)
  return found?.type === 'string' ? String(JSON.parse(String(found.raw))) : undefined
}

function numberIn(scan: ScanResult, name: string): number | undefined {
  const found = findField(scan, name)
  return found?.type === 'number' ? Number(found.raw) : undefined
}

/**
 * The error with which OpenAI reports that a connection has reached its maximum duration: clients then open another.
 */
const limitReached = { code: 'websocket_connection_limit_reached', status: 400 }

function errorMessage(error: GatewayError, lane: string): string {
  const { row, code, message, param, details, retryAfterSeconds: seconds } = error
  const told = code === 'request_timeout' ? limitReached : { code: row.openai.code, status: row.status }
  return JSON.stringify({
    type: 'error',
    status: told.status,
    error: { type: row.openai.type, code: told.code, message, param: param ?? null, ...details },
    ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
    ...(lane !== '' && { stream_id: lane }),
  })
}

const turns: TurnProtocol = { turn, readEvent, errorMessage }

/** `GET /responses`, upgraded to a WebSocket: each of its messages requests a response, like a POST. */
export const responsesConnection: Operation = freeOperation('responses-connection', { turns })
