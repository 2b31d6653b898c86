import type { Operation } from '../dialects/dialect.ts'
import { headerValues } from '../http/headers.ts'
import type { Config } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { ChunkedFiles, watchWholeFile, GoogleFile } from './chunked-files.ts'
import { Upstreams, type UpstreamsContext } from '../upstream/upstreams.ts'
import { DecodedUpload } from './decoded-upload.ts'
import { readStoredBatch } from './read-stored-batch.ts'
import { OwnNameWatcher } from './own-name-watcher.ts'
import type { WatchedFile } from './watched-file.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { multipartBoundary, type MultipartPartHead } from '../http/multipart-scan.ts'
import { PartsPassage } from './parts-passage.ts'
import { BatchInputReader } from '../dialects/openai/batch-input.ts'
import { measureUpload, type UploadMeter } from '../media/measure-upload.ts'

/** What the body contains; `file` is a file without a description. */
type Carries = NonNullable<Operation['carriesFile']> | 'file'

export interface UploadContext extends UpstreamsContext {
  readonly config: Config
  readonly ledger: Ledger
}

/**
 * The facts of a file that was assembled from parts: all of them when there was one part only, otherwise its size, and
 * the type of the first part. Undefined when a part is unknown.
 */
async function factsOfParts(
  ledger: Pick<Ledger, 'findObject'>,
  provider: string,
  parts: readonly NamedObject[],
): Promise<ObjectFacts | undefined> {
  const known = await Promise.all(
    parts.map(async ({ kind, id }) => (await ledger.findObject(provider, kind, id))?.facts),
  )
  const [first] = known
  if (first === undefined || known.length === 1) return first
  let bytes = 0
  for (const facts of known) {
    if (facts?.bytes === undefined) return undefined
    bytes += facts.bytes
  }
  return { bytes, ...(first.mediaType !== undefined && { mediaType: first.mediaType }) }
}

/** The description of the file, and the file. */
const partsWanted = 2

/**
 * Measures a file that arrives in one request with its description before it (`uploadType=multipart`). A body that
 * cannot be divided with certainty is refused before the provider has seen its end.
 * @param length the body's, if it was announced
 * @throws GatewayError body_invalid for a type without a boundary
 */
function watchRelatedFile(contentType: string, length: number | undefined): WatchedFile {
  const boundary = multipartBoundary(contentType, true)
  if (boundary === undefined) {
    throw new GatewayError('body_invalid', 'The content-type must be multipart/related with a boundary.', {
      param: 'content-type',
    })
  }
  const file = new GoogleFile()
  let begun = 0
  return new PartsPassage(boundary, length, {
    scan: {
      isRelated: true,
      partsMax: partsWanted,
      onPart: () => {
        begun += 1
      },
      onContent: (_part, bytes) => {
        if (begun === partsWanted) file.write(bytes)
      },
    },
    check({ parts }) {
      if (parts.length === partsWanted) return
      throw new GatewayError(
        'body_invalid',
        'An upload of this kind has two parts: the description of the file in JSON, and the file.',
      )
    },
    measure: () => file.end(),
    abort: () => file.abort(),
  })
}

const fieldBytesMax = 256
const fileField = 'file'

/**
 * Measures the file in a form.
 * @param length the form's, if it was announced
 * @throws GatewayError body_invalid for a form without a boundary
 */
