import { GatewayError } from '../../pipeline/errors.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import { object, span, value } from '../interest.ts'
import { findField, readString } from '../read-field.ts'
import {
  encodedLength,
  fieldsOf,
  lengthOf,
  parseMessage,
  scanMessage,
  encodedSeconds,
  type Fields,
  type Steps,
  type ClientEvent,
  type ServerEvent,
  type SessionContext,
  type SessionReader,
} from '../session.ts'
import { realtimeUsage, bytesPerSecond, g711BytesPerSecond, pcmBytesPerSecond } from './realtime-usage.ts'

const transcription = object({ model: value('model') })

const clientInterest = object({
  type: value('type'),
  event_id: value('id'),
  audio: span('audio'),
  session: object({
    audio: object({ input: object({ transcription }) }),
    input_audio_transcription: transcription,
  }),
})

/** The client's update events; the second is the older name of the first. */
const updates: ReadonlySet<string> = new Set(['session.update', 'transcription_session.update'])
const audioEvents: ReadonlySet<string> = new Set(['input_audio_buffer.append', 'input_audio_buffer.commit'])
const others: ReadonlySet<string> = new Set([
  'input_audio_buffer.clear',
  'conversation.item.retrieve',
  'conversation.item.delete',
  'conversation.item.truncate',
])

const transcript = 'conversation.item.input_audio_transcription.'

/** Speech between two silences is an item, and its transcript a turn. */
export class TranscriptionReader implements SessionReader {
  readonly isSpoken = false
  /** The server listens, and transcribes without a request. */
  readonly startsByItself = true
  readonly forgets = true
  readonly #context: SessionContext
  #bytesPerSecond = pcmBytesPerSecond
  /** Changes to the session that the server has not confirmed. */
  #unconfirmedUpdates = 0
  /** The model that the server last confirmed: an item that begins now is billed by it. */
  #model: string | undefined
  readonly #modelOfItem = new Map<string, string | undefined>()

  constructor(context: SessionContext) {
    this.#context = context
  }

  /** @throws GatewayError not_supported for a message that begins a response, which such a session does not have */
  *onClient(message: Buffer): Steps<ClientEvent> {
    const scan = yield* scanMessage(message, clientInterest)
    const type = readString(scan, 'type') ?? ''
    const id = readString(scan, 'id')
    const told = id === undefined ? {} : { id }
    if (audioEvents.has(type)) {
      // While the format is uncertain it may be the smallest one, in which a given number of bytes lasts longest.
      const rate = this.#unconfirmedUpdates === 0 ? this.#bytesPerSecond : g711BytesPerSecond
      const audioSeconds = encodedSeconds(encodedLength(scan, 'audio'), rate)
      return { ...told, textBytes: 0, audioSeconds, starts: 'input', outputTokensCap: outputTokensMax }
    }
    if (updates.has(type)) {
      this.#unconfirmedUpdates += 1
      return { ...told, textBytes: message.length, audioSeconds: 0, ...modelIn(scan) }
    }
    if (others.has(type)) return { ...told, textBytes: 0, audioSeconds: 0 }
    throw new GatewayError(
      'not_supported',
      `${JSON.stringify(type.slice(0, 64))} is not supported in a transcription session; open a session with "model".`,
      { param: 'type' },
    )
  }

  onServer(message: Buffer): readonly ServerEvent[] {
    const event = parseMessage(message)
    const type = typeof event['type'] === 'string' ? event['type'] : ''
    if (type.endsWith('session.created') || type.endsWith('session.updated'))
      return this.#session(type, event)
    if (type === 'error') {
      const id = fieldsOf(event['error'])['event_id']
      return [{ kind: 'refused', ...(typeof id === 'string' && { id }) }]
    }
    const item = event['item_id']
    if (typeof item !== 'string') return []
    if (type === 'input_audio_buffer.committed') return this.#begin(item)
    if (!type.startsWith(transcript)) return []
    const turn = { turn: item }
    switch (type.slice(transcript.length)) {
      case 'delta': {
        const textBytes = lengthOf(event['delta'])
        return [...this.#begin(item), { kind: 'output', ...turn, textBytes, audioSeconds: 0 }]
      }
      case 'completed': {
        const begun = this.#begin(item)
        const usage = realtimeUsage(event['usage'], this.#modelOfItem.get(item), this.#context)
        this.#modelOfItem.delete(item)
        return [...begun, { kind: 'finished', ...turn, ...(usage !== undefined && { usage }) }]
      }
      case 'failed':
        return [...this.#begin(item), { kind: 'finished', ...turn, isFailed: true }]
      default:
        return []
    }
  }

  #begin(item: string): readonly ServerEvent[] {
    if (this.#modelOfItem.has(item)) return []
    this.#modelOfItem.set(item, this.#model)
    return [{ kind: 'started', turn: item }]
  }

  #session(type: string, event: Fields): readonly ServerEvent[] {
    if (type.endsWith('updated')) this.#unconfirmedUpdates = Math.max(0, this.#unconfirmedUpdates - 1)
    const session = fieldsOf(event['session'])
    const input = fieldsOf(fieldsOf(session['audio'])['input'])
    this.#bytesPerSecond = bytesPerSecond(session['input_audio_format'] ?? input['format'])
    const model = fieldsOf(input['transcription'] ?? session['input_audio_transcription'])['model']
    if (typeof model !== 'string' || model === '') return []
    this.#model = model
    return [{ kind: 'model', name: model }]
  }
}

/** A transcript is as long as its speech, of which the hold covers ten seconds in advance. */
const outputTokensMax = 2048

/** @throws GatewayError field_ambiguous */
function modelIn(scan: ScanResult): Pick<ClientEvent, 'model'> {
  const found = findField(scan, 'model')
  const name = readString(scan, 'model')
  if (found === undefined || name === undefined) return {}
  if (scan.findings.filter(one => one.name === 'model' && one.type !== 'null').length > 1) {
    throw new GatewayError('field_ambiguous', 'The session names its transcription model twice.', {
      param: found.path,
    })
  }
  return { model: { name, start: found.start, end: found.end } }
}
