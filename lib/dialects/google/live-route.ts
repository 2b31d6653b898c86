import type { RouteMatch, RequestFacts } from '../dialect.ts'
import { paidOperation } from '../operation-kinds.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import { object, value, anyOf, list, span } from '../interest.ts'
import { findField, readString, textOf } from '../read-field.ts'
import { names, objectsIn } from '../named-objects.ts'
import { namedModelsIn, searched, unread } from '../naming-members.ts'
import { providerToolsIn } from '../search-tools.ts'
import {
  scanMessage,
  countOf,
  encodedLength,
  fieldsOf,
  lengthOf,
  parseMessage,
  encodedSeconds,
  type Steps,
  type Fields,
  type ClientEvent,
  type ServerEvent,
  type SessionReader,
  type TurnUsage,
} from '../session.ts'
import { addUsed, UsageFields } from '../measure.ts'
import { Grounding, content, tools, contents, part } from './generate-content.ts'
import { generateNames, measureMetadata } from './usage-metadata.ts'

const blob = object({ data: span('audio'), mimetype: value('audioType') })

const clientInterest = object({
  setup: span('setup'),
  clientcontent: span('content'),
  realtimeinput: object(
    {
      audio: blob,
      video: object({ data: span('image') }),
      mediachunks: list(blob),
      text: span('inputText'),
    },
    span('input'),
  ),
  toolresponse: span('toolResponse'),
})

/** `total` is handled in this file: thoughts may not be part of it. */
const liveNames = { ...generateNames, output: 'responseTokenCount', total: '' }

/** The tokens that Google counts for an image that is not large (wire.md 3.5). */
const imageTokens = 258

/** Samples per second, of two bytes each, where their type does not say: of audio input and audio output. */
const heardHertz = 16_000
const spokenHertz = 24_000
const hertzMax = 48_000

/** Reads Gemini Live: turns have no ids, and one runs at a time. */
class LiveReader implements SessionReader {
  readonly startsByItself = true
  readonly isSpoken = true
  readonly #model: string
  #isInTurn = false
  #grounding = new Grounding()

  constructor(model: string) {
    this.#model = model
  }

  *onClient(message: Buffer): Steps<ClientEvent> {
    const scan = yield* scanMessage(message, clientInterest, { foldUnderscores: true })
    if (findField(scan, 'setup') !== undefined) {
      throw new GatewayError('body_invalid', 'A session is set up once, by its first message.', {
        param: 'setup',
      })
    }
    const isSaid = ['content', 'toolResponse'].some(name => findField(scan, name) !== undefined)
    const starts = isSaid || findField(scan, 'input') !== undefined
    const audio = encodedLength(scan, 'audio')
    const images = countOf(scan, 'image')
    const types = scan.findings.filter(
      ({ name, type, raw }) => name === 'audioType' && type === 'string' && raw !== undefined,
    )
    return {
      ...(starts && { starts: 'input' }),
      audioSeconds: encodedSeconds(audio, bytesPerSecond(types.map(textOf), heardHertz)),
      // Beside audio and images, realtime input has only this text.
      textBytes: isSaid
        ? message.length - audio - encodedLength(scan, 'image')
        : encodedLength(scan, 'inputText'),
      ...(images > 0 && { imageTokens: images * imageTokens }),
    }
  }

