import { JsonScanner } from './json-scanner.ts'
import type { MediaPart } from './media-part.ts'
import type { CountedText } from './json-text.ts'

export { fold } from './json-plan.ts'
export { JsonScanError } from './json-frames.ts'
export { JsonScanner }

/**
 * The parts of a JSON document that a caller needs, as a tree (which may refer to itself). Everything outside the tree
 * is checked only for its structure.
 */
export interface Interest {
  /** Findings are reported under this name. Without one, nothing is reported for the value itself. */
  readonly name?: string
  /**
   * `span`: only offsets and type. `value`: also the raw bytes of any value, up to a cap. `base64`: a string whose
   * content is measured and its type detected piece by piece, without keeping it.
   */
  readonly keep?: 'span' | 'value' | 'base64'
  /**
   * Members of an object by folded name (see `fold`). The same folded name twice is an error. A name with the prefix
   * `*` matches all other names with this ending, and `*` alone all other names; those may occur twice.
   */
  readonly members?: ReadonlyMap<string, Interest>
  /** Every item of an array. */
  readonly items?: Interest
}

/** The types of RFC 8259, with true and false separate. */
export type JsonType = 'string' | 'number' | 'true' | 'false' | 'null' | 'object' | 'array'

/** The content of a string with `keep: 'base64'`. */
export interface Base64Facts {
  /** Decoded size; 0 for an address. */
  readonly bytes: number
  /** The first decoded bytes, at most 4096. */
  readonly head: Buffer
  /** False when it cannot be decoded: foreign characters, white space, wrong padding. Addresses are valid. */
  readonly isValid: boolean
  /** It has the prefix `data:`; the sizes are those of its content. */
  readonly isDataUrl?: boolean
  /** The media type in the data URL, lower-case, without parameters. */
  readonly declaredType?: string
  /** Not base64 but an address (`https:`, `gs:`) or the id of an uploaded file. */
  readonly isUrl?: boolean
  /** The address or the id, without white space around it. */
  readonly address?: string
}

/** A value of interest, and its position. */
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
  /** With `keep: 'base64'`, when the value is a string. */
  readonly base64?: Base64Facts
}

/** The findings, in document order. */
export interface ScanResult {
  /** In the order in which the values start, so a container comes before its members. */
  readonly findings: readonly Finding[]
  /** The media among them, where they have been read already. */
  readonly media?: readonly MediaPart[]
  /** With `countsText`: the counts for the document. */
  readonly counted?: CountedText
}

/** Limits of a scan, with their defaults, and how keys are compared. */
export interface ScanOptions {
  /** How many containers may be open at once. 512. */
  readonly depthMax?: number
  /** The longest value that `keep: 'value'` keeps. 1 MiB. */
  readonly valueBytesMax?: number
  /** The most findings of one document. 100,000. */
  readonly findingsMax?: number
  /** Refuse a key of interest that occurs twice in its object. True. */
  readonly rejectDuplicates?: boolean
  /** Snake and camel case are one key, as for Google. The names in the interest have no underscores. */
  readonly foldUnderscores?: boolean
  /** Count the document's tokens. */
  readonly countsText?: boolean
  /** Search texts for `fileid://` and report each id after it under this name, with its path and as a value. */
  readonly fileIdsAs?: string
  /** Receives the decoded bytes of `keep: 'base64'` strings, in order; valid only during the call. */
  readonly onBase64?: (path: string, bytes: Buffer) => void
}

/**
 * Scans a whole document. Raw values are views of `body`.
 * @throws JsonScanError
 */
export function scanJson(body: Buffer, interest: Interest, options: ScanOptions = {}): ScanResult {
  const scanner = new JsonScanner(interest, options, true)
  scanner.push(body)
  return scanner.end()
}

/** The text of a string finding kept with `keep: 'value'`; undefined for any other type. */
export function stringOf(finding: Finding | undefined): string | undefined {
  if (finding?.type !== 'string' || finding.raw === undefined) return undefined
  const text = finding.raw.toString()
  // Most strings have no escapes, so the text is what is between the quotes.
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}
