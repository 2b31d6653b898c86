import type { Operation, HeadFacts, UsageReader, UsageReaderContext } from '../dialect.ts'
import { freeOperation, objectOperation, fileOperation, keptFile } from '../operation-kinds.ts'
import { list, object, value } from '../interest.ts'
import { names, objectsIn } from '../named-objects.ts'
import { openaiList } from '../object-list.ts'
import { readCount, readString } from '../read-field.ts'
import { factsFrom } from '../request-facts.ts'
import { route, type RouteRow } from '../route-table.ts'
import { JsonLines, type JsonLine } from '../../http/json-lines.ts'
import { readAgain, type NamedObject, type UsageReading } from '../../money/usage.ts'
import { batchReading, lastUsage, lastValue, BatchSum } from '../batch-results.ts'
import { measureTokens } from './openai-reader.ts'

/** `POST /files`: a form that contains the file. */
const fileUpload = fileOperation('file-upload', keptFile('id'), { body: 'streamed', carriesFile: 'form' })
const storedFile = freeOperation('stored-file')
const deletedFile = freeOperation('deleted-file', { isDeletion: true })
/** `GET /files/{id}/content` */
const fileContent: Operation = { ...storedFile, readUsage: readBatchResponses, namesObjects: true }

/** `POST /uploads`: a large file is uploaded in parts. */
const uploadStart: Operation = {
  ...objectOperation('upload-start', object({ id: names('upload') }), {
    body: 'json',
    interest: object({ purpose: value('purpose'), bytes: value('bytes') }),
    carriesFile: 'description',
  }),
  factsFromJson(scan, body) {
    const isForBatch = readString(scan, 'purpose') === 'batch'
    const fileBytes = readCount(scan, 'bytes')
    return {
      ...factsFrom(scan, body),
      ...(isForBatch && { isForBatch }),
      ...(fileBytes !== undefined && { fileBytes }),
    }
  },
}
const uploadPart = objectOperation('upload-part', object({ id: names('uploadPart') }), {
  body: 'streamed',
  carriesFile: 'form',
})
const uploadComplete = fileOperation('upload-complete', object({ file: keptFile('id') }), {
  body: 'json',
  interest: object({ part_ids: list(names('uploadPart')) }),
})
const uploadCancel = freeOperation('upload-cancel', { body: 'opaque', isDeletion: true })

const fileList = openaiList('file-list', {
  kind: 'file',
  retrieval: storedFile,
  path: id => `/files/${encodeURIComponent(id)}`,
  limit: { usual: 10_000, max: 10_000 },
  filteredBy: 'purpose',
})

/** Files and uploads, below `/v1`. */
export const openaiFileRows: readonly RouteRow[] = [
  route('POST', '/files', fileUpload),
  route('GET', '/files', fileList),
  route('GET', '/files/{id}', storedFile, { object: 'file' }),
  route('DELETE', '/files/{id}', deletedFile, { object: 'file' }),
  route('GET', '/files/{id}/content', fileContent, { object: 'file' }),
  route('POST', '/uploads', uploadStart),
  route('POST', '/uploads/{id}/parts', uploadPart, { object: 'upload' }),
  route('POST', '/uploads/{id}/complete', uploadComplete, { object: 'upload' }),
  route('POST', '/uploads/{id}/cancel', uploadCancel, { object: 'upload' }),
]

/** The objects that a line of an output file names for later requests. */
const line = object({
  response: object({
    body: object({
      object: value('object'),
      id: value('id'),
      store: value('store'),
      usage: value('usage'),
      output: list(object({ id: names('item'), container_id: names('container') })),
    }),
  }),
})

const lineOptions = { valueBytesMax: 4096, findingsMax: 20_000, rejectDuplicates: false }
/** For one file, which may contain fifty thousand responses. */
const namesMax = 250_000

/**
 * Reads the results of a batch while a client fetches them, for the names of the responses that the provider has
 * stored: the account that made the batch can continue from them.
 */
class BatchResponsesReader implements UsageReader {
  readonly isTerminal = false
  readonly #providerKind: string
  readonly #lines = new JsonLines(line, lineOptions, read => this.#take(read))
  #objects: NamedObject[] = []
  #named = 0

  constructor(providerKind: string) {
    this.#providerKind = providerKind
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  takeObjects(): readonly NamedObject[] {
    const objects = this.#objects
    this.#objects = []
    return objects
  }

  end(): UsageReading {
    this.#lines.end()
    return batchReading(new BatchSum(), new Set(), { isTerminal: false })
  }

  #take({ error, findings }: JsonLine): void {
    // An incomplete object may be something else, such as the definition of a tool.
    if (error !== undefined || lastValue(findings, 'object') !== 'response') return
    const id = lastValue(findings, 'id')
    if (typeof id !== 'string' || lastValue(findings, 'store') === false) return
    const usage = lastUsage(findings, 'usage', new Set())
    const used = usage && measureTokens(usage, this.#providerKind)?.meters
    // No charge belongs to this response alone.
    const facts = { context: readAgain(used ?? {}) }
    for (const named of [{ kind: 'response', id, facts } as const, ...objectsIn({ findings })]) {
      if (this.#named === namesMax) return
      this.#named += 1
      this.#objects.push(named)
    }
  }
}

/** A file that a batch of the account made. Byte ranges of a file may begin and end anywhere, so they are not read. */
export function readBatchResponses(
  { status }: HeadFacts,
  { object: file, providerKind }: UsageReaderContext,
): UsageReader | undefined {
  const isOfBatch = status === 200 && file?.facts?.resultsOf !== undefined
  return isOfBatch ? new BatchResponsesReader(providerKind) : undefined
}
