import type { ScanResult } from '../../http/json-scan.ts'
import type { AnswerHead, BodyLength, Operation, RequestFacts, UsageReaderContext } from '../dialect.ts'
import type { Meters } from '../../money/usage.ts'
import { object, span, value } from '../interest.ts'
import { isZero, type AnswerMeasure } from '../measure.ts'
import { readBoolean, readString } from '../read-field.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'
import { SpokenAudio } from './spoken-audio.ts'

const request = searched({
  ...modelMembers,
  input: value('input'),
  stream_format: value('format'),
  // Mistral's.
  stream: value('stream'),
})

const answer = object({
  type: value('type'),
  error: value('error'),
  usage: value('usage'),
  audio: span('output'),
  // Mistral's.
  audio_data: span('output'),
})

/** Where nobody counted the text. */
const bytesPerToken = 4
/**
 * https://developers.openai.com/api/docs/pricing: a minute of gpt-4o-mini-tts is about 0.015 dollars, at 12 for a million
 * tokens.
 */
const tokensPerSecond = 1250 / 60

/**
 * Speech is paid for by the characters to speak, or by tokens, of which instructions may ask for any number: each has its
 * units, and the price decides. Event streams report the tokens. The usual answer is audio without any usage: its length
 * tells them.
 */
class SpeechReader extends OpenaiReader {
  readonly #audio: SpokenAudio

  constructor(head: AnswerHead, context: UsageReaderContext) {
    super(head, context, answer)
    this.#audio = new SpokenAudio(head.contentType)
  }

  override push(chunk: Buffer): void {
    super.push(chunk)
    this.#audio.push(chunk)
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'type' && value === 'speech.audio.done') this.markTerminal()
  }

  protected override measure(): AnswerMeasure {
    const { units, textTokens, textBytes } = this.context.facts
    if (units?.characters === undefined || !this.hasOutput) return { lines: [], details: {} }
    const told = super.measure().lines
    const meters: Meters = { characters: units.characters }
    if (!isZero(told)) {
      const { input = 0, output = 0, audioOutput = 0 } = told[0]?.meters ?? {}
      Object.assign(meters, { input, audioOutput: output + audioOutput })
    } else if (this.#audio.seconds > 0) {
      this.flags.add('speech_measured')
      meters.input = textTokens?.likely ?? Math.ceil(textBytes / bytesPerToken)
      meters.audioOutput = Math.ceil(this.#audio.seconds * tokensPerSecond)
    }
    return { lines: [this.line(meters)], details: {} }
  }
}

/** `POST /audio/speech` */
export const speech: Operation = {
  name: 'speech',
  body: 'json',
  modelIn: 'body',
  isFree: false,
  mainMeter: 'characters',
  interest: request,
  factsFromJson: speechFacts,
  readUsage: (head, context) => new SpeechReader(head, context),
}

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
