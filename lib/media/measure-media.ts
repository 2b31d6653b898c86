import { detectMediaType } from '../http/media-part.ts'
import { afterTags, framesSeconds, flacSeconds } from './audio-frames.ts'
import { MediaReader, MediaUnreadableError, BrokenMediaError } from './media-reader.ts'
import type { MediaBudget, MediaSource } from './media-reader.ts'
import { amrSeconds, headerSeconds, waveSeconds } from './header-audio.ts'
import { ebmlPlaytime, aviSeconds, flvSeconds, transportSeconds } from './video-seconds.ts'
import { imagePixels } from './image-pixels.ts'
import { isoPlaytime } from './iso-media.ts'
import { oggSeconds } from './ogg-audio.ts'
import { pdfPages } from './pdf-pages.ts'
import type { ObjectFacts } from '../money/usage.ts'

const headBytes = 4096

/** The result of a measurement, and why it is incomplete. */
interface MeasuredMedia {
  readonly facts: MediaFacts
  /** Set when it cannot be what it begins as, so that no reader can use it: the end of a sentence. */
  readonly brokenBecause?: string
  /** Set when the gateway cannot determine its length or size, although others may: a sentence. */
  readonly unmeasuredBecause?: string
}

type OwnFacts = Omit<MediaFacts, 'bytes'>
type Measure = (reader: MediaReader, mediaType: string) => Promise<OwnFacts>

/** The facts of an image, audio, video or document, from its content. */
export interface MediaFacts extends ObjectFacts {
  readonly bytes: number
}

/**
 * Determines a file's type and its length or size, from a bounded number of its bytes.
 * @throws MediaUnreadableError when the source ends early
 */
export async function measureMedia(source: MediaSource, budget: MediaBudget): Promise<MeasuredMedia> {
  const reader = new MediaReader(source, budget)
  const head = await reader.read(0, headBytes)
  const mediaType = detectMediaType(head)
  const own = mediaType === undefined ? {} : { mediaType }
  const measure = mediaType === undefined ? undefined : measureFor(mediaType)
  if (mediaType === undefined || measure === undefined)
    return { facts: { ...own, bytes: await source.size() } }
  try {
    const found = { ...own, ...(await measure(reader, mediaType)) }
    const facts = { ...found, bytes: await source.size() }
    return Object.keys(found).some(name => name !== 'mediaType')
      ? { facts }
      : { facts, unmeasuredBecause: 'Nothing in it tells how long it is.' }
  } catch (error) {
    const facts = { ...own, bytes: await source.size() }
    if (error instanceof BrokenMediaError) return { facts, brokenBecause: error.message }
    if (error instanceof MediaUnreadableError) return { facts, unmeasuredBecause: error.message }
    throw error
  }
}

const packStart = Buffer.from('000001ba', 'hex')
const tailBytes = 262_144
const packBytes = 14
const clockHz = 90_000
/** The clock has 33 bits. */
const clockPeriod = 2 ** 33

interface Pack {
  /** In 90 kHz ticks. */
  readonly clock: number
  /** The most bytes a second that the stream may have. */
  readonly bytesPerSecond: number
}

/**
 * The length of an MPEG program stream: from its first clock to its last. A clock that was reset in between shows in
 * the rate: so many bytes cannot play in less time.
 */
async function mpegSeconds(reader: MediaReader): Promise<number | undefined> {
  const first = packAt(await reader.read(0, packBytes), 0)
  if (first === undefined) return undefined
  const tail = await reader.tail(tailBytes)
  let last: Pack | undefined
  for (
    let at = tail.lastIndexOf(packStart);
    at >= 0;
    at = at === 0 ? -1 : tail.lastIndexOf(packStart, at - 1)
  ) {
    last = packAt(tail, at)
    if (last !== undefined) break
  }
  const byRate = first.bytesPerSecond === 0 ? 0 : (await reader.size()) / first.bytesPerSecond
  const ticks = last === undefined ? 0 : (last.clock - first.clock + clockPeriod) % clockPeriod
  const seconds = Math.max(byRate, ticks / clockHz)
  return seconds > 0 ? seconds : undefined
}

