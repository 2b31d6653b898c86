import { GatewayError } from '../../pipeline/errors.ts'
import { headerValue } from '../../http/headers.ts'
import type { Operation, RouteMatch } from '../dialect.ts'
import { freeOperation, paidOperation } from '../operation-kinds.ts'
import { decodeSegment } from '../route-table.ts'
import type { SessionProtocol } from '../session.ts'
import { RealtimeReader } from './realtime-reader.ts'
import { TranscriptionReader } from './transcription-reader.ts'
import { list } from '../interest.ts'
import { searched } from '../naming-members.ts'
import { storedPrompt, tool } from './response-input.ts'

/** The error event of the Realtime API: the session continues after it unless it is closed. */
function errorMessage(error: GatewayError, eventId: string): string {
  const { type, code } = error.row.openai
  return JSON.stringify({
    type: 'error',
    event_id: eventId,
    error: { type, code, message: error.message, param: error.param ?? null, event_id: null },
  })
}

const item = searched({})
const settings = { prompt: storedPrompt, tools: list(tool) }

/** The objects that a Realtime event names. Items of the conversation belong to the session itself. */
const message = searched({
  item,
  session: searched(settings),
  response: searched({ ...settings, input: list(item) }),
})

const protocol: SessionProtocol = {
  beginsWithMessage: false,
  createReader: context => new RealtimeReader(context),
  naming: message,
  errorMessage,
}

/** `GET /realtime?model=`, upgraded to a WebSocket. */
export const realtime = paidOperation('realtime', 'audioOutput', {
  body: 'none',
  modelIn: 'path',
  session: protocol,
})

/** `GET /realtime?intent=transcription`: transcribes its input and generates no responses. */
const realtimeTranscription: Operation = {
  ...realtime,
  name: 'realtime-transcription',
  modelIn: 'none',
  mainMeter: 'audioInput',
  session: {
    ...protocol,
    modelInSession: {
      whileUnknown: 'Name the model first: session.update with audio.input.transcription.model.',
    },
    createReader: context => new TranscriptionReader(context),
  },
}

/**
 * `GET /realtime?call_id=`: accompanies a call over WebRTC, whose audio bypasses the gateway and whose turns do not.
 */
const realtimeSideband: Operation = {
  ...realtime,
  name: 'realtime-sideband',
  modelIn: 'none',
  session: {
    ...protocol,
    modelInSession: { whileUnknown: 'The model of this call is not known yet: wait for session.created.' },
    isShared: true,
  },
}

const mintsKeys =
  'It creates a session that bypasses the gateway, which could not charge it. Connect to /v1/realtime by WebSocket with your own key.'

/** Client secrets and sessions for browsers: sessions that start with them bypass the gateway. */
export const realtimeKeys: Operation = freeOperation('realtime-keys', { body: 'opaque', mintsKeys })

/** `POST /realtime/calls`: a call over WebRTC, whose id is at the end of its address. */
export const realtimeCall: Operation = freeOperation('realtime-call', {
  body: 'opaque',
  mintsKeys,
  objectsInHead(headers) {
    const id = /\/calls\/([\w.-]+)$/.exec(headerValue(headers, 'location') ?? '')?.[1]
    return id === undefined ? [] : [{ kind: 'call', id }]
  },
})

/** `POST /realtime/calls/{id}/hangup` */
export const realtimeHangup: Operation = freeOperation('realtime-hangup', { body: 'opaque' })

/**
 * The model of a session is in the query.
 * @throws GatewayError field_ambiguous, not_supported, request_invalid
 */
export function withQueryModel(match: RouteMatch): RouteMatch {
  const { upstreamPath } = match
  let start = upstreamPath.indexOf('?') + 1
  const others: [name: string, value: string][] = []
  let found: Pick<RouteMatch, 'pathModel' | 'pathModelSpan'> = {}
  for (const parameter of start === 0 ? [] : upstreamPath.slice(start).split('&')) {
    const equals = parameter.indexOf('=') === -1 ? parameter.length : parameter.indexOf('=')
    const name = nameOf(parameter.slice(0, equals))
    if (name === 'intent' || name === 'call_id')
      others.push([name, decodeURIComponentOf(parameter.slice(equals + 1))])
    if (name === 'model') {
      if (found.pathModel !== undefined)
        throw new GatewayError('field_ambiguous', 'The query names more than one model.', { param: 'model' })
      const raw = parameter.slice(equals + 1)
      const model =
        raw === ''
          ? ''
          : raw
              .split(/\/|%2f/i)
              .map(decodeSegment)
              .join('/')
      if (model.includes('..'))
        throw new GatewayError('request_invalid', 'A model name cannot contain "..".', { param: 'model' })
      found = {
        pathModel: model,
        pathModelSpan: { start: start + equals + 1, end: start + parameter.length },
      }
    }
    start += parameter.length + 1
  }
  return others.length === 0 ? { ...match, ...found } : withoutModel(match, others, found.pathModel)
}

/** @throws GatewayError request_invalid, not_supported */
function withoutModel(
  match: RouteMatch,
  [first, ...more]: readonly (readonly [name: string, value: string])[],
  model: string | undefined,
): RouteMatch {
  const [name, value] = first ?? ['', '']
  if (more.length > 0 || model !== undefined) {
    throw new GatewayError(
      'request_invalid',
      'The query must have only one of "model", "intent" and "call_id". A transcription names its model in session.update.',
      { param: name },
    )
  }
  if (name === 'call_id')
    return { ...match, operation: realtimeSideband, object: { kind: 'call', id: value } }
  if (value === 'transcription') return { ...match, operation: realtimeTranscription }
  throw new GatewayError('not_supported', 'The only supported intent is "transcription".', {
    param: 'intent',
  })
}

/** @throws GatewayError request_invalid for a spelling that servers which ignore case would read as the same name */
function nameOf(written: string): string {
  const name = decodeURIComponentOf(written)
  const plain = name.toLowerCase()
  if (plain === 'deployment' || (plain !== name && ['model', 'intent', 'call_id'].includes(plain))) {
    throw new GatewayError(
      'request_invalid',
      `The query names ${JSON.stringify(name)}; the model is "model".`,
      { param: name },
    )
  }
  return name
}

function decodeURIComponentOf(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new GatewayError('request_invalid', 'The query is not valid percent-encoded UTF-8.', { cause })
  }
}
