import type { ScanResult } from '../../http/json-scan.ts'
import type { HeadFacts, BodyLength, Operation, RequestFacts, UsageReaderContext } from '../dialect.ts'
import { paidOperation } from '../operation-kinds.ts'
import type { Meters } from '../../money/usage.ts'
import { likelyTextTokens } from '../../http/text-density.ts'
import { object, span, value } from '../interest.ts'
import { isZero, type ResponseMeasure } from '../measure.ts'
import { readBoolean, readString } from '../read-field.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'
import { route, type RouteRow } from '../route-table.ts'
import { transcriptions } from './transcriptions.ts'
import { flacFrameSeconds, flacHeaderBytesMax, frameAt, frameHeaderBytes } from '../../http/audio-frames.ts'

const request = searched({
  ...modelMembers,
  input: value('input'),
  stream_format: value('format'),
  // Mistral's member.
  stream: value('stream'),
})

const response = object({
  type: value('type'),
  error: value('error'),
  usage: value('usage'),
  audio: span('output'),
  // Mistral's member.
  audio_data: span('output'),
})

/**
 * https://developers.openai.com/api/docs/pricing: a minute of gpt-4o-mini-tts is about 0.015 dollars, at 12 for a million
 * tokens.
 */
const tokensPerSecond = 1250 / 60

/**
 * Speech is charged by its input characters, or by tokens, whose number depends on the instructions too: each has its
 * units, and the price decides. Event streams report the tokens. The usual response is audio without any usage: its
 * length determines the tokens.
 */
class SpeechReader extends OpenaiReader {
  readonly #audio: SpokenAudio

  constructor(head: HeadFacts, context: UsageReaderContext) {
    super(head, context, response)
    this.#audio = new SpokenAudio(head.contentType)
  }

  override push(chunk: Buffer): void {
    super.push(chunk)
    this.#audio.push(chunk)
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'type' && value === 'speech.audio.done') this.markTerminal()
  }

  protected override measure(): ResponseMeasure {
    const { facts } = this.context
    const { units } = facts
    if (units?.characters === undefined || !this.hasOutput) return { lines: [], details: {} }
    const told = super.measure().lines
    const meters: Meters = { characters: units.characters }
    if (!isZero(told)) {
      const { input = 0, output = 0, audioOutput = 0 } = told[0]?.meters ?? {}
      Object.assign(meters, { input, audioOutput: output + audioOutput })
    } else if (this.#audio.seconds > 0) {
      this.flags.add('speech_measured')
      meters.input = likelyTextTokens(facts)
      meters.audioOutput = Math.ceil(this.#audio.seconds * tokensPerSecond)
    }
    return { lines: [this.line(meters)], details: {} }
  }
}

/** `POST /audio/speech` */
export const speech = paidOperation('speech', 'characters', {
  interest: request,
  factsFromJson: speechFacts,
  readUsage: (head, context) => new SpeechReader(head, context),
})

function speechFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  const characters = countCharacters(readString(scan, 'input') ?? '')
  const isStreaming = readString(scan, 'format') === 'sse' || readBoolean(scan, 'stream') === true
  return factsFrom(scan, body, { units: { characters }, isStreaming })
}

/** Characters as readers count them, not UTF-16 units. */
function countCharacters(text: string): number {
  let count = 0
  for (const _character of text) count += 1
  return count
}

/** `POST /tts`. There is one model, which requests do not name; its price is under this name. */
const xaiSpeech: Operation = {
  ...speech,
  name: 'tts',
  defaultModel: 'grok-tts',
  interest: searched({ ...modelMembers, text: value('input') }),
}

/** `POST /stt`, with the audio or its address. The response reports the audio's length. */
const xaiTranscription: Operation = { ...transcriptions, name: 'stt', defaultModel: 'grok-stt' }

/** xAI's voice API, below `/v1`. */
export const xaiVoiceRows: readonly RouteRow[] = [
  route('POST', '/tts', xaiSpeech),
  route('POST', '/stt', xaiTranscription),
]

/** https://developers.openai.com/api/docs/guides/text-to-speech: samples of 16 bits, 24,000 a second, in one channel. */
const pcmBytesPerSecond = 48_000
const wavHeaderBytes = 44
const granulesPerSecond = 48_000
const oggCapture = Buffer.from('OggS')
const granuleAt = 6
const granuleEnd = granuleAt + 8
const noGranule = 0xffffffffffffffffn
/** The length of FLAC's header, which contains the sample rate. */
const flacHeadBytes = 42
const flacRateAt = 18
const flacSync = 0xff

/** Reads the playing time of audio from a window of it; returns how many of its bytes are finished. */
type Walk = (window: Buffer) => number

/**
 * The playing time of an audio response, measured in transit: by its frames, or by the data rate of a format without
 * frames. Little of it is kept in memory.
 */
class SpokenAudio {
  readonly #walk: Walk | undefined
  #rest: Buffer = Buffer.alloc(0)
  #toSkip = 0
  #flacHertz = 0
  /** 0 for an unknown format. */
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

  /** Each page states the playing time at its end. */
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
