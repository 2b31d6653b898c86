import {
  flacFrameSeconds,
  flacHeaderBytesMax,
  frameAt,
  frameHeaderBytes as headerBytes,
} from '../http/audio-frames.ts'
import { believedSeconds, MediaUnreadableError, type MediaReader } from './media-reader.ts'

/** After this many bytes the rest is assumed to be like what came before. */
const walkedBytesMax = 67_108_864
/**
 * Places that only look like the start of a frame. Chance makes one in 32 KB of FLAC, and images in tags contain some.
 */
const falseStartsMax = 100_000
/** The sync codes of frames with a fixed and with a variable block size. */
const syncs = [Buffer.from([0xff, 0xf8]), Buffer.from([0xff, 0xf9])]
const blocksMax = 1000

/**
 * The length of a FLAC stream (RFC 9639): the one in its first block, unless its frames are longer.
 * @throws MediaUnreadableError
 */
export async function flacSeconds(reader: MediaReader, start: number): Promise<number | undefined> {
  const info = await reader.read(start + 8, 18)
  if (info.length < 18) return undefined
  const rate = info.readUIntBE(10, 3) >> 4
  if (rate === 0) return undefined
  const saidSeconds = (((info[13] as number) & 15) * 2 ** 32 + info.readUInt32BE(14)) / rate
  return believedSeconds(
    saidSeconds,
    await flacFramesSeconds(reader, await afterBlocks(reader, start + 4), rate),
  )
}

async function afterBlocks(reader: MediaReader, start: number): Promise<number> {
  let position = start
  for (let block = 0; block < blocksMax; block++) {
    const head = await reader.read(position, 4)
    if (head.length < 4) return position
    position += 4 + head.readUIntBE(1, 3)
    if (((head[0] as number) & 0x80) !== 0) return position
  }
  throw new MediaUnreadableError('It has more blocks of metadata than any recording needs.')
}

async function flacFramesSeconds(reader: MediaReader, start: number, rate: number): Promise<number> {
  let position = start
  let seconds = 0
  let falseStarts = 0
  while (position - start < walkedBytesMax) {
    const window = await reader.window(position, flacHeaderBytesMax)
    if (window.length < flacHeaderBytesMax) break
    const end = window.length - flacHeaderBytesMax + 1
    for (const sync of syncs) {
      for (let at = window.indexOf(sync); at !== -1 && at < end; at = window.indexOf(sync, at + 1)) {
        const length = flacFrameSeconds(window, at, rate)
        if (length === undefined) falseStarts++
        else seconds += length
      }
    }
    if (falseStarts > falseStartsMax) throw new MediaUnreadableError('Its frames cannot be told from noise.')
    position += end
  }
  const walked = position - start
  return walked < walkedBytesMax ? seconds : (seconds * ((await reader.size()) - start)) / walked
}

/** A walk from frame to frame of one kind. */
interface FrameWalk {
  readonly isAac: boolean
  /** Where its next frame may begin; Infinity once the walk has been abandoned. */
  position: number
  seconds: number
  frames: number
  falseStarts: number
}

function walkFrom(position: number, isAac: boolean): FrameWalk {
  return { isAac, position, seconds: 0, frames: 0, falseStarts: 0 }
}

/**
 * The length of audio that is a sequence of frames without a container (MP3, AAC in ADTS): the sum over its frames,
 * whatever a header says. Bytes between frames are skipped. Players follow frames of one kind and may find them inside
 * frames of the other, so the kind with the longer playing time counts.
 * @param from where to begin; after the tags by default
 * @throws MediaUnreadableError
 */
export async function framesSeconds(reader: MediaReader, from?: number): Promise<number | undefined> {
  const start = from ?? (await afterTags(reader))
  const mpeg = walkFrom(start, false)
  const aac = walkFrom(start, true)
  let position = start
  while (position - start < walkedBytesMax) {
    const window = await reader.window(position, headerBytes)
    if (window.length < headerBytes) break
    for (const walk of [mpeg, aac]) if (walk.position < Infinity) walkOn(walk, window, position)
    position = Math.min(mpeg.position, aac.position)
    if (position === Infinity) throw new MediaUnreadableError('Its frames cannot be told from noise.')
  }
  const { seconds, frames } = mpeg.seconds < aac.seconds ? aac : mpeg
  // A single frame can be chance; two at the right distance are not.
  if (frames < 2 && position - start > 4096) return undefined
  if (seconds === 0) return undefined
  const audioBytes = (await reader.size()) - start
  return position - start >= walkedBytesMax ? (seconds * audioBytes) / (position - start) : seconds
}

/** @param windowStart the position of the window's first byte */
function walkOn(walk: FrameWalk, window: Buffer, windowStart: number): void {
  let at = walk.position - windowStart
  while (at + headerBytes <= window.length) {
    const frame = frameAt(window, at)
    if (frame?.isAac === walk.isAac) {
      walk.seconds += frame.seconds
      walk.frames++
      at += frame.bytes
    } else {
      const next = window.indexOf(0xff, at + 1)
      at = next === -1 ? window.length - headerBytes + 1 : next
      walk.falseStarts++
    }
  }
  walk.position = walk.falseStarts > falseStartsMax ? Infinity : windowStart + at
}

/** The position after the ID3 tags at the beginning; their sizes have seven bits a byte. */
export async function afterTags(reader: MediaReader): Promise<number> {
  let position = 0
  for (let tags = 0; tags < 8; tags++) {
    const head = await reader.read(position, 10)
    if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3') break
    let size = 0
    for (const byte of head.subarray(6, 10)) size = size * 128 + (byte & 0x7f)
    const footerBytes = ((head[5] ?? 0) & 0x10) === 0 ? 0 : 10
    position += 10 + size + footerBytes
  }
  return position
}
