import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import type { GatewayError } from '../pipeline/errors.ts'
import type { Target } from '../models/choose-provider.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { AttemptLoop } from '../upstream/attempt-loop.ts'
import type { AttemptWay, TransportAttempt } from '../upstream/attempt-loop.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { proxyWebSocket } from './web-socket-proxy.ts'
import type { UpgradeRequest } from './web-socket-proxy.ts'
import type { EgressRoute } from '../upstream/egress-route.ts'
import type { Destination } from '../upstream/attempt-plan.ts'
import { egressConnector } from '../upstream/upstream-pools.ts'
import type { ResponseHead } from '../pipeline/plugin.ts'

/** A provider's response to a request to upgrade. */
interface UpgradeResponse {
  readonly head: ResponseHead
  /** The body of a refusal, as far as it arrived within the limits; empty when the upgrade was accepted. */
  readonly body: Buffer
}

const headBytesMax = 65_536
const bodyBytesMax = 65_536
const bodyMs = 2_000

/**
 * Reads the response to a request to upgrade, and leaves the bytes after a 101 in the stream.
 * @throws Error when the connection ends before a response, or the response is not HTTP/1.1
 */
async function readResponse(stream: Duplex): Promise<UpgradeResponse> {
  let read = Buffer.alloc(0)
  for (;;) {
    const end = read.indexOf('\r\n\r\n')
    if (end !== -1) {
      const head = parseHead(read.toString('latin1', 0, end))
      const rest = read.subarray(end + 4)
      if (head.status === 101) {
        if (rest.length > 0) stream.unshift(rest)
        return { head, body: Buffer.alloc(0) }
      }
      return { head, body: bodyOf(head, await readRest(stream, rest)) }
    }
    if (read.length > headBytesMax) throw new Error('The head of the response is too long.')
    const chunk = await nextChunk(stream)
    if (chunk === undefined) throw new Error('The connection ended before the response.')
    read = Buffer.concat([read, chunk])
  }
}

async function nextChunk(stream: Duplex): Promise<Buffer | undefined> {
  for (;;) {
    const chunk = stream.read() as Buffer | null
    if (chunk !== null) return chunk
    if (stream.readableEnded || stream.destroyed) return undefined
    await somethingOf(stream)
  }
}

async function somethingOf(stream: Duplex): Promise<void> {
  const names = ['readable', 'end', 'close']
  await new Promise<void>(resolve => {
    const done = (): void => {
      for (const name of names) stream.off(name, done)
      resolve()
    }
    for (const name of names) stream.on(name, done)
  })
}

async function readRest(stream: Duplex, first: Buffer): Promise<Buffer> {
  let body = first
  const timer = setTimeout(() => stream.destroy(), bodyMs)
  try {
    while (body.length <= bodyBytesMax) {
      const chunk = await nextChunk(stream)
      if (chunk === undefined) break
      body = Buffer.concat([body, chunk])
    }
  } finally {
    clearTimeout(timer)
  }
  return body
}

function parseHead(text: string): ResponseHead {
  const [first = '', ...lines] = text.split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? Number.NaN)
  if (!Number.isInteger(status)) throw new Error('The response is not HTTP/1.1.')
  const headers = lines.flatMap(line => {
    const colon = line.indexOf(':')
    return colon < 1 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return { status, headers, contentLength: undefined }
}

/** http-proxy-3 relays refusals without a length in chunks. */
function bodyOf({ headers }: ResponseHead, rest: Buffer): Buffer {
  const isChunked = headers.some(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'transfer-encoding',
  )
  if (!isChunked) return rest
  const pieces: Buffer[] = []
  let position = 0
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', position)
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(rest.toString('latin1', position, lineEnd), 16)
    if (!(size > 0)) return Buffer.concat(pieces)
    pieces.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size))
    position = lineEnd + 2 + size + 2
  }
}

/** A provider's response, and the stream after it. */
export interface UpstreamSession {
  readonly response: UpgradeResponse
  readonly stream: Duplex
  readonly egressName: string
  /** Frees the credential's slot; called once, at the end. */
  readonly leave: () => void
}

/** Builds the request for a target. */
export type UpgradeFor = (exchange: Exchange, target: Target) => UpgradeRequest

/**
 * Opens a connection to a provider's origin over one egress route, with TLS verified here where the origin has it.
 * @throws Error of the connection, EgressError of the proxy; nothing was sent to the provider
 */
