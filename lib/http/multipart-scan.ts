import { isInPieces, isUtf8, parseParameters } from './multipart-headers.ts'

export { MultipartError } from './multipart-headers.ts'
export { MultipartScanner } from './multipart-scanner.ts'

/** What a part's headers say, and where its content begins in the body. */
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
   * A copy of the content's first bytes: 4 KB of a file, of a field as much as anybody reads of one. Shorter
   * when many long fields came before.
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
   * The parts belong together otherwise than as a form (RFC 2387): they have no names, and lines may end with LF
   * alone where the first boundary's does, as Google's own clients write them.
   */
  readonly isRelated?: boolean
  /** A part begins, whether or not it has any content. */
  readonly onPart?: (part: MultipartPartHead) => void
  /** The content of every part as it comes, in order; the bytes are good during the call only. */
  readonly onContent?: (part: MultipartPartHead, bytes: Buffer) => void
}

/** RFC 2046 says 70; some clients are longer. */
const boundaryCharactersMax = 200

const formParameters: ReadonlySet<string> = new Set(['boundary', 'charset'])

/** The boundary of a form's content type, or of parts that are no form; undefined without a usable one. */
export function multipartBoundary(contentType: string, isRelated = false): string | undefined {
  const parsed = parseParameters(contentType)
  const isMultipart = isRelated
    ? parsed?.value.startsWith('multipart/') === true
    : parsed?.value === 'multipart/form-data'
  if (parsed === undefined || !isMultipart) return undefined
  const { parameters } = parsed
  if (parameters.has('boundary*') || isInPieces(parameters, 'boundary')) return undefined
  // Names and values are read in the charset by some; other parameters could hold what looks like a boundary.
  const isPlain = isUtf8(parameters) && [...parameters.keys()].every(name => formParameters.has(name))
  if (!isRelated && !isPlain) return undefined
  const boundary = parameters.get('boundary')
  if (boundary === undefined || boundary.length > boundaryCharactersMax) return undefined
  return /^[\x20-\x7e]*[\x21-\x7e]$/.test(boundary) ? boundary : undefined
}
