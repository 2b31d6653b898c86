import { JsonScanner } from './json-scanner.ts'
import type { MediaPart } from './media-part.ts'
import type { CountedText } from './json-text.ts'

export { fold } from './json-plan.ts'
export { JsonScanError } from './json-frames.ts'
export { JsonScanner }

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
  /**
   * Members of an object by folded name (see `fold`). Twice the same folded name is an error. A name that begins
   * with `*` stands for all others that end like it, and `*` alone for all others; those may stand there twice.
   */
  readonly members?: ReadonlyMap<string, Interest>
  /** Every item of an array. */
  readonly items?: Interest
}

/** The types of RFC 8259; its two truths apart. */
export type JsonType = 'string' | 'number' | 'true' | 'false' | 'null' | 'object' | 'array'

/** What a string with `keep: 'base64'` holds. */
export interface Base64Facts {
  /** Decoded size; 0 for an address. */
  readonly bytes: number
  /** The first decoded bytes, at most 4096. */
  readonly head: Buffer
  /** False when it does not decode: foreign characters, white space, wrong padding. Addresses are valid. */
  readonly isValid: boolean
  /** It began with `data:`; the sizes are those of its content. */
  readonly isDataUrl?: boolean
  /** The media type in the data URL, lower-case, without parameters. */
  readonly declaredType?: string
  /** Not base64 but an address (`https:`, `gs:`) or the id of an uploaded file. */
  readonly isUrl?: boolean
  /** The address or the id, without blanks around it. */
  readonly address?: string
}

/** A value that was looked for, and where it stands. */
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

/** What was found, in document order. */
export interface ScanResult {
  /** In the order in which the values begin, so a container comes before its members. */
  readonly findings: readonly Finding[]
  /** The media among them, where they were read before. */
  readonly media?: readonly MediaPart[]
  /** With `countsText`: what the document comes to. */
  readonly counted?: CountedText
}

/** Bounds on a scan, with their defaults, and how keys are compared. */
export interface ScanOptions {
  /** How many containers may be open at once. 512. */
  readonly depthMax?: number
  /** The longest value that `keep: 'value'` keeps. 1 MiB. */
  readonly valueBytesMax?: number
  /** The most findings of one document. 100,000. */
  readonly findingsMax?: number
  /** Refuse a key of interest that its object has twice. True. */
  readonly rejectDuplicates?: boolean
  /** Snake and camel case are one key, as Google takes them. The names in the interest have no underscores. */
  readonly foldUnderscores?: boolean
  /** Tell how many tokens the document has. */
  readonly countsText?: boolean
  /** Look through texts for `fileid://` and report each id behind it under this name, with its path and as a value. */
  readonly fileIdsAs?: string
  /** The decoded bytes of `keep: 'base64'` strings, in order; good during the call only. */
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
  // Most strings have no escapes, and then stand between their quotes as they are.
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}
