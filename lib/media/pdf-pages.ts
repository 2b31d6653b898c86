import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import { MediaUnreadableError, BrokenMediaError, type MediaReader } from './media-reader.ts'

const unpack = promisify(inflate)
const objectWord = Buffer.from('obj')
const endObject = Buffer.from('endobj')
const streamWord = Buffer.from('stream')
const endStream = Buffer.from('endstream')
/** A page tree's list of thousands of pages has this length. */
const dictionaryBytesMax = 262_144
const packedBytesMax = 8_388_608
/** Writers put some hundreds of objects into a stream, a few hundred kilobytes. */
const unpackedBytesMax = 16_777_216
const objectsMax = 200_000
/** The numbers before the objects of a stream. */
const pairsBytesMax = 524_288
/** Texts in a dictionary may contain the word. */
const streamWordsMax = 16
const overlapBytes = 32

/** Page tree nodes and pages by the number of their object; a later definition replaces an earlier one. */
class PdfObjects {
  readonly #leaves = new Set<number>()
  readonly #nodes = new Map<number, { readonly count: number; readonly isRoot: boolean }>()
  #isUpdated = false
  /** Some objects could not be read. */
  hasUnreadable = false

  /** The number of objects kept. */
  get size(): number {
    return this.#leaves.size + this.#nodes.size
  }

  add(number: number, dictionary: string): void {
    const wasNode = this.#nodes.delete(number)
    const wasLeaf = this.#leaves.delete(number)
    if (wasNode || wasLeaf) this.#isUpdated = true
    if (/\/Type\s*\/Pages(?![A-Za-z])/.test(dictionary)) {
      const count = /\/Count\s+(\d{1,15})/.exec(dictionary)?.[1]
      if (count !== undefined)
        this.#nodes.set(number, { count: Number(count), isRoot: !/\/Parent\s/.test(dictionary) })
    } else if (/\/Type\s*\/Page(?![A-Za-z])/.test(dictionary)) this.#leaves.add(number)
  }

  /**
   * The count of the page tree's root, or the number of pages if its count is lower. A file changed by appending still
   * contains removed pages, so the root is right.
   */
  pages(): number | undefined {
    let rootCount: number | undefined
    for (const { count, isRoot } of this.#nodes.values()) {
      if (isRoot) rootCount = Math.max(rootCount ?? 0, count)
    }
    if (rootCount !== undefined) return this.#isUpdated ? rootCount : Math.max(rootCount, this.#leaves.size)
    return this.hasUnreadable || this.#leaves.size === 0 ? undefined : this.#leaves.size
  }
}

/**
 * The pages of a PDF (ISO 32000), from its objects in file order: this also counts files with broken tables, which
 * readers repair, and uploads in transit.
 * @throws BrokenMediaError when it unpacks to more than a document can need
 */
export async function pdfPages(reader: MediaReader): Promise<number | undefined> {
  const objects = new PdfObjects()
  let position = 0
  for (;;) {
    const window = await reader.window(position, overlapBytes * 2)
    if (window.length < overlapBytes) break
    const found = window.indexOf(objectWord)
    if (found === -1) {
      if (window.length < overlapBytes * 2) break
      position += window.length - overlapBytes
      continue
    }
    const number = numberBefore(window, found)
    position += found + objectWord.length
    if (number === undefined) continue
    position = await readObject(reader, position, number, objects)
    if (objects.size > objectsMax) throw new MediaUnreadableError('It has too many objects to be counted.')
  }
  return objects.pages()
}

/** `12 0 obj`: the object's number. */
function numberBefore(window: Buffer, end: number): number | undefined {
  const before = window.toString('latin1', Math.max(0, end - overlapBytes), end)
  const number = /(\d{1,10})\s+\d{1,5}\s+$/.exec(before)?.[1]
  return number === undefined ? undefined : Number(number)
}

