/** One part of a multipart body. Offsets are into the body. */
export interface MultipartPart {
  readonly name: string
  readonly filename?: string
  readonly contentType?: string
  readonly start: number
  readonly end: number
}

export interface MultipartResult {
  readonly parts: readonly MultipartPart[]
}
