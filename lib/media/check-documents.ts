import type { MediaLimits } from '../config/size-limit-options.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { MediaPart } from '../http/media-part.ts'

/**
 * The PDFs of one request: how large and of how many pages, each and together.
 * @throws GatewayError media_too_large
 */
export function checkDocuments(parts: readonly MediaPart[], limits: MediaLimits): void {
  let allBytes = 0
  let allPages = 0
  for (const { kind, detectedType, bytes = 0, pages = 0, path } of parts) {
    if (kind !== 'document' || detectedType !== 'application/pdf') continue
    allBytes += bytes
    allPages += pages
    check(path, bytes, limits.pdfBytesMax, 'bytes')
    check(path, pages, limits.pdfPagesMax, 'pages')
    check(path, allBytes, limits.pdfBytesTotalMax, 'bytes', allBytes > bytes)
    check(path, allPages, limits.pdfPagesTotalMax, 'pages', allPages > pages)
  }
}

function check(path: string, found: number, max: number | undefined, unit: string, isTogether = false): void {
  if (max === undefined || found <= max) return
  const together = isTogether ? ' with the PDFs before it' : ''
  throw new GatewayError(
    'media_too_large',
    `The PDF at ${path} comes to ${found} ${unit}${together}, and at most ${max} are accepted.`,
    { param: path },
  )
}
