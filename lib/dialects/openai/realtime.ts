import { GatewayError } from '../../errors.ts'
import type { Operation, RouteMatch } from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { decodeSegment } from '../route-table.ts'
import type { SessionProtocol } from '../session.ts'
import { realtimeNames } from './realtime-names.ts'
import { RealtimeReader } from './realtime-reader.ts'

/** The error event of the Realtime API: the session goes on after it unless it is closed. */
function errorMessage(error: GatewayError, eventId: string): string {
  const { type, code } = error.row.openai
  return JSON.stringify({
    type: 'error',
    event_id: eventId,
    error: { type, code, message: error.message, param: error.param ?? null, event_id: null },
  })
}

const protocol: SessionProtocol = {
  beginsWithMessage: false,
  createReader: context => new RealtimeReader(context),
  namesIn: realtimeNames,
  errorMessage,
}

/** `GET /realtime?model=`, upgraded to a WebSocket. */
export const realtime: Operation = {
  name: 'realtime',
  body: 'none',
  modelIn: 'path',
  isFree: false,
  mainMeter: 'audioOutput',
  session: protocol,
}

/** Client secrets, sessions for browsers and calls over WebRTC: what they begin goes around the gateway. */
export const realtimeKeys: Operation = freeOperation('realtime-keys', {
  body: 'opaque',
  mintsKeys:
    'It makes a session that goes around the gateway, which could not charge it. Connect to /v1/realtime by WebSocket with your own key.',
})

/**
 * The model of a session stands in the query.
 * @throws GatewayError field_ambiguous, not_supported, request_invalid
 */
export function withQueryModel(match: RouteMatch): RouteMatch {
  if (match.operation !== realtime) return match
  const { upstreamPath } = match
  let start = upstreamPath.indexOf('?') + 1
  let found: Pick<RouteMatch, 'pathModel' | 'pathModelSpan'> = {}
  for (const parameter of start === 0 ? [] : upstreamPath.slice(start).split('&')) {
    const equals = parameter.indexOf('=') === -1 ? parameter.length : parameter.indexOf('=')
    const name = decodeURIComponentOf(parameter.slice(0, equals))
    if (name === 'call_id' || name === 'intent') {
      throw new GatewayError(
        'not_supported',
        `A session with "${name}" is not served here; ask for one with "model".`,
        {
          param: name,
        },
      )
    }
    if (name === 'model') {
      if (found.pathModel !== undefined) {
        throw new GatewayError('field_ambiguous', 'The query names more than one model.', { param: 'model' })
      }
      const raw = parameter.slice(equals + 1)
      const model =
        raw === ''
          ? ''
          : raw
              .split(/\/|%2f/i)
              .map(decodeSegment)
              .join('/')
      if (model.includes('..')) {
        throw new GatewayError('request_invalid', 'No model has ".." in its name.', { param: 'model' })
      }
      found = {
        pathModel: model,
        pathModelSpan: { start: start + equals + 1, end: start + parameter.length },
      }
    }
    start += parameter.length + 1
  }
  return { ...match, ...found }
}

function decodeURIComponentOf(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new GatewayError('request_invalid', 'The query is not valid percent-encoded UTF-8.', { cause })
  }
}