/** Reads the object after `12 0 obj`. Returns where to continue. */
async function readObject(
  reader: MediaReader,
  start: number,
  number: number,
  objects: PdfObjects,
): Promise<number> {
  let bytes = await reader.window(start, overlapBytes)
  let end = dictionaryEnd(bytes)
  if (end === undefined) {
    bytes = await reader.read(start, dictionaryBytesMax)
    end = dictionaryEnd(bytes)
  }
  if (end === undefined) return start
  const dictionary = bytes.toString('latin1', 0, Math.min(end.at, dictionaryBytesMax))
  objects.add(number, dictionary)
  if (!end.isStream) return start + end.at
  const dataStart = start + end.at + streamWord.length + (bytes[end.at + streamWord.length] === 0x0d ? 2 : 1)
  const dataEnd = await streamEnd(reader, dataStart, dictionary)
  if (/\/Type\s*\/ObjStm/.test(dictionary))
    await readObjectStream(reader, dataStart, dataEnd, dictionary, objects)
  return dataEnd
}

function dictionaryEnd(bytes: Buffer): { readonly at: number; readonly isStream: boolean } | undefined {
  const object = bytes.indexOf(endObject)
  const limit = object === -1 ? bytes.length : object
  let at = bytes.indexOf(streamWord)
  for (let words = 0; words < streamWordsMax && at !== -1 && at < limit; words++) {
    const after = bytes[at + streamWord.length]
    if (after === 0x0d || after === 0x0a) return { at, isStream: true }
    at = bytes.indexOf(streamWord, at + 1)
  }
  return object === -1 ? undefined : { at: object, isStream: false }
}

/** By the length in the dictionary, if it is right, or by searching. */
async function streamEnd(reader: MediaReader, start: number, dictionary: string): Promise<number> {
  const length = /\/Length\s+(\d{1,12})(\s+\d+\s+R)?/.exec(dictionary)
  if (length !== null && length[2] === undefined) {
    const end = start + Number(length[1])
    if ((await reader.read(end, 16)).includes(endStream)) return end
  }
  let position = start
  for (;;) {
    const window = await reader.window(position, overlapBytes * 2)
    const found = window.indexOf(endStream)
    if (found !== -1) return position + found
    if (window.length < overlapBytes * 2) return position + window.length
    position += window.length - overlapBytes
  }
}

async function readObjectStream(
  reader: MediaReader,
  start: number,
  end: number,
  dictionary: string,
  objects: PdfObjects,
): Promise<void> {
  const packed = end - start > packedBytesMax ? undefined : await reader.read(start, end - start)
  const text = packed === undefined ? undefined : await unpacked(packed, dictionary)
  const count = Number(/\/N\s+(\d{1,7})/.exec(dictionary)?.[1] ?? 0)
  const first = Number(/\/First\s+(\d{1,9})/.exec(dictionary)?.[1] ?? 0)
  if (text === undefined || count === 0 || count > objectsMax || first > pairsBytesMax) {
    objects.hasUnreadable = true
    return
  }
  await reader.spend(text.length)
  // Pairs of an object's number and where it begins, counted from the first. There may be 100,000: they are read one
  // by one.
  const pairs = text.toString('latin1', 0, first).matchAll(/(\d{1,10})\s+(\d{1,10})(?!\d)/g)
  let pair = pairs.next().value
  for (let index = 0; index < count && pair !== undefined; index++) {
    await reader.spend(0)
    const next = pairs.next().value
    const from = first + Number(pair[2])
    const to = next === undefined ? text.length : first + Number(next[2])
    const length = Math.max(0, Math.min(to - from, dictionaryBytesMax))
    objects.add(Number(pair[1]), text.toString('latin1', from, from + length))
    pair = next
  }
}

async function unpacked(packed: Buffer, dictionary: string): Promise<Buffer | undefined> {
  if (!/\/Filter\s*(?:\[\s*)?\/FlateDecode/.test(dictionary))
    return dictionary.includes('/Filter') ? undefined : packed
  try {
    return await unpack(packed, { maxOutputLength: unpackedBytesMax, finishFlush: 2 })
  } catch (error) {
    if (error instanceof RangeError) {
      throw new BrokenMediaError(`a part of it unpacks to more than ${unpackedBytesMax} bytes`, {
        cause: error,
      })
    }
    // Encrypted, or in another coding than it states.
    return undefined
  }
}
