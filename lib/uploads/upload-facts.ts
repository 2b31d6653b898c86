import type { Operation } from '../dialects/dialect.ts'
import { headerValues } from '../http/headers.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { ChunkedFiles, watchWholeFile } from './chunked-files.ts'
import { factsOfParts } from './facts-of-parts.ts'
import { watchFormFile } from './watch-form-file.ts'
import { OwnNameWatcher } from './own-name-watcher.ts'
import { watchRelatedFile } from './watch-related-file.ts'
import type { WatchedFile } from './watched-file.ts'

/** Measures files while they are uploaded, so that they count where they are used. */
export class UploadFacts {
  readonly #ledger: Pick<Ledger, 'findObject'>
  readonly #isStrict: boolean
  readonly #chunked: ChunkedFiles
  readonly #watched = new WeakMap<Exchange, WatchedFile>()

  /**
   * @param isStrict accounts are kept apart
   * @param now milliseconds of a clock that never goes back
   */
  constructor(ledger: Pick<Ledger, 'findObject'>, isStrict: boolean, now: () => number) {
    this.#ledger = ledger
    this.#isStrict = isStrict
    this.#chunked = new ChunkedFiles(now)
  }

  /**
   * Before the upload is sent.
   * @throws GatewayError body_invalid
   */
  watch(exchange: Exchange): void {
    const upload = exchange.find('upload')
    const { carriesFile } = exchange.get('route').match.operation
    if (upload === undefined || carriesFile === undefined) return
    const { headers } = exchange.request
    const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity'
    // The body is the file itself, and nothing describes it.
    const isWhole = carriesFile === 'description' && isRawUpload(exchange)
    if (carriesFile === 'description' && !isWhole && this.#isStrict) {
      upload.watch(new OwnNameWatcher(isPlain, headers['content-type'] ?? ''))
    }
    // What is compressed on the way is not what the provider will keep.
    if (!isPlain) return
    const file = isWhole ? watchWholeFile() : this.#watcherOf(exchange, carriesFile, upload.length)
    if (file === undefined) return
    upload.watch(file)
    this.#watched.set(exchange, file)
  }

  #watcherOf(
    exchange: Exchange,
    carriesFile: NonNullable<Operation['carriesFile']>,
    length: number | undefined,
  ): WatchedFile | undefined {
    const { headers, rawHeaders } = exchange.request
    const contentType = headers['content-type'] ?? ''
    if (carriesFile === 'form') return watchFormFile(contentType, length)
    if (carriesFile === 'description') {
      return isMultipart(contentType) ? watchRelatedFile(contentType, length) : undefined
    }
    const { object } = exchange.get('route').match
    return this.#chunked.watch(object?.id ?? '', exchange.get('key').accountId, rawHeaders)
  }

  /** What was measured of an object that the answer names; undefined where nothing was. */
  of(exchange: Exchange, { kind }: NamedObject): Promise<ObjectFacts | undefined> | undefined {
    if (kind !== 'file' && kind !== 'uploadPart') return undefined
    const parts = exchange.get('request').objects.filter(object => object.kind === 'uploadPart')
    if (parts.length === 0) return this.#watched.get(exchange)?.facts
    return factsOfParts(this.#ledger, exchange.get('target').provider.name, parts)
  }

  /** The exchange is over. */
  end(exchange: Exchange): void {
    this.#watched.get(exchange)?.abort()
  }
}

/** The names of the protocol whose body is the file alone. */
const rawNames = new Set(['raw', 'media'])

/** Said by the header or the query, and by nothing that a server could take for another protocol. */
function isRawUpload({ request: { rawHeaders, headers, url = '' } }: Exchange): boolean {
  const query = url.indexOf('?')
  const told = [...new URLSearchParams(query === -1 ? '' : url.slice(query + 1))]
    .filter(([name]) => /^\$?upload_?(?:type|protocol)$/i.test(name))
    .map(([, value]) => value)
  const protocols = [...headerValues(rawHeaders, 'x-goog-upload-protocol'), ...told]
  const isRaw = protocols.every(value => rawNames.has(value.trim().toLowerCase()))
  return protocols.length > 0 && isRaw && !isMultipart(headers['content-type'] ?? '')
}

function isMultipart(contentType: string): boolean {
  return /^\s*multipart\//i.test(contentType)
}
