import type { Operation } from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { object } from '../interest.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { objectOperation } from '../object-operation.ts'
import type { RouteRow } from '../route-table.ts'
import { uploadId, uploadsInHead } from './files.ts'
import { googleList } from './object-list.ts'

/** https://ai.google.dev/gemini-api/docs/file-search: storage is free, what is indexed is billed as embeddings. */
const storesUncharged =
  'Google bills what is put into file search stores by the token, which nobody is charged for here.'

const store = object({ name: names('fileSearchStore') })
/** Work that goes on: it is asked after below its store, or by its own name. */
const work = object({ name: names('operation') })

/** `POST /fileSearchStores` */
const createStore: Operation = {
  ...objectOperation('file-search-store', store, { body: 'json', interest: searched({}) }),
  storesUncharged,
}
const storedStore = freeOperation('stored-file-search-store')
const deletedStore = freeOperation('deleted-file-search-store', { isDeletion: true })

/** `POST /fileSearchStores/{id}:importFile` */
const importFile: Operation = {
  ...objectOperation('file-search-store-import', work, {
    body: 'json',
    interest: searched({ filename: names('file') }),
  }),
  storesUncharged,
}
/** The first request of an upload into a store, or the only one; as with files. */
const startUpload: Operation = {
  ...objectOperation('file-search-store-upload', work, { body: 'streamed' }),
  objectsInHead: uploadsInHead,
  storesUncharged,
}
/** The bytes of an upload that was started. SDKs send no key with it. */
const uploadChunk: Operation = {
  ...objectOperation('file-search-store-chunk', work, { body: 'streamed' }),
  isOpenByObject: true,
}
/** What stands in a store goes with it, and is nobody's but its owner's. */
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

function ofStore(method: string, below: string, operation: Operation): RouteRow {
  return {
    methods: [method],
    path: `/${idFrom}/{id}${below}`,
    operation,
    object: 'fileSearchStore',
    idFrom,
  }
}

function uploadRows(version: string): readonly RouteRow[] {
  const place = { path: `/upload/${version}/${idFrom}/{id}:uploadToFileSearchStore`, isAtOrigin: true }
  return [
    {
      ...place,
      methods: ['POST', 'PUT'],
      operation: uploadChunk,
      object: 'upload',
      idParameter: uploadId,
    },
    { ...place, methods: ['POST'], operation: startUpload, object: 'fileSearchStore', idFrom },
  ]
}

/** File search stores with their documents, below `/v1beta`, and beside it where files travel into them. */
export const googleStoreRows: readonly RouteRow[] = [
  ...['v1beta', 'v1'].flatMap(uploadRows),
  { methods: ['POST'], path: `/${idFrom}`, operation: createStore },
  { methods: ['GET'], path: `/${idFrom}`, operation: storeList },
  ofStore('POST', ':importFile', importFile),
  ofStore('GET', '', storedStore),
  ofStore('DELETE', '', deletedStore),
  ofStore('GET', '/documents', storedDocuments),
  ofStore('GET', '/documents/{document}', storedDocuments),
  ofStore('DELETE', '/documents/{document}', removedDocument),
  ofStore('GET', '/operations/{operation}', storedDocuments),
  ofStore('GET', '/upload/operations/{operation}', storedDocuments),
]
