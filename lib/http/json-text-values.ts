import { Base64Meter } from './json-base64.ts'
import type { Base64Facts, Interest, ScanOptions } from './json-scan.ts'
import { JsonTextCount, type CountedText } from './json-text.ts'
import { TextNames } from './json-text-names.ts'

/** What the texts of a document's values come to: those of base64 are measured, the others counted and looked through. */
export class TextValues {
  readonly #onBase64: ScanOptions['onBase64']
  readonly #count: JsonTextCount | undefined
  readonly #names: TextNames | undefined
  #meter: Base64Meter | undefined
  #isMeasuring = false

  /** @param onFileId told each id that the text under way names, with `fileIdsAs` */
  constructor(
    { countsText, fileIdsAs, onBase64 }: ScanOptions,
    onFileId: (name: string, id: string) => void,
  ) {
    this.#onBase64 = onBase64
    if (countsText === true) this.#count = new JsonTextCount()
    if (fileIdsAs !== undefined) this.#names = new TextNames(id => onFileId(fileIdsAs, id))
  }

  /** What the document comes to so far, with `countsText`. */
  get counted(): CountedText | undefined {
    return this.#count?.counted
  }

  /** A text begins at a place of the chunk; answers what reads it. */
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
    this.#count?.countTo(chunk, position, false)
    this.#meter ??= new Base64Meter()
    this.#isMeasuring = true
    const onBase64 = this.#onBase64
    this.#meter.begin(onBase64 && (bytes => onBase64(path, bytes)))
    return this.#meter
  }

  /** The text has ended before a place of the chunk. */
  end(chunk: Buffer, position: number): Base64Facts | undefined {
    if (!this.#isMeasuring || this.#meter === undefined) {
      this.#names?.end()
      return undefined
    }
    this.#isMeasuring = false
    this.#count?.countTo(chunk, position, true)
    return this.#meter.end()
  }

  /** The chunk goes away. */
  leave(chunk: Buffer): void {
    this.#count?.leave(chunk, this.#isMeasuring)
    this.#names?.leave()
  }
}