function watchFormFile(contentType: string, length: number | undefined): WatchedFile {
  const boundary = multipartBoundary(contentType)
  if (boundary === undefined) {
    throw new GatewayError(
      'body_invalid',
      'The content-type must be multipart/form-data with a boundary, and no other parameter but charset=utf-8.',
      { param: 'content-type' },
    )
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
  /** Nothing else in the form could be mistaken for the file. */
  #isSure = true
  /** Where the first part that is a file begins: other files are ignored. */
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

/** Measures files while they are uploaded, so that they count where they are used. */
export class UploadFacts {
  readonly #ledger: Ledger
  /** Accounts are isolated from each other. */
  readonly #isStrict: boolean
  readonly #upstreams: Upstreams
  readonly #chunked: ChunkedFiles
  readonly #watched = new WeakMap<Exchange, WatchedFile>()
  readonly #stopped = new AbortController()

  /** @param now milliseconds of a monotonic clock */
  constructor(context: UploadContext, now: () => number) {
    this.#ledger = context.ledger
    this.#isStrict = context.config.isolation === 'strict'
    this.#upstreams = Upstreams.shared(context.config, context)
    this.#chunked = new ChunkedFiles(now)
  }

  /**
   * Watches an upload before it is sent.
   * @throws GatewayError body_invalid
   */
  watch(exchange: Exchange): void {
    const upload = exchange.find('upload')
    const { carriesFile } = exchange.get('route').match.operation
    if (upload === undefined || carriesFile === undefined) return
    const encoding = encodingOf(exchange)
    const carries = carriesFile === 'description' && isRawUpload(exchange) ? 'file' : carriesFile
    if (carries === 'description' && this.#isStrict)
      upload.watch(new OwnNameWatcher(encoding === '', exchange.request.headers['content-type'] ?? ''))
    const { length } = upload
    const file =
      encoding === ''
        ? this.#watcherOf(exchange, carries, { isPlain: true, length })
        : this.#decodedWatcherOf(exchange, carries, { encoding, length })
    if (file === undefined) return
    upload.watch(file)
    this.#watched.set(exchange, file)
  }

  #decodedWatcherOf(
    exchange: Exchange,
    carries: Carries,
    sent: { readonly encoding: string; readonly length: number | undefined },
  ): WatchedFile | undefined {
    const file = this.#watcherOf(exchange, carries, { isPlain: false, length: undefined })
    // A form must be read to be understood; a file may be stored compressed.
    return file && new DecodedUpload({ ...sent, mustBeRead: carries === 'form' }, file)
  }

  #watcherOf(
    exchange: Exchange,
    carries: Carries,
    { isPlain, length }: { readonly isPlain: boolean; readonly length: number | undefined },
  ): WatchedFile | undefined {
    const { headers, rawHeaders } = exchange.request
    const contentType = headers['content-type'] ?? ''
    if (carries === 'form') return watchFormFile(contentType, length)
    if (carries === 'file') return watchWholeFile(isPlain)
    if (carries === 'description')
      return isPlain && isMultipart(contentType) ? watchRelatedFile(contentType, length) : undefined
    const { object } = exchange.get('route').match
    const { accountId } = exchange.get('key')
    return this.#chunked.watch({ id: object?.id ?? '', accountId, headers: rawHeaders, isPlain })
  }

  /** What was measured of an object that the response names; undefined when nothing was. */
  of(exchange: Exchange, object: NamedObject): Promise<ObjectFacts | undefined> | undefined {
    const { isForBatch, objects } = exchange.get('request')
    if (object.kind === 'upload' && isForBatch === true) return Promise.resolve({ isForBatch })
    if (object.kind !== 'file' && object.kind !== 'uploadPart') return undefined
    const parts = objects.filter(({ kind }) => kind === 'uploadPart')
    if (parts.length === 0) return this.#watched.get(exchange)?.facts
    return this.#ofParts(exchange, object.id, parts)
  }

  /** Nothing was kept of requests in parts: a line may begin in one part and end in another, in any order. */
  async #ofParts(
    exchange: Exchange,
    id: string,
    parts: readonly NamedObject[],
  ): Promise<ObjectFacts | undefined> {
    const chosen = exchange.get('target')
    const known = await factsOfParts(this.#ledger, chosen.provider.name, parts)
    const { object: upload } = exchange.get('route').match
    const begun =
      upload && (await this.#ledger.findObject(chosen.provider.name, upload.kind, upload.id))?.facts
    if (begun?.isForBatch !== true) return known
    const stored = { chosen, id, bytes: known?.bytes, signal: this.#stopped.signal }
    return { ...known, batch: await readStoredBatch(this.#upstreams, stored) }
  }

  /** The exchange is over. */
  end(exchange: Exchange): void {
    this.#watched.get(exchange)?.abort()
  }

  /** The last exchange has ended. */
  close(): void {
    this.#stopped.abort()
    this.#upstreams.close()
  }
}

/** The content-encoding; empty for none. */
export function encodingOf({ request }: Exchange): string {
  const encoding = (request.headers['content-encoding'] ?? '').trim().toLowerCase()
  return encoding === 'identity' ? '' : encoding
}

/** The protocol's names for a body that is only the file. */
const rawNames = new Set(['raw', 'media'])

/**
 * The request that begins the upload contains the file: no protocol is named, or could be read, in which it comes
 * later.
 */
export function isWholeUpload(exchange: Exchange): boolean {
  const protocols = declaredProtocols(exchange)
  return protocols.length > 0 && protocols.every(name => rawNames.has(name) || name === 'multipart')
}

/** Named by the header or the query, and by nothing that a server could read as another protocol. */
function isRawUpload(exchange: Exchange): boolean {
  const protocols = declaredProtocols(exchange)
  const isRaw = protocols.every(name => rawNames.has(name))
  return protocols.length > 0 && isRaw && !isMultipart(exchange.request.headers['content-type'] ?? '')
}

function declaredProtocols({ request: { rawHeaders, url = '' } }: Exchange): readonly string[] {
  const query = url.indexOf('?')
  const told = [...new URLSearchParams(query === -1 ? '' : url.slice(query + 1))]
    .filter(([name]) => /^\$?upload_?(?:type|protocol)$/i.test(name))
    .map(([, value]) => value)
  const protocols = [...headerValues(rawHeaders, 'x-goog-upload-protocol'), ...told]
  return protocols.map(value => value.trim().toLowerCase())
}

function isMultipart(contentType: string): boolean {
  return /^\s*multipart\//i.test(contentType)
}
