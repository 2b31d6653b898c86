import { believedSeconds, MediaUnreadableError, type MediaReader } from './media-reader.ts'

/** Beyond so many bytes the rest is taken to be like what came before. */
const walkedBytesMax = 67_108_864
/** The longest header of a frame. */
export const flacHeaderBytesMax = 16
/** Places that look like the beginning of a frame and are none. Chance makes one in 32 KB of FLAC, and images in tags some. */
const falseStartsMax = 100_000
/** Of frames of a fixed and of a variable size. */
const syncs = [Buffer.from([0xff, 0xf8]), Buffer.from([0xff, 0xf9])]
const blocksMax = 1000
/** Hertz by the code in a frame's header; 0 stands for the rate of the stream. */
const rates = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]
const crc8 = Uint8Array.from({ length: 256 }, (_, value) => {
  let crc = value
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) === 0 ? crc << 1 : (crc << 1) ^ 0x107
  return crc
})

/**
 * The length of a FLAC stream (RFC 9639): what its first block says, unless its frames hold more.
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

/** How long the frame of FLAC plays that begins here; undefined where none does: the checksum of its header has to be right, as players want it. */
export function flacFrameSeconds(bytes: Buffer, at: number, streamRate: number): number | undefined {
  const third = bytes[at + 2] as number
  const fourth = bytes[at + 3] as number
  const isReserved = third >> 4 === 0 || (third & 15) === 15 || fourth >> 4 > 10 || (fourth & 1) !== 0
  if (isReserved) return undefined
  let next = at + 4 + numberBytes(bytes[at + 4] as number)
  const sizeCode = third >> 4
  let samples = sizeCode === 1 ? 192 : sizeCode < 6 ? 576 << (sizeCode - 2) : 256 << (sizeCode - 8)
  if (sizeCode === 6) samples = (bytes[next++] as number) + 1
  if (sizeCode === 7) {
    samples = bytes.readUInt16BE(next) + 1
    next += 2
  }
  const rateCode = third & 15
  let rate = rates[rateCode] ?? 0
  if (rateCode === 12) rate = (bytes[next++] as number) * 1000
  if (rateCode > 12) {
    rate = bytes.readUInt16BE(next) * (rateCode === 13 ? 1 : 10)
    next += 2
  }
  let crc = 0
  for (let index = at; index < next; index++) crc = crc8[crc ^ (bytes[index] as number)] as number
  return crc === bytes[next] ? samples / (rate === 0 ? streamRate : rate) : undefined
}

/** The bytes of the frame's number, which is written as UTF-8 is. */
function numberBytes(first: number): number {
  return first < 0xc0 ? 1 : Math.min(7, Math.clz32(~(first << 24)))
}

const headerBytes = 8
const adtsRates = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350]
const mpegRates = [44100, 48000, 32000]
/** kbit/s by version 1 or 2, then layer 1, 2, 3. */
const bitrates: readonly (readonly (readonly number[])[])[] = [
  [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
]

interface Frame {
  readonly bytes: number
  readonly seconds: number
  readonly isAac: boolean
}

/** A walk from frame to frame of one kind. */
interface FrameWalk {
  readonly isAac: boolean
  /** Where its next frame may begin; Infinity when it was given up. */
  position: number
  seconds: number
  frames: number
  falseStarts: number
}

function walkFrom(position: number, isAac: boolean): FrameWalk {
  return { isAac, position, seconds: 0, frames: 0, falseStarts: 0 }
}

/**
 * The length of audio that is a row of frames without a container (MP3, AAC in ADTS): the sum over its
 * frames, whatever a header says or does not say. What stands between frames is passed over. Players go by frames of one
 * kind, and find them in what would be a frame of the other, so the kind that plays longer counts.
 * @param from behind the tags unless said
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
  // One frame can be chance; two in the right distance are none.
  if (frames < 2 && position - start > 4096) return undefined
  if (seconds === 0) return undefined
  const audioBytes = (await reader.size()) - start
  return position - start >= walkedBytesMax ? (seconds * audioBytes) / (position - start) : seconds
}

/** @param windowStart where the window's first byte is */
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

/** Behind the ID3 tags at the beginning; their sizes have seven bits a byte. */
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

/** How long the frame of MPEG audio plays that begins here; 0 where none does. */
export function mpegFrameSeconds(bytes: Buffer, at: number): number {
  return frameAt(bytes, at)?.seconds ?? 0
}

function frameAt(bytes: Buffer, at: number): Frame | undefined {
  const second = bytes[at + 1] as number
  if (bytes[at] !== 0xff || (second & 0xe0) !== 0xe0) return undefined
  const third = bytes[at + 2] as number
  const layer = 4 - ((second >> 1) & 3)
  if (layer === 4) return adtsFrame(bytes, at, third)
  const version = (second >> 3) & 3 // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
  const rate = mpegRates[(third >> 2) & 3]
  const bitrate = bitrates[version === 3 ? 0 : 1]?.[layer - 1]?.[third >> 4]
  if (version === 1 || rate === undefined || bitrate === undefined || bitrate === 0) return undefined
  const hertz = version === 3 ? rate : version === 2 ? rate / 2 : rate / 4
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152
  const padding = (third >> 1) & 1
  const length =
    layer === 1
      ? (Math.floor((12_000 * bitrate) / hertz) + padding) * 4
      : Math.floor((samples * 125 * bitrate) / hertz) + padding
  return { bytes: Math.max(headerBytes, length), seconds: samples / hertz, isAac: false }
}

function adtsFrame(bytes: Buffer, at: number, third: number): Frame | undefined {
  if (((bytes[at + 1] as number) & 0xf0) !== 0xf0) return undefined
  const hertz = adtsRates[(third >> 2) & 15]
  const length =
    (((bytes[at + 3] as number) & 3) << 11) |
    ((bytes[at + 4] as number) << 3) |
    ((bytes[at + 5] as number) >> 5)
  if (hertz === undefined || length < headerBytes) return undefined
  const blocks = ((bytes[at + 6] as number) & 3) + 1
  return { bytes: length, seconds: (1024 * blocks) / hertz, isAac: true }
}
