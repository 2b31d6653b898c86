import { freeOperation, unsupportedOperation } from '../free-operation.ts'
import { object } from '../interest.ts'
import { names } from '../named-objects.ts'
import { objectOperation } from '../object-operation.ts'
import type { RouteRow } from '../route-table.ts'

/** `POST /files`, a form with the file in it. */
const fileUpload = objectOperation('file-upload', object({ id: names('file') }), {
  body: 'streamed',
  carriesFile: 'form',
})
/** What a file is, its content, and its end. */
const storedFile = freeOperation('stored-file')
const fileList = unsupportedOperation(
  'file-list',
  'Lists of files are not in this release; keep the ids of those that you upload.',
)

/** Files, below `/v1`. */
export const anthropicFileRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/files', operation: fileUpload },
  { methods: ['GET'], path: '/files', operation: fileList },
  { methods: ['GET', 'DELETE'], path: '/files/{id}', operation: storedFile, object: 'file' },
  { methods: ['GET'], path: '/files/{id}/content', operation: storedFile, object: 'file' },
]