  onServer(message: Buffer): readonly ServerEvent[] {
    const event = parseMessage(message)
    const content = fieldsOf(event['serverContent'])
    const events: ServerEvent[] = []
    const handle = fieldsOf(event['sessionResumptionUpdate'])['newHandle']
    if (typeof handle === 'string' && handle !== '')
      events.push({ kind: 'named', object: { kind: 'session', id: handle } })
    if (
      !this.#isInTurn &&
      ('modelTurn' in content || 'toolCall' in event || 'outputTranscription' in content)
    ) {
      this.#isInTurn = true
      events.push({ kind: 'started' })
    }
    const output = outputOf(content)
    if (output.textBytes + output.audioSeconds > 0) events.push({ kind: 'output', ...output })
    takeGrounding(this.#grounding, content['groundingMetadata'])
    const usage = usageOf(event['usageMetadata'], this.#grounding.count(this.#model))
    if (content['turnComplete'] === true) {
      this.#isInTurn = false
      this.#grounding = new Grounding()
      events.push({ kind: 'finished', ...(usage !== undefined && { usage }) })
    } else if (usage !== undefined) events.push({ kind: 'usage', usage })
    return events
  }
}

function outputOf(content: Fields): { textBytes: number; audioSeconds: number } {
  let textBytes = lengthOf(fieldsOf(content['outputTranscription'])['text'])
  let audioSeconds = 0
  const parts = fieldsOf(content['modelTurn'])['parts']
  for (const part of itemsOf(parts)) {
    const { text, inlineData } = fieldsOf(part)
    textBytes += lengthOf(text)
    const { data, mimeType } = fieldsOf(inlineData)
    const types = typeof mimeType === 'string' ? [mimeType] : []
    audioSeconds += encodedSeconds(lengthOf(data), bytesPerSecond(types, spokenHertz))
  }
  return { textBytes, audioSeconds }
}

/** By the lowest rate that one of the types names, as in `audio/pcm;rate=16000`. */
function bytesPerSecond(types: readonly string[], hertzDefault: number): number {
  const told = types.map(type => Number(/;\s*rate=(\d{1,9})/.exec(type)?.[1] ?? 0)).filter(hertz => hertz > 0)
  return Math.min(...(told.length > 0 ? told : [hertzDefault]), hertzMax) * 2
}

/** The searches of the turn; its usage does not report them. */
function takeGrounding(grounding: Grounding, metadata: unknown): void {
  const { webSearchQueries, imageSearchQueries, groundingChunks } = fieldsOf(metadata)
  for (const [name, found] of [
    ['query', webSearchQueries],
    ['imageQuery', imageSearchQueries],
  ] as const) {
    for (const query of itemsOf(found)) grounding.take(name, query)
  }
  for (const chunk of itemsOf(groundingChunks)) if ('maps' in fieldsOf(chunk)) grounding.take('maps', chunk)
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function usageOf(usage: unknown, searches: number): TurnUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const flags = new Set<string>()
  const fields = new UsageFields(usage, flags)
  const measured = measureMetadata(fields, liveNames)
  if (measured === undefined) return undefined
  addUsed(measured.meters, 'searches', searches)
  const total = fields.count('totalTokenCount')
  const spoken =
    (fields.count('promptTokenCount') ?? 0) +
    (fields.count('responseTokenCount') ?? 0) +
    (fields.count('toolUsePromptTokenCount') ?? 0)
  const withThoughts = spoken + (fields.count('thoughtsTokenCount') ?? 0)
  if (total !== undefined && total !== spoken && total !== withThoughts) fields.flag('usage_inconsistent')
  return {
    lines: [{ meters: measured.meters }],
    raw: JSON.stringify(usage),
    details: measured.details,
    flags: [...flags],
  }
}

/** With a token in place of a key the method has another name; tokens are created elsewhere. */
const livePath =
  /^\/ws\/google\.ai\.generativelanguage\.v1(?:alpha|beta)?\.GenerativeService\.BidiGenerateContent(?=\?|$)/

const prefix = 'models/'

/** The model as other paths name it, and the bytes of its name without `models/`. */
function modelOf(scan: ScanResult): Pick<RequestFacts, 'model' | 'modelSpan'> {
  const found = findField(scan, 'model')
  if (found === undefined) {
    throw new GatewayError(
      'body_invalid',
      'The first message of a session must be its setup, with a model.',
      { param: 'setup.model' },
    )
  }
  const text = textOf(found)
  // Only the bytes of the name are ever replaced, so they must be the unescaped name.
  if (found.end - found.start !== Buffer.byteLength(text) + 2 || !text.startsWith(prefix)) {
    throw new GatewayError('body_invalid', 'setup.model must be "models/" and a name, without escapes.', {
      param: 'setup.model',
    })
  }
  return {
    model: text.slice(prefix.length),
    modelSpan: { start: found.start + 1 + prefix.length, end: found.end - 1 },
  }
}

function factsFromSetup(scan: ScanResult, body: { readonly length: number }): RequestFacts {
  const handle = readString(scan, 'handle')
  return {
    ...modelOf(scan),
    isStreaming: true,
    candidates: 1,
    textBytes: body.length,
    media: [],
    namedModels: namedModelsIn(scan),
    tools: providerToolsIn(scan),
    objects: [
      ...objectsIn(scan),
      ...(handle === undefined ? [] : [{ kind: 'session', id: handle } as const]),
    ],
  }
}

const functionResponse = object({ parts: anyOf(list(part), part) })

/** The objects that a message names; those of a setup are read with the setup. */
const message = searched({
  clientcontent: object({ turns: contents }),
  toolresponse: object({ functionresponses: anyOf(list(functionResponse), functionResponse) }),
  // Most messages are of this kind and name no objects.
  realtimeinput: unread,
})

/** Gemini Live, whose first message names the model. */
const live = paidOperation('live', 'audioOutput', {
  interest: object({
    setup: searched({
      model: value('model'),
      sessionresumption: object({ handle: value('handle') }),
      systeminstruction: content,
      tools,
      cachedcontent: names('cachedContent'),
    }),
  }),
  factsFromJson: factsFromSetup,
  session: {
    beginsWithMessage: true,
    createReader: ({ model }) => new LiveReader(model),
    naming: message,
    namingOptions: { foldUnderscores: true },
  },
})

/** Gemini Live's path, which is below the provider's origin; undefined for any other path. */
export function matchLive(pathAndQuery: string): RouteMatch | undefined {
  return livePath.test(pathAndQuery)
    ? { operation: live, upstreamPath: pathAndQuery, isAtOrigin: true }
    : undefined
}
