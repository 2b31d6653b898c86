import type { ScanResult } from '../../http/json-scan.ts'
import type { MultipartResult } from '../../http/multipart-scan.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { paidOperation } from '../operation-kinds.ts'
import { factsFromForm, readFormField } from '../form-facts.ts'
import { base64, object, span, value } from '../interest.ts'
import { addUsed, UsageFields, type ResponseMeasure } from '../measure.ts'
import { readString } from '../read-field.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'
import { knownProvider } from '../../providers/known-providers.ts'

type ReportsLength = NonNullable<RequestFacts['reportsLength']>

/** JSON formats whose response has a usage. All other formats except `verbose_json` are text. */
const plainFormats: ReadonlySet<string> = new Set(['', 'json', 'diarized_json'])
/** Fields with the address of audio that the provider fetches: Groq, xAI, Mistral. */
const addressFields = ['url', 'file_url']

/** OpenRouter accepts JSON that contains the audio where OpenAI accepts a form. */
const request = searched({
  ...modelMembers,
  stream: value('stream'),
  response_format: value('format'),
  input_audio: searched({ data: base64('audio') }),
  ...Object.fromEntries(addressFields.map(name => [name, base64('audio')])),
})

const response = object({
  type: value('type'),
  error: value('error'),
  usage: value('usage'),
  duration: value('duration'),
  text: span('text'),
  delta: span('text'),
})

/** Tokens or seconds, whichever the provider bills; `verbose_json` reports the seconds without a usage. */
class TranscriptionReader extends OpenaiReader {
  #duration: number | undefined

  protected override onValue(name: string, value: unknown): void {
    if (name === 'type' && value === 'transcript.text.done') this.markTerminal()
    if (name !== 'duration') return
    // Some responses have the number as a string.
    const duration = typeof value === 'string' && /^[\d.]+$/.test(value) ? Number(value) : value
    this.#duration = new UsageFields({ duration }, this.flags).quantity('duration')
  }

  /** Mistral counts tokens as well, but bills the seconds. */
  protected override measure(): ResponseMeasure {
    const counted = super.measure()
    const reportedSeconds = this.usage()?.quantity('seconds', 'prompt_audio_seconds')
    const seconds = reportedSeconds ?? (counted.lines.length === 0 ? this.#duration : undefined)
    if (seconds === undefined) return counted
    const line = this.line({})
    addUsed(line.meters, 'audioSeconds', billedSeconds(seconds, this.context.providerKind))
    return { ...counted, lines: [line] }
  }
}

/** `POST /audio/transcriptions` */
export const transcriptions = paidOperation('transcriptions', 'audioSeconds', {
  body: 'multipart',
  interest: request,
  factsFromJson: (scan, body) => jsonFacts(scan, body, 'perhaps'),
  factsFromMultipart: (form, body) => formFacts(form, body, 'perhaps'),
  readUsage: (head, context) => new TranscriptionReader(head, context, response),
})

/** `POST /audio/translations`; its plain response has no usage at all. */
export const translations: Operation = {
  ...transcriptions,
  name: 'translations',
  factsFromJson: (scan, body) => jsonFacts(scan, body, 'never'),
  factsFromMultipart: (form, body) => formFacts(form, body, 'never'),
}

/** @throws GatewayError body_invalid for JSON without readable audio, whose cost would be unknown */
function jsonFacts(scan: ScanResult, body: BodyLength, inJson: ReportsLength): RequestFacts {
  const facts = factsFrom(scan, body)
  if (facts.media.length > 0) return withTold(facts, readString(scan, 'format'), inJson)
  throw new GatewayError(
    'body_invalid',
    'The request has no audio: send it in input_audio.data, or as a file in a form.',
    { param: 'input_audio' },
  )
}

/** Audio that a provider fetches itself may have any length. */
function formFacts(form: MultipartResult, body: BodyLength, inJson: ReportsLength): RequestFacts {
  const facts = factsFromForm(form, body, 'audio')
  const fetched = addressFields
    .filter(name => (readFormField(form, name) ?? '') !== '')
    .map(path => ({ path, kind: 'audio', fieldKind: 'audio', bodyStart: 0, bodyBytes: 0 }) as const)
  const format = readFormField(form, 'response_format')
  const media = fetched.length === 0 ? facts.media : [...facts.media, ...fetched]
  return withTold({ ...facts, media }, format, inJson)
}

function withTold(facts: RequestFacts, format = '', inJson: ReportsLength): RequestFacts {
  if (format === 'verbose_json') return { ...facts, reportsLength: 'surely' }
  return { ...facts, reportsLength: plainFormats.has(format) ? inJson : 'never' }
}

/** The seconds that a provider bills for so many seconds of audio, by the provider's kind. */
export function billedSeconds(seconds: number, providerKind: string): number {
  return Math.max(knownProvider(providerKind).audioSecondsMin ?? 0, seconds)
}
