import type { IncomingMessage, ServerResponse } from 'node:http'
import { GatewayError } from '../errors.ts'

/** The client closed its connection while its request was being read. Nobody is left to be told. */
class ClientLeftError extends Error {
  constructor() {
    super('The client left while its request was being read.')
    this.name = 'ClientLeftError'
  }
}

/** Bytes of request bodies that all exchanges together hold in memory, bounded. */
export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** @throws GatewayError overloaded */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) {
      throw new GatewayError(
        'overloaded',
        'The gateway holds as many request bodies as it may. Try again soon.',
        {
          retryAfterSeconds: 1,
        },
      )
    }
    this.#bytes += bytes
  }

  give(bytes: number): void {
    this.#bytes -= bytes
  }
}

interface ReadBodyOptions {
  readonly bytesMax: number
  readonly budget: BodyBudget
}

/**
 * Reads a request's whole body, bounded. A client that waits for `100 Continue` gets it first: whoever calls
 * this has let the headers pass. The caller gives the bytes back to the budget when it is done with them.
 * @throws GatewayError body_too_large, overloaded
 * @throws ClientLeftError
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReadBodyOptions,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  if (announced > options.bytesMax) throw tooLarge(announced, options.bytesMax)
  if (request.headers.expect !== undefined) response.writeContinue()
  if (announced === 0) return Buffer.alloc(0)
  const reader = new BodyReader(request, options)
  return await reader.whole
}

function tooLarge(bytes: number, bytesMax: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The request body is ${bytes} bytes or more, and at most ${bytesMax} are accepted.`,
  )
}

class BodyReader {
  readonly whole: Promise<Buffer>
  readonly #request: IncomingMessage
  readonly #options: ReadBodyOptions
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #resolve: (body: Buffer) => void = () => undefined
  #reject: (error: Error) => void = () => undefined

  constructor(request: IncomingMessage, options: ReadBodyOptions) {
    this.#request = request
    this.#options = options
    this.whole = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    request.on('data', this.#onData)
    request.once('end', this.#onEnd)
    request.once('error', this.#onGone)
    request.once('close', this.#onGone)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#bytes + chunk.length > this.#options.bytesMax) {
      return this.#fail(tooLarge(this.#bytes + chunk.length, this.#options.bytesMax))
    }
    try {
      this.#options.budget.take(chunk.length)
    } catch (error) {
      return this.#fail(error as Error)
    }
    this.#bytes += chunk.length
    this.#chunks.push(chunk)
  }

  readonly #onEnd = (): void => {
    this.#detach()
    const [first] = this.#chunks
    this.#resolve(
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#bytes),
    )
  }

  readonly #onGone = (): void => this.#fail(new ClientLeftError())

  #fail(error: Error): void {
    this.#detach()
    this.#options.budget.give(this.#bytes)
    this.#reject(error)
  }

  #detach(): void {
    this.#request.off('data', this.#onData)
    this.#request.off('end', this.#onEnd)
    this.#request.off('close', this.#onGone)
    // 'error' stays listened to: a late one must not become an uncaught exception.
    this.#request.off('error', this.#onGone)
    this.#request.on('error', ignoreLateError)
  }
}

/** The exchange has been told already; node:http emits once more when the socket goes. */
function ignoreLateError(): void {
  return undefined
}
