import type { ScanResult } from '../../http/json-scan.ts'
import { list, object, span, value } from '../interest.ts'
import { isZero } from '../measure.ts'
import { findField, readString } from '../read-field.ts'
import {
  countOf,
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
  type TurnUsage,
} from '../session.ts'
import { plainType, type ProviderTool } from '../provider-tools.ts'
import { providerToolsIn, toolMembers } from '../search-tools.ts'
import { realtimeUsage, bytesPerSecond, g711BytesPerSecond, pcmBytesPerSecond } from './realtime-usage.ts'

/** The most tokens of an image: images are scaled down before they are read (wire.md 2.7). */
const imageTokensMax = 1600

const item = object({ content: list(object({ audio: span('audio'), image_url: span('image') })) })

const tools = list(object(toolMembers))

const clientInterest = object({
  type: value('type'),
  event_id: value('id'),
  audio: span('audio'),
  item,
  session: object({ model: value('model'), tools }),
  response: object({
    max_output_tokens: value('cap'),
    max_response_output_tokens: value('cap'),
    output_modalities: list(value('modality')),
    modalities: list(value('modality')),
    conversation: value('conversation'),
    tools,
    input: list(item, span('ownInput')),
  }),
})

/** Events that carry generated text, under the names of the beta and of the later API. */
const textDeltas =
  /^response\.(?:output_)?(?:text|audio_transcript)\.delta$|^response\.function_call_arguments\.delta$/
const audioDeltas = /^response\.(?:output_)?audio\.delta$/
/** Input audio is committed as an item and transcribed: `delta`, then `completed` or `failed`. */
const transcripts =
  /^(?:input_audio_buffer|conversation\.item\.input_audio_transcription)\.(committed|delta|completed|failed)$/

/** Reads OpenAI's Realtime events, and those of xAI, which copies them. */
export class RealtimeReader implements SessionReader {
  readonly #context: SessionContext
  /** By default the server listens, and responds when the speaker pauses. */
  #startsByItself = true
  #isSpoken = true
  #sessionCap: number | undefined
  #heardBytesPerSecond = pcmBytesPerSecond
  #spokenBytesPerSecond = pcmBytesPerSecond
  /**
   * Changes to the session that the server has not confirmed, so that any setting may apply. A refused change stays
   * here.
   */
  #unconfirmedUpdates = 0
  /** The tools that the provider may run: those that it confirmed, and those requested since. */
  #tools: readonly ProviderTool[] = []
  #unconfirmedTools: readonly ProviderTool[] = []
  /** Input audio is transcribed, which is billed whether or not a response follows. */
  #isTranscribing = false
  #transcriptionModel: string | undefined

  constructor(context: SessionContext) {
    this.#context = context
  }

  get startsByItself(): boolean {
    return this.#startsByItself || this.#unconfirmedUpdates > 0
  }

  get isSpoken(): boolean {
    return this.#isSpoken || this.#unconfirmedUpdates > 0
  }

