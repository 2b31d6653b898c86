/**
 * What a caller wants to know of a JSON document, as a tree (it may refer to itself). Everything outside
 * the tree is walked for its structure only.
 */
export interface Interest {
  /** Findings are reported under this name. Without one, nothing is reported for the value itself. */
  readonly name?: string
  /**
   * `span`: offsets and type only. `value`: the raw bytes too, whatever the value is, up to a cap.
   * `base64`: a string whose content is measured and sniffed piece by piece, and not kept.
   */
  readonly keep?: 'span' | 'value' | 'base64'
  /** Members of an object by folded name (see `fold`). Twice the same folded name is an error. */
  readonly members?: ReadonlyMap<string, Interest>
  /** Every item of an array. */
  readonly items?: Interest
}

export type JsonType = 'string' | 'number' | 'true' | 'false' | 'null' | 'object' | 'array'

export interface Finding {
  readonly name: string
  /** `messages[3].content[1].source`, with the keys as the document spells them, unescaped. */
  readonly path: string
  readonly type: JsonType
  /** Offsets in the document: the value's first byte and the byte after its last. */
  readonly start: number
  readonly end: number
  /** The value's raw bytes with `keep: 'value'`. */
  readonly raw?: Buffer
}

export interface ScanResult {
  readonly findings: readonly Finding[]
}
