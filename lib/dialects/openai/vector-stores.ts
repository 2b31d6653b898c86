import type { Operation } from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { list, object } from '../interest.ts'
import { names } from '../named-objects.ts'
import { searched, unread } from '../naming-members.ts'
import { objectOperation } from '../object-operation.ts'
import type { RouteRow } from '../route-table.ts'
import { openaiList } from './object-list.ts'

/** https://developers.openai.com/api/docs/pricing: the first gigabyte of an organization is free. */
const storesUncharged =
  'OpenAI bills what vector stores hold by the gigabyte and day, which nobody is charged for here.'

const store = object({ id: names('vectorStore') })
/** Attributes are the client's own words. */
const withAttributes = { attributes: unread }
/** Files are named wherever requests name them, in `file_ids` as in `files`. */
const naming = {
  body: 'json',
  interest: searched({ ...withAttributes, files: list(searched(withAttributes)) }),
} as const

/** `POST /vector_stores` */
const createStore: Operation = { ...objectOperation('vector-store', store, naming), storesUncharged }
/** `POST /vector_stores/{id}`: another name, end or metadata. */
const updateStore = objectOperation('vector-store-update', store, naming)
const storedStore = freeOperation('stored-vector-store')
const deletedStore = freeOperation('deleted-vector-store', { isDeletion: true })
/** `POST /vector_stores/{id}/search`, which has no price of its own. */
const searchStore = objectOperation('vector-store-search', object({}), naming)

/** `POST /vector_stores/{id}/files` and `/file_batches` */
const addFiles: Operation = { ...objectOperation('vector-store-files', object({}), naming), storesUncharged }
const updateFile = objectOperation('vector-store-file-update', object({}), naming)
/** What stands in a store goes with it, and is nobody's but its owner's. */
const storedFiles = freeOperation('stored-vector-store-files')
const removedFile = freeOperation('removed-vector-store-file')
const cancelledFiles = freeOperation('cancelled-vector-store-files', { body: 'opaque' })

const path = '/vector_stores/{id}'

const storeList = openaiList('vector-store-list', {
  kind: 'vectorStore',
  retrieval: storedStore,
  path: id => `/vector_stores/${encodeURIComponent(id)}`,
  limit: { usual: 20, max: 100 },
})

function ofStore(method: string, below: string, operation: Operation): RouteRow {
  return { methods: [method], path: path + below, operation, object: 'vectorStore' }
}

/** Vector stores with their files and searches, below `/v1`. */
export const openaiVectorStoreRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/vector_stores', operation: createStore },
  { methods: ['GET'], path: '/vector_stores', operation: storeList },
  ofStore('GET', '', storedStore),
  ofStore('POST', '', updateStore),
  ofStore('DELETE', '', deletedStore),
  ofStore('POST', '/search', searchStore),
  ofStore('POST', '/files', addFiles),
  ofStore('GET', '/files', storedFiles),
  ofStore('GET', '/files/{file}', storedFiles),
  ofStore('POST', '/files/{file}', updateFile),
  ofStore('DELETE', '/files/{file}', removedFile),
  ofStore('GET', '/files/{file}/content', storedFiles),
  ofStore('POST', '/file_batches', addFiles),
  ofStore('GET', '/file_batches/{batch}', storedFiles),
  ofStore('POST', '/file_batches/{batch}/cancel', cancelledFiles),
  ofStore('GET', '/file_batches/{batch}/files', storedFiles),
]
