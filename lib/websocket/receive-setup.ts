import { memoryBody } from '../bodies/request-body.ts'
import { runSteps } from '../bodies/turns.ts'
import { scanMessage } from '../dialects/session-message.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { ClientSocket } from './client-socket.ts'
import { SessionError } from './close-codes.ts'
import type { Route } from '../routes/route.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ScannedRequest } from '../routes/receive-request.ts'

const nothing: ScannedRequest = {
  facts: { isStreaming: true, candidates: 1, textBytes: 0, media: [], objects: [] },
  isForm: false,
  body: memoryBody(Buffer.alloc(0)),
  content: memoryBody(Buffer.alloc(0)),
}

/**
 * What a session's setup says. Where that stands in the client's first message, the WebSocket is agreed to and
 * the message waited for: it takes the place of a body.
 * @throws GatewayError upgrade_required, request_timeout, body_invalid, field_ambiguous
 * @throws SessionError when the client left before its setup
 */
export async function receiveSetup(
  exchange: Exchange,
  route: Route,
  timeoutMs: number,
): Promise<ScannedRequest> {
  const client = exchange.find('client')
  if (client === undefined)
    throw new GatewayError('upgrade_required', 'This is a WebSocket: ask for an upgrade to "websocket".')
  const { operation } = route.match
  const { interest } = operation
  if (
    operation.session?.beginsWithMessage !== true ||
    interest === undefined ||
    operation.factsFromJson === undefined
  ) {
    return nothing
  }
  client.accept(['x-gateway-request-id', exchange.id], undefined)
  const first = await client.firstMessage(timeoutMs)
  if (first === undefined) throw sayGoodbye(exchange, client)
  const { data } = first
  const scan = await runSteps(scanMessage(data, interest, { foldUnderscores: true }))
  const facts = operation.factsFromJson(scan, { length: data.length })
  const body = memoryBody(data)
  // The span of the model is its bare name, as in a form.
  return { facts, isForm: true, body, content: body }
}

/** A client that leaves by a close frame is refused nothing: its goodbye is returned, and it is known to have left. */
function sayGoodbye(exchange: Exchange, client: ClientSocket): SessionError {
  const left = new SessionError(1000, 'The client left before its setup.')
  exchange.hasClientLeft = true
  client.refuse(left, undefined)
  return left
}
