import { isInPieces, isUtf8, parseParameters } from './multipart-headers.ts'

export { MultipartError } from './multipart-headers.ts'
export { MultipartScanner } from './multipart-scanner.ts'

/** A part's headers, and where its content starts in the body. */
export interface MultipartPartHead {
  readonly name: string
  readonly filename?: string
  readonly contentType?: string
  readonly start: number
}

/** One part of a multipart body. Offsets are into the body. */
export interface MultipartPart extends MultipartPartHead {
  readonly end: number
  /**
   * A copy of the content's first bytes: 4 KB of a file, and of a field as much as any reader needs. Shorter when many
   * long fields came before.
   */
  readonly head: Buffer
}

/** A form's parts, in order. */
export interface MultipartResult {
  readonly parts: readonly MultipartPart[]
}

export interface MultipartOptions {
  /** 1000. */
  readonly partsMax?: number
  /**
   * The body is not a form but related parts (RFC 2387): they have no names, and lines may end with LF alone where the
   * first boundary's does, as Google's own clients write them.
   */
  readonly isRelated?: boolean
  /** Called for each part, whether or not it has any content. */
  readonly onPart?: (part: MultipartPartHead) => void
  /** Called with the content of every part as it arrives, in order; the bytes are valid only during the call. */
  readonly onContent?: (part: MultipartPartHead, bytes: Buffer) => void
}

/** RFC 2046 allows 70; some clients use longer ones. */
const boundaryCharactersMax = 200

const formParameters: ReadonlySet<string> = new Set(['boundary', 'charset'])

/** The boundary in the content type of a form or of related parts; undefined without a usable one. */
export function multipartBoundary(contentType: string, isRelated = false): string | undefined {
  const parsed = parseParameters(contentType)
  const isMultipart = isRelated
    ? parsed?.value.startsWith('multipart/') === true
    : parsed?.value === 'multipart/form-data'
  if (parsed === undefined || !isMultipart) return undefined
  const { parameters } = parsed
  if (parameters.has('boundary*') || isInPieces(parameters, 'boundary')) return undefined
  // Some servers read names and values in the charset; other parameters could contain a text like a boundary.
  const isPlain = isUtf8(parameters) && [...parameters.keys()].every(name => formParameters.has(name))
  if (!isRelated && !isPlain) return undefined
  const boundary = parameters.get('boundary')
  if (boundary === undefined || boundary.length > boundaryCharactersMax) return undefined
  return /^[\x20-\x7e]*[\x21-\x7e]$/.test(boundary) ? boundary : undefined
}
