import { BatchInputReader } from '../dialects/openai/batch-input.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { multipartBoundary, type MultipartPartHead } from '../http/multipart-scan.ts'
import { measureUpload, type UploadMeter } from '../media/measure-upload.ts'
import type { ObjectFacts } from '../money/usage.ts'
import { PartsPassage } from './parts-passage.ts'
import type { WatchedFile } from './watched-file.ts'

const fieldBytesMax = 256
const fileField = 'file'

/**
 * Measures the file in a form.
 * @param length the form's, where it was announced
 * @throws GatewayError body_invalid for a form without a boundary
 */
export function watchFormFile(contentType: string, length: number | undefined): WatchedFile {
  const boundary = multipartBoundary(contentType)
  if (boundary === undefined) {
    throw new GatewayError('body_invalid', 'The content-type must be multipart/form-data with a boundary.', {
      param: 'content-type',
    })
  }
  const file = new FormFile()
  return new PartsPassage(boundary, length, {
    scan: { onContent: (part, bytes) => file.take(part, bytes) },
    measure: () => file.measure(),
    abort: () => file.abort(),
  })
}

class FormFile {
  readonly #meter: UploadMeter = measureUpload()
  readonly #batch = new BatchInputReader()
  #purpose = ''
  /** Nothing else in the form could be taken for the file. */
  #isSure = true
  /** Where the first part that is a file begins: others are not looked at. */
  #fileStart: number | undefined

  take(part: MultipartPartHead, bytes: Buffer): void {
    if (part.filename === undefined) {
      const isPurpose = part.name.toLowerCase() === 'purpose' && this.#purpose.length < fieldBytesMax
      if (isPurpose) this.#purpose += bytes.toString('latin1', 0, fieldBytesMax)
      if (part.name.toLowerCase() === fileField) this.#isSure = false
      return
    }
    this.#fileStart ??= part.start
    this.#isSure &&= part.start === this.#fileStart && part.name === fileField
    if (part.start !== this.#fileStart) return
    this.#meter.write(bytes)
    this.#batch.push(bytes)
  }

  async measure(): Promise<ObjectFacts> {
    // xAI's uploads have no purpose; others refuse them without one.
    const isBatch = this.#isSure && ['batch', ''].includes(this.#purpose.trim())
    const batch = isBatch ? { batch: this.#batch.end() } : undefined
    return { ...(await this.#meter.end()), ...batch }
  }

  abort(): void {
    this.#meter.abort()
  }
}