async function openConnection(origin: URL, route: EgressRoute, connectMs: number): Promise<Socket> {
  const { protocol, hostname, host, port } = origin
  const connect = egressConnector(route.proxy, connectMs, route.lookup)
  route.watch()
  return await new Promise((resolve, reject) => {
    connect({ protocol, hostname, host, port }, (error, socket) => {
      if (error === null) resolve(socket)
      else reject(error)
    })
  })
}

/** One request to upgrade, sent to one provider. */
class UpgradeAttempt implements TransportAttempt {
  readonly stop: Destination
  readonly route: EgressRoute
  readonly startedAt: number
  wasStarted = false
  #response: UpgradeResponse | undefined
  #stream: Duplex | undefined
  #abortReason: Error | undefined

  constructor({ stop, route, startedAt }: AttemptWay) {
    this.stop = stop
    this.route = route
    this.startedAt = startedAt
  }

  get head(): UpgradeResponse['head'] | undefined {
    return this.#response?.head
  }

  body(): Buffer {
    return this.#response?.body ?? Buffer.alloc(0)
  }

  /** The provider's bytes after its head; available once there is a response. */
  get stream(): Duplex {
    if (this.#stream === undefined) throw new Error('The provider has not answered.')
    return this.#stream
  }

  /**
   * @param onStarted called when a connection is assigned to the request
   * @throws Error when there is no connection or no response
   */
  async run(request: () => UpgradeRequest, onStarted: () => void): Promise<UpgradeResponse> {
    const { target } = this.stop
    const { connectMs, firstByteMs } = target.credential.timeouts ?? target.provider.timeouts
    const connection = await openConnection(new URL(target.baseUrl.origin), this.route, connectMs)
    if (this.#abortReason !== undefined) {
      connection.destroy()
      throw this.#abortReason
    }
    this.wasStarted = true
    onStarted()
    let failure: Error | undefined
    const stream = proxyWebSocket(connection, request(), error => {
      failure = error
    })
    this.#stream = stream
    stream.on('error', () => undefined) // The read fails with an early end.
    const timer = setTimeout(() => {
      failure = Object.assign(new Error('no response in time'), { code: 'UND_ERR_HEADERS_TIMEOUT' })
      stream.destroy()
    }, firstByteMs)
    try {
      this.#response = await readResponse(stream)
      return this.#response
    } catch (error) {
      stream.destroy()
      throw this.#abortReason ?? failure ?? error
    } finally {
      clearTimeout(timer)
    }
  }

  abort(reason: Error): void {
    this.#abortReason ??= reason
    this.#stream?.destroy()
  }
}

/** Finds a provider for a session. */
export class OpenUpstream extends AttemptLoop<UpgradeAttempt> {
  readonly #exchange: Exchange
  readonly #upgradeFor: UpgradeFor
  readonly #opened = Promise.withResolvers<UpstreamSession>()
  protected readonly isIdempotent = true

  constructor(exchange: Exchange, upstreams: Upstreams, upgradeFor: UpgradeFor) {
    super(exchange, upstreams)
    this.#exchange = exchange
    this.#upgradeFor = upgradeFor
  }

  /** @throws GatewayError when no provider can be reached, or none has a working credential */
  async open(): Promise<UpstreamSession> {
    this.begin(this.#exchange.get('target'))
    return await this.#opened.promise
  }

  protected attemptAt(way: AttemptWay): UpgradeAttempt {
    return new UpgradeAttempt(way)
  }

  protected send(attempt: UpgradeAttempt): void {
    const { target } = attempt.stop
    this.#exchange.onClientLeft = target.provider.onClientLeft
    attempt
      .run(
        () => this.#upgradeFor(this.#exchange, target),
        () => this.onStarted(),
      )
      .then(
        ({ head }) => {
          if (this.onHead(attempt, head) === 'relay') return
          attempt.stream.destroy()
          this.onCollected(attempt, true)
        },
        (error: unknown) =>
          this.failAttempt(attempt, error instanceof Error ? error : new Error(String(error))),
      )
      .catch((error: unknown) => this.#opened.reject(error))
  }

  protected isRepeatable(): boolean {
    return true
  }

  /** The session is not needed any more. */
  override abort(reason: Error): void {
    super.abort(reason)
    this.#opened.reject(reason)
  }

  protected pass(attempt: UpgradeAttempt): void {
    const { stream, route } = attempt
    const response = { head: attempt.head as UpgradeResponse['head'], body: attempt.body() }
    this.#opened.resolve({ response, stream, egressName: route.name, leave: () => this.release() })
  }

  protected refuse(error: GatewayError): void {
    this.#opened.reject(error)
  }
}
