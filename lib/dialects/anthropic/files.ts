import { freeOperation } from '../free-operation.ts'
import { object } from '../interest.ts'
import { names } from '../named-objects.ts'
import { objectOperation } from '../object-operation.ts'
import type { RouteRow } from '../route-table.ts'
import { anthropicList } from './object-list.ts'

/** `POST /files`, a form with the file in it. */
const fileUpload = objectOperation('file-upload', object({ id: names('file') }), {
  body: 'streamed',
  carriesFile: 'form',
})
/** What a file is, and its content. */
const storedFile = freeOperation('stored-file')
const deletedFile = freeOperation('deleted-file', { isDeletion: true })
const fileList = anthropicList('file-list', {
  kind: 'file',
  retrieval: storedFile,
  path: id => `/files/${encodeURIComponent(id)}`,
})

/** Files, below `/v1`. */
export const anthropicFileRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/files', operation: fileUpload },
  { methods: ['GET'], path: '/files', operation: fileList },
  { methods: ['GET'], path: '/files/{id}', operation: storedFile, object: 'file' },
  { methods: ['DELETE'], path: '/files/{id}', operation: deletedFile, object: 'file' },
  { methods: ['GET'], path: '/files/{id}/content', operation: storedFile, object: 'file' },
]
