import type { Operation } from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { list, object, value } from '../interest.ts'
import { names } from '../named-objects.ts'
import { objectOperation } from '../object-operation.ts'
import { openaiList } from './object-list.ts'
import { readString } from '../read-field.ts'
import { factsFrom } from '../request-facts.ts'
import type { RouteRow } from '../route-table.ts'
import { readBatchResponses } from './batch-responses.ts'

const file = object({ id: names('file') })

/** `POST /files`, a form with the file in it. */
const fileUpload = objectOperation('file-upload', file, { body: 'streamed', carriesFile: 'form' })
/** What a file is. */
const storedFile = freeOperation('stored-file')
const deletedFile = freeOperation('deleted-file', { isDeletion: true })
/** `GET /files/{id}/content` */
const fileContent: Operation = { ...storedFile, readUsage: readBatchResponses, namesObjects: true }

/** `POST /uploads`: a large file comes in parts. */
const uploadStart: Operation = {
  ...objectOperation('upload-start', object({ id: names('upload') }), {
    body: 'json',
    interest: object({ purpose: value('purpose') }),
  }),
  factsFromJson(scan, body) {
    const isForBatch = readString(scan, 'purpose') === 'batch'
    return { ...factsFrom(scan, body), ...(isForBatch && { isForBatch }) }
  },
}
const uploadPart = objectOperation('upload-part', object({ id: names('uploadPart') }), {
  body: 'streamed',
  carriesFile: 'form',
})
const uploadComplete = objectOperation('upload-complete', object({ file }), {
  body: 'json',
  interest: object({ part_ids: list(names('uploadPart')) }),
})
const uploadCancel = freeOperation('upload-cancel', { body: 'opaque' })

const fileList = openaiList('file-list', {
  kind: 'file',
  retrieval: storedFile,
  path: id => `/files/${encodeURIComponent(id)}`,
  limit: { usual: 10_000, max: 10_000 },
  filteredBy: 'purpose',
})

/** Files and uploads, below `/v1`. */
export const openaiFileRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/files', operation: fileUpload },
  { methods: ['GET'], path: '/files', operation: fileList },
  { methods: ['GET'], path: '/files/{id}', operation: storedFile, object: 'file' },
  { methods: ['DELETE'], path: '/files/{id}', operation: deletedFile, object: 'file' },
  { methods: ['GET'], path: '/files/{id}/content', operation: fileContent, object: 'file' },
  { methods: ['POST'], path: '/uploads', operation: uploadStart },
  { methods: ['POST'], path: '/uploads/{id}/parts', operation: uploadPart, object: 'upload' },
  { methods: ['POST'], path: '/uploads/{id}/complete', operation: uploadComplete, object: 'upload' },
  { methods: ['POST'], path: '/uploads/{id}/cancel', operation: uploadCancel, object: 'upload' },
]
