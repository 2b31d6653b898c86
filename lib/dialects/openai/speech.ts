import type { ScanResult } from '../../http/json-scan.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { object, span, value } from '../interest.ts'
import type { AnswerMeasure } from '../measure.ts'
import { readBoolean, readString } from '../read-field.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

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

/**
 * Speech is measured by the characters to speak: the usual answer is audio without any usage. Tokens,
 * which only event streams report, are kept beside, so that both ways to ask cost the same.
 */
class SpeechReader extends OpenaiReader {
  protected override onValue(name: string, value: unknown): void {
    if (name === 'type' && value === 'speech.audio.done') this.markTerminal()
  }

  protected override measure(): AnswerMeasure {
    const characters = this.context.facts.units?.characters
    if (characters === undefined || !this.hasOutput) return { lines: [], details: {} }
    const tokens = super.measure().lines[0]?.meters
    const details: Record<string, number> = {}
    if (tokens?.input !== undefined) details['inputTokens'] = tokens.input
    if (tokens?.output !== undefined) details['outputTokens'] = tokens.output
    return { lines: [this.line({ characters })], details }
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
  readUsage: (head, context) => new SpeechReader(head, context, answer),
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
