import type { IncomingMessage, ServerResponse } from 'node:http'
import { GatewayError } from '../pipeline/errors.ts'
import { writeInformation } from '../pipeline/write-information.ts'
import { BodyBudget, BodyStore, type SpoolFolder } from './body-store.ts'
import { endInTurns, pushInTurns, turns, type BodyScan } from './turns.ts'
import { BodyFailedError, ClientLeftError, ClientStream, tooSlow } from './client-stream.ts'
import { decodedPieces } from './decoded-pieces.ts'
import { bodyPieces, type RequestBody } from './outgoing-body.ts'
import { countFound } from '../platform/collect-garbage.ts'

interface BodiesOptions {
  /** For all bodies together, in memory and in files. */
  readonly bytesMax: number
  /** For all bodies together, in memory. */
  readonly memoryBytesMax: number
  readonly folder: SpoolFolder
  /** Called when a file of bodies cannot be written or read, for example because the disk is full. */
  readonly onFileFailed: (error: Error) => void
}

interface ReceiveOptions<T> {
  readonly bytesMax: number
  /** The most memory that one body may use. */
  readonly memoryBytesMax: number
  /** How long receiving may take. */
  readonly timeMs: number
  /**
   * Begins the scan, when the first bytes have arrived or the body has ended; undefined: the body is not scanned.
   * `isWhole`: the scan gets the body as one chunk, which stays in memory. `kept`: is called with the total memory that
   * the findings use; throws when that is too much.
   */
  scan(isWhole: boolean, isEmpty: boolean, kept: KeptFindings): BodyScan<T> | undefined
}

/** Accounts for memory used beside a body, as long as the body is open. */
export interface KeptFindings {
  /**
   * Reports the total now in use.
   * @throws GatewayError overloaded
   */
  keep(bytes: number): void
}

/** A body that has been received whole. Its receiver must close it. */
export interface ReceivedBody<T> {
  /** As received. */
  readonly body: RequestBody
  /** With its content-encoding decoded; the same as `body` where it has none. */
  readonly content: RequestBody
  /** The result of the scan of the content. */
  readonly found: T | undefined
  close(): void
}

/** Bodies up to this size are scanned in one piece when complete. */
const shortBytesMax = 65_536
/** Up to this size a scan takes less time than waiting for a turn. */
const promptBytesMax = 4096

/** Receives request bodies: scans them as they arrive, and keeps them in memory or in files, all within limits. */
export class Bodies {
  readonly #budget: BodyBudget
  readonly #keeping: ConstructorParameters<typeof BodyStore>[0]

  constructor(options: BodiesOptions) {
    const { folder, onFileFailed } = options
    this.#budget = new BodyBudget(options)
    this.#keeping = { budget: this.#budget, folder, onFileFailed }
  }

  /** The bytes of all open bodies, in memory and in files. */
  get bytes(): number {
    return this.#budget.bytes
  }

  /**
   * Receives a request's whole body. A client that waits for `100 Continue` gets it first: callers must have accepted
   * the headers.
   * @throws GatewayError body_too_large, overloaded, and what the scan throws
   * @throws ClientLeftError
   */
  receive<T>(
    request: IncomingMessage,
    response: ServerResponse,
    options: ReceiveOptions<T>,
  ): Promise<ReceivedBody<T>> {
    const { headers } = request
    const announced = Number(headers['content-length'] ?? Number.NaN)
    if (announced > options.bytesMax) throw tooLarge(announced, options.bytesMax)
    if (headers.expect !== undefined) writeInformation(response, 100)
    const encoding = headers['content-encoding'] ?? ''
    const isEncoded = encoding !== '' && encoding.toLowerCase() !== 'identity'
    const { memoryBytesMax } = options
    const raw = new BodyStore(this.#keeping, memoryBytesMax)
    const content = isEncoded && announced !== 0 ? new BodyStore(this.#keeping, memoryBytesMax) : raw
    const receipt = new Receipt<T>(raw, content, this.#budget)
    const isShort = announced <= shortBytesMax && content === raw
    const received = isShort
      ? this.#receiveShort(request, announced, receipt, options)
      : this.#receiveLong(request, encoding, receipt, options)
    received.catch(() => receipt.close())
    return received
  }

  /**
   * Counts the memory of half-read session messages: positive to add, negative to subtract.
   * @throws GatewayError overloaded
   */
  holdMessage(bytes: number): void {
    if (bytes < 0) this.#budget.release(-bytes)
    else this.#budget.hold(bytes, 'messages')
  }

  /** Scans a body that was received before. */
  async scan<T>(content: RequestBody, scan: BodyScan<T>): Promise<T> {
    for await (const piece of bodyPieces(content)) {
      const pending = pushInTurns(scan, piece)
      if (pending !== undefined) await pending
    }
    return await endInTurns(scan)
  }

  /** Receives a body so short that its chunks are simply kept; nearly all arrive as one chunk, with their head. */
  #receiveShort<T>(
    request: IncomingMessage,
    announced: number,
    receipt: Receipt<T>,
    options: ReceiveOptions<T>,
  ): Promise<ReceivedBody<T>> {
    if (announced === 0) return Promise.try(() => this.#finishShort(receipt, options))
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const fail = (error: unknown): void => {
        detach()
        reject(error)
      }
      const onData = (chunk: Buffer): void => {
        try {
          // When memory is short, so few bytes are written to the file only when complete.
          void receipt.body.append(chunk)
        } catch (error) {
          fail(error)
        }
      }
      const detach = (): void => {
        clearTimeout(timer)
        request.off('data', onData)
        request.off('end', onEnd)
        request.off('close', onGone)
      }
      const onEnd = (): void => {
        detach()
        try {
          resolve(this.#finishShort(receipt, options))
        } catch (error) {
          reject(error)
        }
      }
      const onGone = (): void => fail(new ClientLeftError())
      // Nearly every body has arrived with its head and is complete by then: it needs no timer.
      process.nextTick(() => {
        if (!request.complete) timer = setTimeout(() => fail(tooSlow(options.timeMs)), options.timeMs)
      })
      request.on('data', onData)
      request.once('end', onEnd)
      // This listener stays: a late error must not become an uncaught exception.
      request.on('error', onGone)
      request.once('close', onGone)
    })
  }

  /** All bytes have arrived: scans them at once where that is faster than waiting for a turn. */
  #finishShort<T>(
    receipt: Receipt<T>,
    options: ReceiveOptions<T>,
  ): ReceivedBody<T> | Promise<ReceivedBody<T>> {
    const written = receipt.body.finish()
    const { bytes } = receipt.body
    if (bytes === undefined) return this.#scanWritten(written, receipt, options)
    if (bytes.length <= promptBytesMax) return receipt.scanAtOnce(bytes, options)
    return turns.take(() => receipt.scanAtOnce(bytes, options))
  }

  async #scanWritten<T>(
    written: Promise<void> | undefined,
    receipt: Receipt<T>,
    options: ReceiveOptions<T>,
  ): Promise<ReceivedBody<T>> {
    await written
    const scan = options.scan(false, false, receipt)
    if (scan !== undefined) receipt.found = await this.scan(receipt.body, scan)
    return receipt
  }

