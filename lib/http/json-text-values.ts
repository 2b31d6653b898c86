import { Base64Meter } from './json-base64.ts'
import type { Base64Facts, Interest, ScanOptions } from './json-scan.ts'
import { JsonTextCount } from './json-text.ts'

/** Processes the texts of a document's values: base64 is measured, other texts are counted and searched. */
export class TextValues {
  readonly #onBase64: ScanOptions['onBase64']
  /** The counts so far, with `countsText`. */
  readonly count: JsonTextCount | undefined
  readonly #names: TextNames | undefined
  #meter: Base64Meter | undefined
  #isMeasuring = false

  /** @param onFileId called with each id that the current text names, with `fileIdsAs` */
  constructor(
    { countsText, fileIdsAs, onBase64 }: ScanOptions,
    onFileId: (name: string, id: string) => void,
  ) {
    this.#onBase64 = onBase64
    if (countsText === true) this.count = new JsonTextCount()
    if (fileIdsAs !== undefined) this.#names = new TextNames(id => onFileId(fileIdsAs, id))
  }

  /** A text starts at a position of the chunk; returns its reader. */
  begin(
    keep: Interest['keep'],
    chunk: Buffer,
    position: number,
    path = '',
  ): Base64Meter | TextNames | undefined {
    if (keep !== 'base64') {
      this.#names?.begin()
      return this.#names
    }
    this.count?.countTo(chunk, position, false)
    this.#meter ??= new Base64Meter()
    this.#isMeasuring = true
    const onBase64 = this.#onBase64
    this.#meter.begin(onBase64 && (bytes => onBase64(path, bytes)))
    return this.#meter
  }

  /** The text has ended before a position of the chunk. */
  end(chunk: Buffer, position: number): Base64Facts | undefined {
    if (!this.#isMeasuring || this.#meter === undefined) {
      this.#names?.end()
      return undefined
    }
    this.#isMeasuring = false
    this.count?.countTo(chunk, position, true)
    return this.#meter.end()
  }

  /** The chunk is about to be released. */
  leave(chunk: Buffer): void {
    this.count?.leave(chunk, this.#isMeasuring)
    this.#names?.leave()
  }
}

const scheme = Buffer.from('fileid://')
/** The offset in the scheme of the part that is searched for natively: most texts do not contain it. */
const marksAt = 6
const marks = '://'
/** Within this distance after a match, a loop is quicker than a native search. */
const nearBytes = 64
/** How much of a text is read before it is searched: a run, or the result of many escapes. */
const readAtOnce = 4096
/** No provider has longer ids. */
const idCharactersMax = 256
const backslash = 0x5c
const slash = 0x2f
const colon = 0x3a
const letterU = 0x75
/** A character of no scheme. */
const other = 0

/** In a list, all ids but the first may lack the scheme. */
const ids = /(?:fileid:\/\/|,\s{0,64}(?=file-(?:fe|batch)-))([\w-]+)/gi
const lastMark = /[^\w-][\w-]*$/

/**
 * Finds the ids of files that a JSON text names by `fileid://`, the first or each of a list, as Qwen reads them:
 * https://help.aliyun.com/zh/model-studio/long-context-qwen-long. A text arrives in runs of plain bytes and as the
 * characters of its escapes.
 */
export class TextNames {
  readonly #onId: (id: string) => void
  /** How many characters of the scheme have matched. */
  #matched = 0
  /** The text after a scheme that has not been searched yet; undefined before any. */
  #read: string | undefined
  #chunk: Buffer | undefined
  /** The next position of the marks in the chunk. */
  #next = -1

  constructor(onId: (id: string) => void) {
    this.#onId = onId
  }

  begin(): void {
    this.#matched = 0
    this.#read = undefined
  }

  write(chunk: Buffer, start: number, end: number): void {
    let position = start
    // The rest of a scheme that an escape or the end of a chunk has split.
    while (position < end && this.#matched > 0 && this.#read === undefined)
      this.#step(chunk[position++] as number)
    if (this.#read === undefined && position < end) position = this.#search(chunk, position, end)
    if (this.#read !== undefined && position < end) this.#take(chunk.toString('latin1', position, end))
  }

  writeCharacter(code: number): void {
    // No scheme or id has a letter beyond ASCII.
    if (this.#read === undefined) this.#step(code < 0x80 ? code : other)
    else this.#take(code < 0x80 ? String.fromCharCode(code) : ' ')
  }

  end(): void {
    if (this.#read !== undefined) this.#find(this.#read)
    this.#read = undefined
  }

  /** Releases the chunk. */
  leave(): void {
    this.#chunk = undefined
  }

  /** Searches for a scheme in a run; returns where to read on. */
  #search(chunk: Buffer, start: number, end: number): number {
    if (this.#chunk !== chunk) {
      this.#chunk = chunk
      this.#next = chunk.indexOf(marks)
    }
    while (this.#next !== -1 && this.#next < end) {
      const at = this.#next - marksAt
      if (this.#next >= start + marksAt && this.#next + marks.length <= end && isScheme(chunk, at)) {
        this.#read = 'fileid://'
        return at + scheme.length
      }
      this.#next = marksBehind(chunk, this.#next + 1)
    }
    if (!mayGoOn(chunk, end)) return end
    for (let at = Math.max(start, end - scheme.length); at < end; at += 1) this.#step(chunk[at] as number)
    return end
  }

  #step(byte: number): void {
    const letter = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
    if (letter === scheme[this.#matched]) this.#matched += 1
    else this.#matched = letter === scheme[0] ? 1 : 0
    if (this.#matched < scheme.length) return
    this.#matched = 0
    this.#read = 'fileid://'
  }

  #take(text: string): void {
    const read = (this.#read ?? '') + text
    if (read.length < readAtOnce) {
      this.#read = read
      return
    }
    // An id that may continue is read together with the following text.
    const whole = lastMark.exec(read.slice(-2 * idCharactersMax))
    const cut = whole === null ? read.length : read.length - whole[0].length + 1
    this.#find(read.slice(0, cut))
    this.#read = read.slice(Math.max(0, cut - idCharactersMax))
  }

  #find(text: string): void {
    for (const [, id = ''] of text.matchAll(ids)) this.#onId(id.slice(0, idCharactersMax))
  }
}

/** Whether a scheme may continue after a run: at the end of the chunk, or in an escape that spells a letter. */
function mayGoOn(chunk: Buffer, end: number): boolean {
  if (end === chunk.length) return true
  if (chunk[end] !== backslash) return false
  const escape = chunk[end + 1]
  return escape === undefined || escape === slash || escape === letterU
}

function marksBehind(chunk: Buffer, from: number): number {
  const near = Math.min(chunk.length - 2, from + nearBytes)
  for (let at = from; at < near; at += 1) {
    if (chunk[at] === colon && chunk[at + 1] === slash && chunk[at + 2] === slash) return at
  }
  return chunk.indexOf(marks, near)
}

function isScheme(chunk: Buffer, at: number): boolean {
  for (let index = 0; index < marksAt; index += 1) {
    if (((chunk[at + index] as number) | 0x20) !== scheme[index]) return false
  }
  return true
}