function packAt(bytes: Buffer, at: number): Pack | undefined {
  if (at + packBytes > bytes.length || bytes.readUInt32BE(at) !== 0x1ba) return undefined
  const [b4 = 0, b5 = 0, b6 = 0, b7 = 0, b8 = 0, , b10 = 0, b11 = 0, b12 = 0] = bytes.subarray(at + 4)
  // MPEG-2 (ISO 13818-1) begins with 01, MPEG-1 (ISO 11172-1) with 0010.
  if (b4 >> 6 === 1) {
    const high = ((b4 >> 3) & 7) * 2 ** 30
    const middle = (((b4 & 3) << 13) | (b5 << 5) | (b6 >> 3)) * 2 ** 15
    const low = ((b6 & 3) << 13) | (b7 << 5) | (b8 >> 3)
    return { clock: high + middle + low, bytesPerSecond: ((b10 << 14) | (b11 << 6) | (b12 >> 2)) * 50 }
  }
  if (b4 >> 4 !== 2) return undefined
  const b9 = bytes[at + 9] ?? 0
  const clock = ((b4 >> 1) & 7) * 2 ** 30 + ((b5 << 7) | (b6 >> 1)) * 2 ** 15 + ((b7 << 7) | (b8 >> 1))
  return { clock, bytesPerSecond: (((b9 & 0x7f) << 15) | (b10 << 7) | (b11 >> 1)) * 50 }
}

const measures: Readonly<Record<string, Measure>> = {
  'audio/mpeg': taggedAudio,
  'audio/aac': async reader => withSeconds(await framesSeconds(reader)),
  'audio/flac': async reader => withSeconds(await flacSeconds(reader, 0)),
  'audio/wav': waveAudio,
  'audio/aiff': waveAudio,
  'audio/amr': async reader => withSeconds(await amrSeconds(reader)),
  'audio/ogg': async reader => withSeconds(await oggSeconds(reader)),
  'video/ogg': async reader => withSeconds(await oggSeconds(reader)),
  'audio/mp4': isoMedia,
  'video/mp4': isoMedia,
  'video/quicktime': isoMedia,
  'video/3gpp': isoMedia,
  'video/webm': ebmlMedia,
  'video/x-matroska': ebmlMedia,
  'video/mpeg': async reader => withSeconds(await mpegSeconds(reader)),
  'video/mp2t': async reader => withSeconds(await transportSeconds(reader)),
  'video/x-msvideo': async reader => withSeconds(await aviSeconds(reader)),
  'video/x-flv': async reader => withSeconds(await flvSeconds(reader)),
  'application/pdf': async reader => {
    const pages = await pdfPages(reader)
    return pages === undefined ? {} : { pages }
  },
}

function measureFor(mediaType: string): Measure | undefined {
  const measure = measures[mediaType]
  if (measure !== undefined) return measure
  if (mediaType === 'image/svg+xml') return undefined
  if (mediaType.startsWith('image/')) return imagePixels
  const isAudio = mediaType.startsWith('audio/') || mediaType === 'video/x-ms-wmv'
  return isAudio ? async (reader, type) => withSeconds(await headerSeconds(reader, type)) : undefined
}

function withSeconds(seconds: number | undefined): OwnFacts {
  return seconds === undefined ? {} : { seconds }
}

/** A file that begins with ID3 tags is a sequence of frames, or FLAC. */
async function taggedAudio(reader: MediaReader): Promise<OwnFacts> {
  const start = await afterTags(reader)
  const isFlac = (await reader.read(start, 4)).toString('latin1') === 'fLaC'
  if (isFlac) return { mediaType: 'audio/flac', ...withSeconds(await flacSeconds(reader, start)) }
  return withSeconds(await framesSeconds(reader))
}

async function waveAudio(reader: MediaReader, mediaType: string): Promise<OwnFacts> {
  return withSeconds(await waveSeconds(reader, mediaType))
}

/** A video without images is audio. */
async function isoMedia(reader: MediaReader): Promise<OwnFacts> {
  const { seconds, hasVideo } = await isoPlaytime(reader)
  return { ...(hasVideo === false && { mediaType: 'audio/mp4' }), ...withSeconds(seconds) }
}

async function ebmlMedia(reader: MediaReader, mediaType: string): Promise<OwnFacts> {
  const { seconds, hasVideo } = await ebmlPlaytime(reader)
  return {
    ...(hasVideo === false && { mediaType: mediaType === 'video/webm' ? 'audio/webm' : 'audio/x-matroska' }),
    ...withSeconds(seconds),
  }
}
