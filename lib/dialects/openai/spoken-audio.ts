import { flacFrameSeconds, flacHeaderBytesMax, frameAt, frameHeaderBytes } from '../../http/audio-frames.ts'

/** https://developers.openai.com/api/docs/guides/text-to-speech: samples of 16 bits, 24,000 a second, in one channel. */
const pcmBytesPerSecond = 48_000
const wavHeaderBytes = 44
const granulesPerSecond = 48_000
const oggCapture = Buffer.from('OggS')
const granuleAt = 6
const granuleEnd = granuleAt + 8
const noGranule = 0xffffffffffffffffn
/** The first bytes of FLAC, with the rate of what follows. */
const flacHeadBytes = 42
const flacRateAt = 18
const flacSync = 0xff

/** Reads how long audio plays out of a window of it; answers how many of its bytes are done with. */
type Walk = (window: Buffer) => number

/**
 * How long the audio plays that a response is, while it goes by: by its frames, or by the rate of what has none. Little
 * of it is kept.
 */
export class SpokenAudio {
  readonly #walk: Walk | undefined
  #rest: Buffer = Buffer.alloc(0)
  #toSkip = 0
  #flacHertz = 0
  /** 0 where nothing is known of the format. */
  seconds = 0

  /** @param contentType of the response, lower-case and without parameters */
  constructor(contentType: string) {
    if (contentType === 'audio/wav' || contentType === 'audio/x-wav') this.#toSkip = wavHeaderBytes
    this.#walk = this.#walkOf(contentType)
  }

  push(chunk: Buffer): void {
    if (this.#walk === undefined) return
    let window = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const skipped = Math.min(this.#toSkip, window.length)
    this.#toSkip -= skipped
    window = window.subarray(skipped)
    const done = this.#walk(window)
    this.#toSkip += Math.max(0, done - window.length)
    this.#rest = Buffer.from(window.subarray(Math.min(done, window.length)))
  }

  #walkOf(contentType: string): Walk | undefined {
    switch (contentType) {
      case 'audio/pcm':
      case 'audio/wav':
      case 'audio/x-wav':
        return window => {
          this.seconds += window.length / pcmBytesPerSecond
          return window.length
        }
      case 'audio/mpeg':
      case 'audio/mp3':
      case 'audio/aac':
        return window => this.#walkFrames(window)
      case 'audio/opus':
      case 'audio/ogg':
        return window => this.#walkPages(window)
      case 'audio/flac':
      case 'audio/x-flac':
        return window => this.#walkFlac(window)
      default:
        return undefined
    }
  }

  #walkFrames(window: Buffer): number {
    let at = 0
    while (at + frameHeaderBytes <= window.length) {
      const frame = frameAt(window, at)
      if (frame !== undefined) this.seconds += frame.seconds
      at += frame?.bytes ?? 1
    }
    return at
  }

  /** Each page says how much has been played by its end. */
  #walkPages(window: Buffer): number {
    let at = window.indexOf(oggCapture)
    while (at !== -1) {
      if (at + granuleEnd > window.length) return at
      const granule = window.readBigUInt64LE(at + granuleAt)
      if (granule !== noGranule) this.seconds = Math.max(this.seconds, Number(granule) / granulesPerSecond)
      at = window.indexOf(oggCapture, at + granuleEnd)
    }
    return Math.max(0, window.length - oggCapture.length + 1)
  }

  #walkFlac(window: Buffer): number {
    if (this.#flacHertz === 0) {
      if (window.length < flacHeadBytes) return 0
      this.#flacHertz = Math.max(1, window.readUIntBE(flacRateAt, 3) >> 4)
    }
    let at = window.indexOf(flacSync)
    while (at !== -1 && at + flacHeaderBytesMax <= window.length) {
      const isSync = ((window[at + 1] as number) & 0xfe) === 0xf8
      if (isSync) this.seconds += flacFrameSeconds(window, at, this.#flacHertz) ?? 0
      at = window.indexOf(flacSync, at + 1)
    }
    return at === -1 ? window.length : at
  }
}
