import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../pipeline/errors.ts'
import { headerValue, headerValues } from '../http/headers.ts'
import { closeCodeOf, closeReasonOf, SessionError } from './close-codes.ts'
import type { Message, MessageLimits } from './message-reader.ts'
import { Peer } from './peer.ts'
import { answeredProtocol } from './subprotocols.ts'
import { memoryBody } from '../bodies/outgoing-body.ts'
import { runSteps } from '../bodies/turns.ts'
import { scanMessage } from '../dialects/session.ts'
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
 * Receives a session's setup. Where that is in the client's first message, the upgrade is accepted and the message is
 * awaited: it takes the place of a body.
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

/** The end of a session whose client left with a close frame: the frame is returned, and nothing is refused. */
function sayGoodbye(exchange: Exchange, client: ClientSocket): SessionError {
  const left = new SessionError(1000, 'The client left before its setup.')
  exchange.hasClientLeft = true
  client.refuse(left, undefined)
  return left
}

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** The client's end of a session; absent for plain requests. */
    client: ClientSocket
  }
}

/** How long a client may take to return a close frame. */
const lingerMs = 2_000
/** RFC 6455 section 1.3. */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** The client's end of a session, starting with its request to upgrade. */
export class ClientSocket {
  readonly peer: Peer
  readonly #request: IncomingMessage
  readonly #socket: Duplex
  /** The WebSocket is open: errors are sent over it from now on. */
  isAccepted = false
  /** The first message, where it was awaited. */
  first: Message | undefined

  /** @throws GatewayError request_invalid for a request that is not a handshake of RFC 6455 */
  constructor(request: IncomingMessage, socket: Duplex, head: Buffer, limits: Omit<MessageLimits, 'from'>) {
    this.#request = request
    this.#socket = socket
    checkHandshake(request)
    if (head.length > 0) socket.unshift(head)
    this.peer = new Peer(socket, { ...limits, from: 'client' })
  }

  /**
   * Accepts the upgrade.
   * @param headers further response headers, flat, without those of the handshake
   * @param providerProtocol the subprotocol that the provider chose
   */
  accept(headers: readonly string[], providerProtocol: string | undefined): void {
    const key = headerValue(this.#request.rawHeaders, 'sec-websocket-key') ?? ''
    const accept = createHash('sha1')
      .update(key + acceptSuffix)
      .digest('base64')
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    lines.push(`Sec-WebSocket-Accept: ${accept}`)
    const protocol = answeredProtocol(this.#request.rawHeaders, providerProtocol)
    if (protocol !== undefined) lines.push(`Sec-WebSocket-Protocol: ${protocol}`)
    for (let index = 0; index + 1 < headers.length; index += 2) {
      if (!(headers[index] as string).toLowerCase().startsWith('sec-websocket-'))
        lines.push(`${headers[index]}: ${headers[index + 1]}`)
    }
    this.isAccepted = true
    this.#socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'))
  }

  /** Ends an open WebSocket before its session has begun. */
  refuse(error: Error, text: string | undefined): void {
    if (text !== undefined) void this.peer.writeText(Buffer.from(text))
    this.peer.close(closeCodeOf(error), closeReasonOf(error))
    this.peer.discard()
    const timer = setTimeout(() => this.peer.destroy(), lingerMs)
    timer.unref()
  }

  /**
   * The first message of a session, which is kept for the provider. Undefined where the client left before it.
   * @throws GatewayError request_timeout
   * @throws SessionError for bytes that are not a WebSocket's
   */
  async firstMessage(timeoutMs: number): Promise<Message | undefined> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new GatewayError('request_timeout', `No setup came within ${timeoutMs} ms.`)),
        timeoutMs,
      )
    })
    try {
      this.first = await Promise.race([this.#nextData(), late])
      return this.first
    } finally {
      clearTimeout(timer)
    }
  }

  async #nextData(): Promise<Message | undefined> {
    try {
      for (;;) {
        const { value, done } = await this.peer.messages.next()
        if (done === true || value.kind === 'close') return undefined
        if (value.kind === 'data') return value
      }
    } catch (error) {
      if (error instanceof SessionError) throw error
      // The connection broke.
      return undefined
    }
  }
}

/** @throws GatewayError request_invalid */
function checkHandshake({ rawHeaders }: IncomingMessage): void {
  const keys = headerValues(rawHeaders, 'sec-websocket-key')
  const versions = headerValues(rawHeaders, 'sec-websocket-version')
  if (keys.length !== 1 || !/^[+/0-9A-Za-z]{22}==$/.test(keys[0] ?? ''))
    throw new GatewayError('request_invalid', 'Sec-WebSocket-Key must be there once, 16 bytes in base64.')
  if (versions.length !== 1 || versions[0] !== '13')
    throw new GatewayError('request_invalid', 'Only version 13 of WebSocket is spoken here.')
}
