import { Readable } from 'node:stream'
import { spliceBytes, splicedLength, spliceStream, type Splice } from '../http/splice.ts'
import { BodyFailedError } from './client-stream.ts'
import { bodyPieces, type RequestBody } from './request-body.ts'
import type { StreamedBody } from './streamed-body.ts'

/** What goes to a provider: bytes at hand, a file with its splices, or a stream that can be sent once. */
export type OutgoingBody = Buffer | SplicedBody | StreamedBody

/** A body in a file on its way to a provider, with some ranges replaced. It can be sent again. */
class SplicedBody {
  readonly length: number
  readonly #body: RequestBody
  readonly #splices: readonly Splice[]

  constructor(body: RequestBody, splices: readonly Splice[]) {
    this.length = splicedLength(body.length, splices)
    this.#body = body
    this.#splices = splices
  }

  /** The bytes, for one attempt. */
  open(): Readable {
    const body = this.#body
    const pieces = spliceStream(body.length, this.#splices, (start, end) => bodyPieces(body, start, end))
    return Readable.from(failingAsBody(pieces), { objectMode: false, highWaterMark: 65_536 })
  }
}

async function* failingAsBody(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* pieces
  } catch (error) {
    throw new BodyFailedError(error as Error)
  }
}

/** The body with its splices made: in memory, or on the way out of its file. */
export function outgoingBody(body: RequestBody, splices: readonly Splice[]): OutgoingBody {
  return body.bytes === undefined ? new SplicedBody(body, splices) : spliceBytes(body.bytes, splices)
}

/** Whether an attempt has used the body up, so that no other can follow. */
export function isSpent(body: OutgoingBody | undefined): boolean {
  return body !== undefined && 'isTaken' in body && body.isTaken
}
