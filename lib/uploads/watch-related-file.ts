import { GatewayError } from '../pipeline/errors.ts'
import { multipartBoundary } from '../http/multipart-scan.ts'
import { GoogleFile } from './google-file.ts'
import { PartsPassage } from './parts-passage.ts'
import type { WatchedFile } from './watched-file.ts'

/** The description of the file, and the file. */
const partsWanted = 2

/**
 * Measures a file that comes in one request with its description before it (`uploadType=multipart`). What
 * cannot be told apart surely is refused before the provider has seen its end.
 * @param length the body's, where it was announced
 * @throws GatewayError body_invalid for a type without a boundary
 */
export function watchRelatedFile(contentType: string, length: number | undefined): WatchedFile {
  const boundary = multipartBoundary(contentType, true)
  if (boundary === undefined) {
    throw new GatewayError('body_invalid', 'The content-type must be multipart/related with a boundary.', {
      param: 'content-type',
    })
  }
  const file = new GoogleFile()
  let begun = 0
  return new PartsPassage(boundary, length, {
    scan: {
      isRelated: true,
      partsMax: partsWanted,
      onPart: () => {
        begun += 1
      },
      onContent: (_part, bytes) => {
        if (begun === partsWanted) file.write(bytes)
      },
    },
    check({ parts }) {
      if (parts.length === partsWanted) return
      throw new GatewayError(
        'body_invalid',
        'An upload of this kind has two parts: the description of the file in JSON, and the file.',
      )
    },
    measure: () => file.end(),
    abort: () => file.abort(),
  })
}
