import { detectMediaType } from '../http/media-sniff.ts'
import { afterTags, framesSeconds } from './audio-frames.ts'
import { believedSeconds } from './believed-seconds.ts'
import { BrokenMediaError } from './broken-media-error.ts'
import { ebmlPlaytime } from './ebml-media.ts'
import { flacSeconds } from './flac-frames.ts'
import { headerSeconds } from './header-audio.ts'
import { imagePixels } from './image-pixels.ts'
import { isoPlaytime } from './iso-media.ts'
import type { MediaFacts } from './media-facts.ts'
import { MediaReader, type MediaBudget } from './media-reader.ts'
import { MediaUnreadableError, type MediaSource } from './media-source.ts'
import { mpegSeconds } from './mpeg-program.ts'
import { aviSeconds, flvSeconds, transportSeconds } from './older-films.ts'
import { oggSeconds } from './ogg-pages.ts'
import { pcmSeconds } from './pcm-chunks.ts'
import { pdfPages } from './pdf-pages.ts'

const headBytes = 4096

/** What was found out, and why not all of it. */
export interface MeasuredMedia {
  readonly facts: MediaFacts
  /** Set when it cannot be what it begins as, so that nobody can read it: the end of a sentence. */
  readonly brokenBecause?: string
  /** Set when the gateway cannot say how long or large it is, though others may: a sentence. */
  readonly unmeasuredBecause?: string
}

type OwnFacts = Omit<MediaFacts, 'bytes'>
type Measure = (reader: MediaReader, mediaType: string) => Promise<OwnFacts>

/**
 * Finds out what a file is and how long or large, from a bounded number of its bytes.
 * @throws MediaUnreadableError when the source breaks off
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

const measures: Readonly<Record<string, Measure>> = {
  'audio/mpeg': taggedSound,
  'audio/aac': async reader => withSeconds(await framesSeconds(reader)),
  'audio/flac': async reader => withSeconds(await flacSeconds(reader, 0)),
  'audio/wav': pcmSound,
  'audio/aiff': pcmSound,
  'audio/ogg': async reader => withSeconds(await oggSeconds(reader)),
  'video/ogg': async reader => withSeconds(await oggSeconds(reader)),
  'audio/mp4': isoFilm,
  'video/mp4': isoFilm,
  'video/quicktime': isoFilm,
  'video/3gpp': isoFilm,
  'video/webm': ebmlFilm,
  'video/x-matroska': ebmlFilm,
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
  const isSound = mediaType.startsWith('audio/') || mediaType === 'video/x-ms-wmv'
  return isSound ? async (reader, type) => withSeconds(await headerSeconds(reader, type)) : undefined
}

function withSeconds(seconds: number | undefined): OwnFacts {
  return seconds === undefined ? {} : { seconds }
}

/** What begins with ID3 tags is a row of frames, or FLAC. */
async function taggedSound(reader: MediaReader): Promise<OwnFacts> {
  const start = await afterTags(reader)
  const isFlac = (await reader.read(start, 4)).toString('latin1') === 'fLaC'
  if (isFlac) return { mediaType: 'audio/flac', ...withSeconds(await flacSeconds(reader, start)) }
  return withSeconds(await framesSeconds(reader))
}

async function pcmSound(reader: MediaReader, mediaType: string): Promise<OwnFacts> {
  const said = await headerSeconds(reader, mediaType)
  return withSeconds(believedSeconds(said, await pcmSeconds(reader)))
}

/** Without pictures in it, a film is a sound. */
async function isoFilm(reader: MediaReader): Promise<OwnFacts> {
  const { seconds, hasVideo } = await isoPlaytime(reader)
  return { ...(hasVideo === false && { mediaType: 'audio/mp4' }), ...withSeconds(seconds) }
}

async function ebmlFilm(reader: MediaReader, mediaType: string): Promise<OwnFacts> {
  const { seconds, hasVideo } = await ebmlPlaytime(reader)
  return {
    ...(hasVideo === false && { mediaType: mediaType === 'video/webm' ? 'audio/webm' : 'audio/x-matroska' }),
    ...withSeconds(seconds),
  }
}
