import { headerValues } from '../../http/headers.ts'
import type { NamedObject } from '../../money/usage.ts'
import type { Operation } from '../dialect.ts'
import { freeOperation, unsupportedOperation, fileOperation, keptFile } from '../operation-kinds.ts'
import { object } from '../interest.ts'
import { route, type RouteRow } from '../route-table.ts'
import { googleList } from '../object-list.ts'

/** The query parameter that names an upload. */
export const uploadId = 'upload_id'
const uploaded = object({ file: keptFile('name') })

/**
 * The first request of an upload, or the only one if it contains the bytes (`X-Goog-Upload-Protocol: multipart`). The
 * headers of its response name the address for the other bytes.
 */
const fileUpload: Operation = {
  ...fileOperation('file-upload', uploaded, { body: 'streamed' }),
  objectsInHead: uploadsInHead,
  carriesFile: 'description',
}
/** The bytes of an upload that has begun, or a query for its progress. SDKs send no key with it. */
const uploadChunk: Operation = {
  ...fileOperation('upload-chunk', uploaded, { body: 'streamed' }),
  isOpenByObject: true,
  carriesFile: 'bytes',
}
const storedFile = freeOperation('stored-file')
const deletedFile = freeOperation('deleted-file', { isDeletion: true })
/** A file's bytes: the response contains them or redirects to them. */
const fileDownload = freeOperation('file-download')
const fileList = googleList('file-list', {
  kind: 'file',
  member: 'files',
  retrieval: storedFile,
  path: name => `/${name}`,
  limit: { usual: 10, max: 100 },
  // https://ai.google.dev/gemini-api/docs/files: files are deleted after 48 hours.
  keptMsMax: 3 * 86_400_000,
})

const otherUpload = unsupportedOperation(
  'other-upload',
  'Files are uploaded to /files and to file search stores.',
)

const versions = ['v1beta', 'v1']

/** Files: below `/v1beta`, and at the origin for their bytes. */
export const googleFileRows: readonly RouteRow[] = [
  ...versions.flatMap((version): readonly RouteRow[] => [
    route('POST PUT', `/upload/${version}/files`, uploadChunk, {
      object: 'upload',
      idParameter: uploadId,
      isAtOrigin: true,
    }),
    route('POST', `/upload/${version}/files`, fileUpload, { isAtOrigin: true }),
    route('GET', `/download/${version}/files/{id}:download`, fileDownload, {
      object: 'file',
      idFrom: 'files',
      isAtOrigin: true,
    }),
    route('POST PUT', `/upload/${version}/{rest}`, otherUpload, { isAtOrigin: true }),
  ]),
  route('GET', '/files', fileList),
  route('GET', '/files/{id}:download', fileDownload, { object: 'file', idFrom: 'files' }),
  route('GET', '/files/{id}', storedFile, { object: 'file', idFrom: 'files' }),
  route('DELETE', '/files/{id}', deletedFile, { object: 'file', idFrom: 'files' }),
]

const addressHeaders = ['x-goog-upload-url', 'x-goog-upload-control-url', 'location']

/** The uploads that a response's addresses name: a client with such an address may continue the upload. */
export function uploadsInHead(headers: readonly string[]): readonly NamedObject[] {
  const ids = new Set<string>()
  for (const address of addressHeaders.flatMap(name => headerValues(headers, name))) {
    if (!URL.canParse(address, 'https://relative.invalid')) continue
    const id = new URL(address, 'https://relative.invalid').searchParams.get(uploadId)
    if (id !== null && id !== '') ids.add(id)
  }
  return [...ids].map(id => ({ kind: 'upload', id }))
}
