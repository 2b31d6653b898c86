import type { MediaReader } from './media-reader.ts'
import { MediaUnreadableError } from './media-source.ts'

/** Beyond so many bytes the rest is taken to be like what came before. */
const walkedBytesMax = 67_108_864
const headerBytes = 8
/** Places that look like the beginning of a frame and are none: pictures in tags have some. */
const falseStartsMax = 100_000
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
}

/**
 * The length of sound that is a row of frames without a container (MP3, AAC in ADTS): the sum over its
 * frames, whatever a header says or does not say. What stands between frames is passed over.
 * @throws MediaUnreadableError
 */
export async function framesSeconds(reader: MediaReader): Promise<number | undefined> {
  const start = await afterTags(reader)
  let position = start
  let seconds = 0
  let frames = 0
  let falseStarts = 0
  while (position - start < walkedBytesMax) {
    const window = await reader.window(position, headerBytes)
    if (window.length < headerBytes) break
    let at = 0
    while (at + headerBytes <= window.length) {
      const frame = frameAt(window, at)
      if (frame === undefined) {
        const next = window.indexOf(0xff, at + 1)
        at = next === -1 ? window.length - headerBytes + 1 : next
        falseStarts++
        continue
      }
      seconds += frame.seconds
      frames++
      at += frame.bytes
    }
    position += at
    if (falseStarts > falseStartsMax) throw new MediaUnreadableError('Its frames cannot be told from noise.')
  }
  // One frame can be chance; two in the right distance are none.
  if (frames < 2 && position - start > 4096) return undefined
  if (seconds === 0) return undefined
  const soundBytes = (await reader.size()) - start
  return position - start >= walkedBytesMax ? (seconds * soundBytes) / (position - start) : seconds
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
  return { bytes: Math.max(headerBytes, length), seconds: samples / hertz }
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
  return { bytes: length, seconds: (1024 * blocks) / hertz }
}
