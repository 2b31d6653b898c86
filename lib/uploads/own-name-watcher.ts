import { GatewayError } from '../pipeline/errors.ts'
import { JsonScanError, JsonScanner, type Interest } from '../http/json-scan.ts'
import type { UploadWatcher } from '../http/upload-watcher.ts'

/** No client needs longer headers of a part. */
const headBytesMax = 16_384
/** The first boundary and the headers after it, with the empty line at their end. */
const partHead = /^(?:\r?\n)?--[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n/
const encodedPart = /^content-(?:transfer-)?encoding:(?!\s*(?:binary|[78]bit|identity)\s*$)/im
const name: Interest = { name: 'name', keep: 'span' }
const file: Interest = { members: new Map([['name', name]]) }
const description: Interest = { members: new Map([['file', file]]) }

/**
 * Refuses an upload that sets a name of its own (`{"file": {"name": "files/mine"}}`). Such a name may have been another
 * account's before that file expired, and its owner would be unknown. The description is the whole body, or its first
 * part. Every byte is checked once, however the body is divided into chunks.
 */
export class OwnNameWatcher implements UploadWatcher {
  readonly #scanner = new JsonScanner(description, { foldUnderscores: true, rejectDuplicates: false })
  #head: Buffer | undefined
  #isOver = false

  /** @throws GatewayError not_supported for a description that cannot be read */
  constructor(isPlain: boolean, contentType: string) {
    if (/^\s*multipart\//i.test(contentType)) this.#head = Buffer.alloc(0)
    if (!isPlain) throw unreadable('The beginning of an upload cannot be compressed.')
  }

  /** @throws GatewayError not_supported, body_invalid */
  onData(chunk: Buffer): void {
    if (this.#isOver) return
    const text = this.#head === undefined ? chunk : this.#behindHead(chunk, this.#head)
    if (text !== undefined) this.#scan(text)
  }

  /** What follows the headers of the first part; undefined until these are complete. */
  #behindHead(chunk: Buffer, before: Buffer): Buffer | undefined {
    const begun = Buffer.concat([before, chunk])
    const head = partHead.exec(begun.toString('latin1', 0, headBytesMax))?.[0]
    if (head === undefined) {
      if (begun.length >= headBytesMax) throw unreadable('The first part of the upload has no beginning.')
      this.#head = begun
      return undefined
    }
    if (encodedPart.test(head)) throw unreadable('The description of an upload cannot be encoded.')
    this.#head = undefined
    return begun.subarray(head.length)
  }

  #scan(text: Buffer): void {
    try {
      this.#scanner.push(text)
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error
      // What follows the description is not JSON. What a server might read differently is refused.
      if (!this.#scanner.hasEnded || error.reason !== 'syntax') {
        throw new GatewayError('body_invalid', `The description of the upload: ${error.message}`, {
          cause: error,
        })
      }
      this.#isOver = true
    }
    if (!this.#scanner.findings.some(({ type }) => type === 'string')) return
    throw new GatewayError(
      'not_supported',
      'A file cannot have a name of your own; omit "name" and use the one in the response.',
      { param: 'file.name' },
    )
  }
}

function unreadable(message: string): GatewayError {
  return new GatewayError('not_supported', message)
}
