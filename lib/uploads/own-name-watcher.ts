import { GatewayError } from '../errors.ts'
import { JsonScanError, JsonScanner } from '../http/json-scan.ts'
import type { Interest } from '../http/json-scan.ts'
import type { UploadWatcher } from '../http/upload-watcher.ts'

/** Longer, a description is no more than text for people. */
const lookedAtBytesMax = 65_536
const headersEnd = '\r\n\r\n'
const name: Interest = { name: 'name', keep: 'span' }
const file: Interest = { members: new Map([['name', name]]) }
const description: Interest = { members: new Map([['file', file]]) }

/**
 * Refuses an upload that brings a name of its own (`{"file": {"name": "files/mine"}}`). Such a name may have
 * been another account's before that file expired, and whose it is now nobody could tell. The description is
 * the whole body, or the first part of one.
 */
export class OwnNameWatcher implements UploadWatcher {
  #begun: Buffer = Buffer.alloc(0)
  #isOver = false

  /** @throws GatewayError not_supported for a description that cannot be read */
  constructor(isPlain: boolean) {
    if (isPlain) return
    throw new GatewayError('not_supported', 'The beginning of an upload cannot be compressed.')
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return
    this.#begun = Buffer.concat([this.#begun, chunk.subarray(0, lookedAtBytesMax - this.#begun.length)])
    if (hasName(this.#begun)) {
      throw new GatewayError(
        'not_supported',
        'A file cannot be given a name of your own; leave "name" out and use the one in the answer.',
        { param: 'file.name' },
      )
    }
    this.#isOver = this.#begun.length >= lookedAtBytesMax
    if (this.#isOver) this.#begun = Buffer.alloc(0)
  }
}

function hasName(begun: Buffer): boolean {
  const isPart = begun.subarray(0, 2).toString('latin1') === '--'
  const headers = isPart ? begun.indexOf(headersEnd) : -headersEnd.length
  if (isPart && headers === -1) return false
  const scanner = new JsonScanner(description, { foldUnderscores: true, rejectDuplicates: false })
  try {
    scanner.push(begun.subarray(headers + headersEnd.length))
  } catch (error) {
    // Behind the description comes what is no JSON.
    if (!(error instanceof JsonScanError)) throw error
  }
  return scanner.findings.some(({ type }) => type === 'string')
}
