import type { BodyScan } from '../bodies/turns.ts'
import type { Operation, RequestFacts } from '../dialects/dialect.ts'
import { JsonScanError } from '../http/json-scan.ts'
import { multipartBoundary, MultipartError, MultipartScanner } from '../http/multipart-scan.ts'
import { GatewayError } from '../pipeline/errors.ts'

/** The result of the scan of a body. */
export interface Found {
  readonly facts: RequestFacts
  readonly isForm: boolean
}

/** The facts of a body that is not scanned. */
export function unknownFacts(textBytes: number): RequestFacts {
  return { isStreaming: false, candidates: 1, textBytes, media: [], objects: [] }
}

/** Reads a form as it arrives. */
export class FormScan implements BodyScan<Found> {
  readonly #operation: Operation
  readonly #scanner: MultipartScanner
  #length = 0

  constructor(operation: Operation, contentType: string) {
    const boundary = multipartBoundary(contentType)
    if (boundary === undefined) {
      throw new GatewayError(
        'body_invalid',
        'The content-type must be multipart/form-data with a boundary, and no other parameter but charset=utf-8.',
        { param: 'content-type' },
      )
    }
    this.#operation = operation
    this.#scanner = new MultipartScanner(boundary)
  }

  push(chunk: Buffer): void {
    this.#length += chunk.length
    try {
      this.#scanner.push(chunk)
    } catch (error) {
      throw refused(error)
    }
  }

  end(): Found {
    try {
      const form = this.#scanner.end()
      const facts = this.#operation.factsFromMultipart?.(form, { length: this.#length })
      return { facts: facts ?? unknownFacts(this.#length), isForm: true }
    } catch (error) {
      throw refused(error)
    }
  }
}

/** Translates a scanner's error into the error for the caller. */
export function refused(error: unknown): unknown {
  if (error instanceof JsonScanError) {
    const code = error.reason === 'duplicate' ? 'field_ambiguous' : 'body_invalid'
    return new GatewayError(code, error.message, {
      cause: error,
      ...(error.path === '' ? {} : { param: error.path }),
    })
  }
  if (error instanceof MultipartError)
    return new GatewayError('body_invalid', error.message, { cause: error })
  return error
}
