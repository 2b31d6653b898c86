import { imageSize } from 'image-size'
import { MediaUnreadableError, BrokenMediaError, type MediaReader } from './media-reader.ts'

/** Enough for the headers of every format but JPEG, whose thumbnails and profiles come first. */
const headBytes = 65_536
const bytesMax = 4_194_304

interface Pixels {
  readonly width: number
  readonly height: number
}

/**
 * The sides of an image according to its header, for which a decoder allocates memory.
 * @throws BrokenMediaError when no decoder can show it
 */
export async function imagePixels(reader: MediaReader, type: string): Promise<Pixels> {
  const pixels = type === 'image/jpeg' ? await jpegPixels(reader) : await headerPixels(reader)
  if (pixels.width === 0 || pixels.height === 0) throw new BrokenMediaError('it has no pixels')
  try {
    if (type === 'image/png') await checkPngEnd(reader)
    if (type === 'image/webp') await checkWebpEnd(reader)
  } catch (error) {
    // The check for completeness is not worth more work; the sides are known.
    if (!(error instanceof MediaUnreadableError)) throw error
  }
  return pixels
}

async function headerPixels(reader: MediaReader): Promise<Pixels> {
  let failure: unknown
  for (const length of [headBytes, bytesMax]) {
    const head = await reader.read(0, length)
    try {
      const { width, height } = imageSize(head)
      return { width, height }
    } catch (error) {
      failure = error
    }
    if (head.length < length) break
  }
  throw new BrokenMediaError('its header is broken', { cause: failure })
}

/** Reads marker by marker up to the frame header (ITU T.81, B.1). */
async function jpegPixels(reader: MediaReader): Promise<Pixels> {
  let position = 2
  for (;;) {
    const head = await reader.read(position, 9)
    if (head.length < 9) throw new BrokenMediaError('it ends before its frame header')
    const marker = head[1] as number
    if (head[0] !== 0xff) throw new BrokenMediaError('a marker is missing in it')
    const isFill = marker === 0xff
    const isAlone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)
    if (isFill || isAlone) {
      position += isFill ? 1 : 2
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { height: head.readUInt16BE(5), width: head.readUInt16BE(7) }
    // Image data, or the end, comes before a frame header.
    if (marker === 0xda || marker === 0xd9) throw new BrokenMediaError('it has no frame header')
    position += 2 + Math.max(2, head.readUInt16BE(2))
  }
}

/** A PNG ends with IEND; decoders refuse one that is truncated before it. */
async function checkPngEnd(reader: MediaReader): Promise<void> {
  let position = 8
  for (;;) {
    const head = await reader.read(position, 8)
    if (head.length < 8) throw new BrokenMediaError('it is cut off')
    if (head.toString('latin1', 4, 8) === 'IEND') return
    position += 12 + head.readUInt32BE(0)
  }
}

async function checkWebpEnd(reader: MediaReader): Promise<void> {
  const head = await reader.read(0, 8)
  if (head.readUInt32LE(4) + 8 > (await reader.size())) throw new BrokenMediaError('it is cut off')
}
