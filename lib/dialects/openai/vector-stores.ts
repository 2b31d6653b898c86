import type { Meters } from '../../money/usage.ts'
import { ResponseReader } from '../response-reader.ts'
import type { HeadFacts, Operation, UsageReaderContext } from '../dialect.ts'
import { type JobKind, freeOperation, objectOperation, storedFilesOperation } from '../operation-kinds.ts'
import { list, object, value } from '../interest.ts'
import type { ResponseMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { searched, unread } from '../naming-members.ts'
import { factsFrom } from '../request-facts.ts'
import { route, type RouteRow } from '../route-table.ts'
import { openaiList } from '../object-list.ts'

const dayMs = 86_400_000
/**
 * The gateway gives up on a day after this long if it cannot read the store, because its credential is gone from the
 * config.
 */
const unaskedMsMax = 7 * dayMs
/** OpenAI's gigabyte: https://developers.openai.com/api/docs/pricing. */
const gigabyte = 2 ** 30
/**
 * Text is stored in overlapping chunks, each starting in the middle of the one before, with a vector of a kilobyte
 * each.
 */
const storedPerByte = 3
/** A file has at most five million tokens. A file of unknown size counts as this large too. */
const storedBytesMax = 64 * 2 ** 20

/** The storage that files use in a store, for one day. */
function unitsOfFiles(files: readonly (number | undefined)[]): Meters {
  const stored = files.map(bytes => Math.min(storedBytesMax, (bytes ?? storedBytesMax) * storedPerByte))
  return { storageGigabyteDays: gigabytes(stored.reduce((sum, bytes) => sum + bytes, 0)) }
}

/** Units have six decimals. */
function gigabytes(bytes: number): number {
  return Math.ceil((bytes / gigabyte) * 1e6) / 1e6
}

/** Reads how many bytes a store contains. Its creation is the first of the days that are charged. */
class StoreReader extends ResponseReader {
  #bytes: number | undefined
  #isExpired = false

  constructor(head: HeadFacts, context: UsageReaderContext) {
    super(
      head,
      context,
      object({ id: value('store'), status: value('status'), usage_bytes: value('bytes') }),
      'storeDay',
    )
    this.isFree = true
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'store' && typeof value === 'string') {
      const { object: day } = this.context
      if (day?.kind !== 'storeDay') this.nameObject('vectorStore', value)
      this.objectId = day?.id ?? `${value}#0`
    }
    if (name === 'status') this.#isExpired = value === 'expired'
    if (name === 'bytes' && typeof value === 'number') this.#bytes = value
  }

  protected override measure(): ResponseMeasure {
    if (this.#bytes === undefined) return { lines: [], details: {} }
    return { lines: [{ meters: { storageGigabyteDays: gigabytes(this.#bytes) } }], details: {} }
  }

  protected override jobState(): ReturnType<ResponseReader['jobState']> {
    return { state: this.#isExpired ? 'failed' : 'running' }
  }
}

const store = object({ id: names('vectorStore') })
/** Attributes are the client's own data. */
const withAttributes = { attributes: unread }
/** Files are named as in other requests, in `file_ids` as in `files`. */
const naming = {
  body: 'json',
  interest: searched({ ...withAttributes, files: list(searched(withAttributes)) }),
} as const

/** Stores contain vectors of this model, so storage has its price. */
const paid = {
  defaultModel: 'text-embedding-3-large',
  mainMeter: 'storageGigabyteDays',
  unitsOfFiles,
} as const

/** `POST /vector_stores` */
const createStore: Operation = {
  ...freeOperation('vector-store', naming),
  ...paid,
  isFree: false,
  factsFromJson: (scan, body) => ({ ...factsFrom(scan, body), startsJob: true }),
  readUsage: (head, context) => new StoreReader(head, context),
  namesObjects: true,
}
/** `POST /vector_stores/{id}`: another name, expiry or metadata. */
const updateStore = objectOperation('vector-store-update', store, naming)
const storedStore = freeOperation('stored-vector-store')
const deletedStore = freeOperation('deleted-vector-store', { isDeletion: true })
/** `POST /vector_stores/{id}/search`, which has no price of its own. */
const searchStore = objectOperation('vector-store-search', object({}), naming)

/** `POST /vector_stores/{id}/files` and `/file_batches` */
const addFiles = storedFilesOperation('vector-store-files', object({}), { ...naming, ...paid })
const updateFile = objectOperation('vector-store-file-update', object({}), naming)
/** Files in a store are removed with it, and belong to the store's owner. */
const storedFiles = freeOperation('stored-vector-store-files')
const removedFile = freeOperation('removed-vector-store-file')
const cancelledFiles = freeOperation('cancelled-vector-store-files', { body: 'opaque' })

const path = '/vector_stores/{id}'

/** The days that a store is charged for, each by its size when the day begins. */
export const storeDays: JobKind = {
  kind: 'storeDay',
  retrieval: { ...storedStore, readUsage: (head, context) => new StoreReader(head, context) },
  path: id => `/vector_stores/${encodeURIComponent(id.slice(0, id.lastIndexOf('#')))}`,
  durationMsMax: dayMs + unaskedMsMax,
  rentMs: dayMs,
}

const storeList = openaiList('vector-store-list', {
  kind: 'vectorStore',
  retrieval: storedStore,
  path: id => `/vector_stores/${encodeURIComponent(id)}`,
  limit: { usual: 20, max: 100 },
})

const named = { object: 'vectorStore' } as const

/** Vector stores with their files and searches, below `/v1`. */
export const openaiVectorStoreRows: readonly RouteRow[] = [
  route('POST', '/vector_stores', createStore),
  route('GET', '/vector_stores', storeList),
  route('GET', path, storedStore, named),
  route('POST', path, updateStore, named),
  route('DELETE', path, deletedStore, named),
  route('POST', `${path}/search`, searchStore, named),
  route('POST', `${path}/files`, addFiles, named),
  route('GET', `${path}/files`, storedFiles, named),
  route('GET', `${path}/files/{file}`, storedFiles, named),
  route('POST', `${path}/files/{file}`, updateFile, named),
  route('DELETE', `${path}/files/{file}`, removedFile, named),
  route('GET', `${path}/files/{file}/content`, storedFiles, named),
  route('POST', `${path}/file_batches`, addFiles, named),
  route('GET', `${path}/file_batches/{batch}`, storedFiles, named),
  route('POST', `${path}/file_batches/{batch}/cancel`, cancelledFiles, named),
  route('GET', `${path}/file_batches/{batch}/files`, storedFiles, named),
]
