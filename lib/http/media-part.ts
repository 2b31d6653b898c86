/** A picture, sound, film or document inside a request body, measured without keeping it. */
export interface MediaPart {
  /** Where it stands: `messages[3].content[1].source`, or `image` for a multipart field. */
  readonly path: string
  readonly kind: 'image' | 'audio' | 'video' | 'document' | 'other'
  /** What the request says it is, lower-case; undefined where it says nothing. */
  readonly declaredType?: string
  /** What its first bytes say it is: `image/png`; undefined when they say nothing known. */
  readonly detectedType?: string
  /** Decoded size; undefined for a URL, which the provider fetches itself. */
  readonly bytes?: number
  /** Base64 that does not decode. */
  readonly isInvalid?: boolean
  /** How many bytes of the body it takes up. */
  readonly bodyBytes: number
}
