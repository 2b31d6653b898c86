import { headerValues } from '../http/headers.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { ChunkedFiles } from './chunked-files.ts'
import { factsOfParts } from './facts-of-parts.ts'
import { FormFileWatcher } from './form-file-watcher.ts'
import { OwnNameWatcher } from './own-name-watcher.ts'
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
    const { operation, object } = exchange.get('route').match
    if (upload === undefined || operation.carriesFile === undefined) return
    const { headers, rawHeaders } = exchange.request
    const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity'
    // The body is the file itself, and nothing describes it.
    const isRaw = isRawUpload(exchange)
    if (operation.carriesFile === 'description' && !isRaw) {
      if (this.#isStrict) upload.watch(new OwnNameWatcher(isPlain, headers['content-type'] ?? ''))
      return
    }
    // What is compressed on the way is not what the provider will keep.
    if (!isPlain) return
    const file =
      operation.carriesFile === 'form'
        ? new FormFileWatcher(headers['content-type'] ?? '', upload.length)
        : isRaw
          ? this.#chunked.whole()
          : this.#chunked.watch(object?.id ?? '', rawHeaders)
    if (file === undefined) return
    upload.watch(file)
    this.#watched.set(exchange, file)
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

/** Said by the header, and by nothing that a server could take for another protocol. */
function isRawUpload({ request: { rawHeaders, headers, url = '' } }: Exchange): boolean {
  const query = url.indexOf('?')
  const told = [...new URLSearchParams(query === -1 ? '' : url.slice(query + 1))]
    .filter(([name]) => /^\$?upload_?(?:type|protocol)$/i.test(name))
    .map(([, value]) => value)
  const protocols = [...headerValues(rawHeaders, 'x-goog-upload-protocol'), ...told]
  const isMultipart = /^\s*multipart\//i.test(headers['content-type'] ?? '')
  return (
    protocols.length > 0 && protocols.every(value => value.trim().toLowerCase() === 'raw') && !isMultipart
  )
}