  get tools(): readonly ProviderTool[] {
    return [...this.#tools, ...this.#unconfirmedTools]
  }

  /** While the format is uncertain it may be the smallest one, in which a given number of bytes lasts longest. */
  #secondsHeard(encodedLength: number): number {
    const isCertain = this.#unconfirmedUpdates === 0
    return encodedSeconds(encodedLength, isCertain ? this.#heardBytesPerSecond : g711BytesPerSecond)
  }

  *onClient(message: Buffer): Steps<ClientEvent> {
    const scan = yield* scanMessage(message, clientInterest)
    const type = readString(scan, 'type') ?? ''
    const id = readString(scan, 'id')
    const audio = encodedLength(scan, 'audio')
    const images = countOf(scan, 'image')
    const event = {
      ...(id !== undefined && { id }),
      audioSeconds: this.#secondsHeard(audio),
      textBytes: message.length - audio - encodedLength(scan, 'image'),
      ...(images > 0 && { imageTokens: images * imageTokensMax }),
    }
    if (type === 'response.create') return { ...event, ...this.#responseCreate(scan) }
    if (type === 'session.update') return { ...event, ...this.#sessionUpdate(scan) }
    if (type === 'input_audio_buffer.append' || type === 'input_audio_buffer.commit') {
      // Without voice detection audio is only buffered, until a response is requested.
      const isHeard = this.startsByItself || this.#isTranscribing
      // The model reads nothing but the audio of such a message.
      return { ...event, textBytes: 0, ...(isHeard && { starts: 'input' }), ...this.#cap(undefined) }
    }
    return { ...event, ...this.#cap(undefined) }
  }

  #responseCreate(scan: ScanResult): Partial<ClientEvent> {
    const modalities = scan.findings.filter(({ name }) => name === 'modality')
    const isApart =
      findField(scan, 'ownInput') !== undefined ||
      (findField(scan, 'conversation') !== undefined && readString(scan, 'conversation') !== 'auto')
    return {
      starts: 'response',
      tools: providerToolsIn(scan),
      ...(isApart && { isApart }),
      ...(modalities.length > 0 && {
        isSpoken: modalities.some(({ raw }) => raw?.toString('latin1') !== '"text"'),
      }),
      ...this.#cap(scan),
    }
  }

  #sessionUpdate(scan: ScanResult): Pick<ClientEvent, 'model'> {
    this.#unconfirmedUpdates += 1
    this.#unconfirmedTools = [...this.#unconfirmedTools, ...providerToolsIn(scan)]
    const name = readString(scan, 'model')
    const found = findField(scan, 'model')
    return name === undefined || found === undefined
      ? {}
      : { model: { name, start: found.start, end: found.end } }
  }

  /** A response's own cap, or else the session's, which counts only once the server has confirmed it. */
  #cap(response: ScanResult | undefined): Pick<ClientEvent, 'outputTokensCap'> {
    const own = response?.findings.filter(({ name, type }) => name === 'cap' && type !== 'null') ?? []
    const sessionCap = this.#unconfirmedUpdates > 0 ? undefined : this.#sessionCap
    const caps = own.length > 0 ? own.map(({ raw }) => capOf(Number(raw?.toString('latin1')))) : [sessionCap]
    const known = caps.filter(cap => cap !== undefined)
    return known.length < caps.length ? {} : { outputTokensCap: Math.max(...known) }
  }

  onServer(message: Buffer): readonly ServerEvent[] {
    const event = parseMessage(message)
    const type = typeof event['type'] === 'string' ? event['type'] : ''
    const turn = turnOf(event)
    if (audioDeltas.test(type)) {
      const audioSeconds = encodedSeconds(lengthOf(event['delta']), this.#spokenBytesPerSecond)
      return [{ kind: 'output', ...turn, textBytes: 0, audioSeconds }]
    }
    if (textDeltas.test(type))
      return [{ kind: 'output', ...turn, textBytes: lengthOf(event['delta']), audioSeconds: 0 }]
    switch (type) {
      case 'session.updated':
      case 'session.created':
        if (type === 'session.updated') this.#unconfirmedUpdates = Math.max(0, this.#unconfirmedUpdates - 1)
        return this.#session(fieldsOf(event['session']))
      case 'response.created':
        return [{ kind: 'started', ...turn }]
      case 'response.done': {
        const { usage, status } = fieldsOf(event['response'])
        // xAI puts the usage beside the response.
        const told = this.#usageOf(isEmpty(usage) ? event['usage'] : usage, undefined)
        // The input of a canceled response is billed: https://developers.openai.com/api/docs/guides/realtime-costs
        const isFailed = (status === 'failed' || status === 'cancelled') && isZero(told.usage?.lines ?? [])
        // A client may cancel a response at its last word.
        const isUnreported = isFailed && status === 'cancelled'
        return [{ kind: 'finished', ...turn, ...(isUnreported ? {} : told), isFailed }]
      }
      case 'error': {
        const id = fieldsOf(event['error'])['event_id']
        return [{ kind: 'refused', ...(typeof id === 'string' && { id }) }]
      }
      default:
        return this.#transcript(transcripts.exec(type)?.[1], event)
    }
  }

  #transcript(step: string | undefined, event: Fields): readonly ServerEvent[] {
    // xAI reports this status for partial transcripts.
    if (step === undefined || event['status'] === 'in_progress') return []
    const { item_id: id, content_index: index } = event
    const model = this.#transcriptionModel
    const isNamed = typeof id === 'string'
    const told = { kind: 'transcript', item: isNamed ? id : '', textBytes: lengthOf(event['delta']) } as const
    if (step === 'committed' || step === 'delta')
      return isNamed && model !== undefined && this.#isTranscribing ? [{ ...told, model }] : []
    const over = { ...told, isOver: true }
    const { usage } = this.#usageOf(event['usage'], model)
    if (step === 'failed' || usage === undefined) return [over]
    return [over, { kind: 'side', ...(isNamed && { id: `${id}/${String(index)}` }), usage }]
  }

  /** The session as the server reports it: in OpenAI's form, or in the older one that xAI and others use. */
  #session(session: Fields): readonly ServerEvent[] {
    if (Array.isArray(session['tools'])) {
      this.#tools = providerTools(session['tools'])
      if (this.#unconfirmedUpdates === 0) this.#unconfirmedTools = []
    }
    const { input: newInput, output: newOutput } = fieldsOf(session['audio'])
    const input = fieldsOf(newInput)
    const output = fieldsOf(newOutput)
    this.#heardBytesPerSecond = bytesPerSecond(session['input_audio_format'] ?? input['format'])
    this.#spokenBytesPerSecond = bytesPerSecond(session['output_audio_format'] ?? output['format'])
    const detection = 'turn_detection' in session ? session['turn_detection'] : input['turn_detection']
    if ('turn_detection' in session || 'turn_detection' in input) {
      const { type, create_response: isAnswered } = fieldsOf(detection)
      this.#startsByItself = typeof type === 'string' && isAnswered !== false
    }
    this.#sessionCap = capOf(session['max_output_tokens'] ?? session['max_response_output_tokens'])
    const modalities = session['output_modalities'] ?? session['modalities']
    if (Array.isArray(modalities)) this.#isSpoken = modalities.includes('audio')
    const transcription = fieldsOf(input['transcription'] ?? session['input_audio_transcription'])
    this.#isTranscribing = Object.keys(transcription).length > 0
    if (typeof transcription['model'] === 'string') this.#transcriptionModel = transcription['model']
    const { model } = session
    return typeof model === 'string' && model !== '' ? [{ kind: 'model', name: model }] : []
  }

  #usageOf(usage: unknown, model: string | undefined): { usage?: TurnUsage } {
    const told = realtimeUsage(usage, model, this.#context)
    return told === undefined ? {} : { usage: told }
  }
}

/** The tools in a list that the provider runs itself. */
function providerTools(tools: readonly unknown[]): readonly ProviderTool[] {
  const types = tools.map(tool => plainType(String(fieldsOf(tool)['type'])))
  return types.filter(type => type !== undefined).map(type => ({ type }))
}

/** "inf" means no limit. */
function capOf(cap: unknown): number | undefined {
  return Number.isSafeInteger(cap) && (cap as number) >= 0 ? (cap as number) : undefined
}

function turnOf(event: Fields): { turn?: string } {
  const id = event['response_id'] ?? fieldsOf(event['response'])['id']
  return typeof id === 'string' ? { turn: id } : {}
}

function isEmpty(value: unknown): boolean {
  return Object.keys(fieldsOf(value)).length === 0
}
