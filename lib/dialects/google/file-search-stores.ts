import { headerValues } from '../../http/headers.ts'
import { bytesPerToken } from '../../http/text-density.ts'
import type { Operation } from '../dialect.ts'
import { freeOperation, objectOperation, storedFilesOperation } from '../operation-kinds.ts'
import { object } from '../interest.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { route, type RouteRow } from '../route-table.ts'
import { uploadId, uploadsInHead } from './files.ts'
import { googleList } from '../object-list.ts'

/** The largest file that a store accepts; a file of unknown size counts as this large. */
const fileBytesMax = 100 * 2 ** 20

/**
 * Storage is free, and indexing is billed once, per token of the embedding model. Of the two embedding models this one
 * has the higher price: https://ai.google.dev/gemini-api/docs/file-search.
 */
const indexed = { defaultModel: 'gemini-embedding-2', mainMeter: 'input', unitsOfFiles } as const

function unitsOfFiles(files: readonly (number | undefined)[]): { readonly input: number } {
  return {
    input: files.reduce<number>((sum, bytes) => sum + Math.ceil((bytes ?? fileBytesMax) / bytesPerToken), 0),
  }
}

const store = object({ name: names('fileSearchStore') })
/** A long-running operation: clients poll it below its store, or by its own name. */
const work = object({ name: names('operation') })

/** `POST /fileSearchStores` */
const createStore = objectOperation('file-search-store', store, { body: 'json', interest: searched({}) })
const storedStore = freeOperation('stored-file-search-store')
const deletedStore = freeOperation('deleted-file-search-store', { isDeletion: true })

/** `POST /fileSearchStores/{id}:importFile` */
const importFile = storedFilesOperation('file-search-store-import', work, {
  body: 'json',
  interest: searched({ filename: names('file') }),
  ...indexed,
})
/** The first request of an upload into a store, or the only one; as with files. */
const startUpload: Operation = {
  ...storedFilesOperation('file-search-store-upload', work, {
    body: 'streamed',
    ...indexed,
    // The body of an upload that only begins describes the file; its bytes go to another address.
    unitsOfFiles: (files, headers) => (isOnlyBegun(headers) ? { input: 0 } : unitsOfFiles(files)),
  }),
  objectsInHead: uploadsInHead,
}
/** The bytes of an upload that has begun. SDKs send no key with it. */
const uploadChunk: Operation = {
  ...storedFilesOperation('file-search-store-chunk', work, { body: 'streamed', ...indexed }),
  isOpenByObject: true,
}
/** Documents are deleted with their store, and belong to the store's owner. */
const storedDocuments = freeOperation('stored-file-search-documents')
const removedDocument = freeOperation('removed-file-search-document')

const idFrom = 'fileSearchStores'

const storeList = googleList('file-search-store-list', {
  kind: 'fileSearchStore',
  member: idFrom,
  retrieval: storedStore,
  path: name => `/${name}`,
  limit: { usual: 10, max: 20 },
})

function isOnlyBegun(headers: readonly string[]): boolean {
  const commands = headerValues(headers, 'x-goog-upload-command')
  return commands.length === 1 && commands[0]?.trim().toLowerCase() === 'start'
}

const path = `/${idFrom}/{id}`
const named = { object: 'fileSearchStore', idFrom } as const

function uploadRows(version: string): readonly RouteRow[] {
  const place = `/upload/${version}${path}:uploadToFileSearchStore`
  return [
    route('POST PUT', place, uploadChunk, { object: 'upload', idParameter: uploadId, isAtOrigin: true }),
    route('POST', place, startUpload, { ...named, isAtOrigin: true }),
  ]
}

/** File search stores with their documents, below `/v1beta`, and beside it for uploads into them. */
export const googleStoreRows: readonly RouteRow[] = [
  ...['v1beta', 'v1'].flatMap(uploadRows),
  route('POST', `/${idFrom}`, createStore),
  route('GET', `/${idFrom}`, storeList),
  route('POST', `${path}:importFile`, importFile, named),
  route('GET', path, storedStore, named),
  route('DELETE', path, deletedStore, named),
  route('GET', `${path}/documents`, storedDocuments, named),
  route('GET', `${path}/documents/{document}`, storedDocuments, named),
  route('DELETE', `${path}/documents/{document}`, removedDocument, named),
  route('GET', `${path}/operations/{operation}`, storedDocuments, named),
  route('GET', `${path}/upload/operations/{operation}`, storedDocuments, named),
]