  async #receiveLong<T>(
    request: IncomingMessage,
    encoding: string,
    receipt: Receipt<T>,
    options: ReceiveOptions<T>,
  ): Promise<ReceivedBody<T>> {
    const { body: raw, content } = receipt
    const received = receivedPieces(request, raw, options)
    const pieces = content === raw ? received : decodedPieces(received, encoding, options.bytesMax)
    let scan: BodyScan<T> | undefined
    let isBegun = false
    for await (const piece of pieces) {
      if (!isBegun) scan = options.scan(false, false, receipt)
      isBegun = true
      if (content !== raw) await content.append(piece)
      if (scan !== undefined) await pushInTurns(scan, piece)
    }
    await raw.finish()
    if (content !== raw) await content.finish()
    if (!isBegun) scan = options.scan(false, true, receipt)
    if (scan !== undefined) receipt.found = await endInTurns(scan)
    return receipt
  }
}

/** A body that is being received, and then the received body. */
class Receipt<T> implements ReceivedBody<T>, KeptFindings {
  readonly body: BodyStore
  readonly content: BodyStore
  readonly #budget: BodyBudget
  /** The memory that the findings of the scan use. */
  #keptBytes = 0
  #isClosed = false
  found: T | undefined

  constructor(body: BodyStore, content: BodyStore, budget: BodyBudget) {
    this.body = body
    this.content = content
    this.#budget = budget
  }

  keep(bytes: number): void {
    const more = bytes - this.#keptBytes
    if (this.#isClosed || more === 0) return
    if (more < 0) this.#budget.release(-more)
    else {
      this.#budget.hold(more, 'parts of requests')
      countFound(more)
    }
    this.#keptBytes = bytes
  }

  /** Scans the whole body as one chunk. */
  scanAtOnce(bytes: Buffer, options: ReceiveOptions<T>): this {
    const scan = options.scan(true, bytes.length === 0, this)
    if (bytes.length > 0) scan?.push(bytes)
    this.found = scan?.end()
    return this
  }

  close(): void {
    this.body.close()
    this.content.close()
    this.keep(0)
    this.#isClosed = true
  }
}

/** The bytes of a request, while they are appended to its store. */
async function* receivedPieces(
  request: IncomingMessage,
  store: BodyStore,
  { bytesMax, timeMs }: Pick<ReceiveOptions<unknown>, 'bytesMax' | 'timeMs'>,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of new ClientStream({ request, timeMs })) {
      const bytes = chunk as Buffer
      if (store.length + bytes.length > bytesMax) throw tooLarge(store.length + bytes.length, bytesMax)
      await store.append(bytes)
      yield bytes
    }
  } catch (error) {
    throw error instanceof BodyFailedError ? error.cause : error
  }
}

function tooLarge(bytes: number, bytesMax: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The request body is ${bytes} bytes or more, and at most ${bytesMax} are accepted.`,
  )
}
