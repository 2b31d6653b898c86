import type { ScanResult } from '../http/json-scan.ts'
import type { CountedText } from '../http/json-text-count.ts'
import type { TextTokens } from '../http/text-density.ts'
import type { MediaPart } from '../http/media-part.ts'
import type { BodyLength, NamedModel, RequestFacts } from './dialect.ts'
import { anyOf, list, object, span, value } from './interest.ts'
import { objectsIn } from './named-objects.ts'
import { namedModelsIn, searched } from './naming-members.ts'
import {
  findField,
  isSpelled,
  memberOf,
  readBoolean,
  readCount,
  readString,
  requireSpellings,
  textOf,
  wrongType,
} from './read-field.ts'
import { readMedia } from './read-media.ts'
import { reasoningIn, reasoningMembers } from './asked-reasoning.ts'
import { explainedTools, providerToolsIn, searchesOf } from './search-tools.ts'

/** The names under which a request's interest reports what `factsFrom` understands. */
const factNames = {
  model: 'model',
  stream: 'stream',
  cap: 'cap',
  otherCap: 'otherCap',
  candidates: 'candidates',
  tier: 'wantedTier',
  speed: 'wantedSpeed',
  place: 'wantedPlace',
  cacheWrite: 'cacheWrite',
  cacheTerm: 'cacheWriteTerm',
  toolUses: 'toolUsesMax',
  prediction: 'prediction',
  compaction: 'compaction',
  frames: 'framesPerSecond',
} as const

/** Where a request names its model, and the models that a provider such as OpenRouter may take in its place. */
export const modelMembers = {
  model: value(factNames.model),
  models: list(value('otherModel'), span('models')),
}

/** Where Google's requests name again the model that their path names. */
export const sameModel = { model: value('sameModel') }

/** Where a request asks for a tier of service. Google's names are folded. */
export const tierMembers = {
  service_tier: value(factNames.tier),
  speed: value(factNames.speed),
  inference_geo: value(factNames.place),
}
export const googleTier = { servicetier: value(factNames.tier) }

const edit = searched({ type: value(factNames.compaction) })

/** Where a request says what else the provider is to do for it. */
export const demandMembers = {
  ...reasoningMembers,
  max_tool_calls: value(factNames.toolUses),
  max_turns: value(factNames.toolUses),
  prediction: span(factNames.prediction),
  context_management: anyOf(list(edit), searched({ edits: list(edit) })),
}

/** How many frames of a video Google looks at. */
export const videoMembers = { videometadata: object({ fps: value(factNames.frames) }) }

/** Where a part of a request asks to be kept in Anthropic's cache, by whichever format it goes there. */
export const cacheMembers = {
  cache_control: object({ ttl: value(factNames.cacheTerm) }, span(factNames.cacheWrite)),
}

/** What an operation reads beside what all requests have, or in another way. */
export interface OwnFacts {
  readonly usageSplice?: RequestFacts['usageSplice']
  readonly units?: RequestFacts['units']
  readonly unitsVariant?: string | undefined
  readonly isStreaming?: boolean
}

/**
 * What a JSON request says, from the findings of its interest, plus what only its operation knows.
 * @throws GatewayError body_invalid, with the path of the field that has the wrong type
 */
export function factsFrom(scan: ScanResult, body: BodyLength, own: OwnFacts = {}): RequestFacts {
  const model = findField(scan, factNames.model)
  requireSpellings(scan)
  const otherModels = otherModelsIn(scan)
  const cap = limitIn(scan, factNames.cap)
  const otherCap = limitIn(scan, factNames.otherCap)
  const media = readMedia(scan)
  const wantedTier = wantedTierIn(scan)
  const cacheWrite = cacheWriteIn(scan)
  const namedModels = namedModelsIn(scan)
  const sameModels = modelsNamedAgain(scan)
  return {
    ...(model !== undefined && {
      model: textOf(model),
      modelSpan: { start: model.start, end: model.end },
    }),
    ...(otherModels.length > 0 && { otherModels }),
    isStreaming: own.isStreaming ?? readBoolean(scan, factNames.stream) ?? false,
    ...(cap !== undefined && { outputTokensCap: cap }),
    ...(otherCap !== undefined && { completionTokensCap: otherCap }),
    ...(wantedTier !== undefined && { wantedTier }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(namedModels.length > 0 && { namedModels }),
    ...(sameModels.length > 0 && { sameModels }),
    ...demandIn(scan),
    candidates: Math.max(1, readCount(scan, factNames.candidates) ?? 1),
    ...(own.usageSplice !== undefined && { usageSplice: own.usageSplice }),
    textBytes: textBytesOf(body, media),
    ...textTokensIn(scan, media),
    media,
    objects: objectsIn(scan),
    ...(own.units !== undefined && { units: own.units }),
    ...(own.unitsVariant !== undefined && { unitsVariant: own.unitsVariant }),
  }
}

/** Speed is charged before any tier, and where it is made beside both. */
function wantedTierIn(scan: ScanResult): string | undefined {
  return joinTiers(scan, tierNamed(scan, factNames.tier))
}

/** What a request of a batch asks for beside the tier that batches have. */
export function wantedBatchTier(scan: ScanResult): string | undefined {
  return joinTiers(scan, 'standard')
}

function joinTiers(scan: ScanResult, tier: string): string | undefined {
  const speed = tierNamed(scan, factNames.speed)
  const place = tierNamed(scan, factNames.place)
  const names = [speed === 'standard' ? tier : speed, place === 'us' ? place : 'standard']
  const wanted = names.filter(name => name !== 'standard')
  return wanted.length === 0 ? undefined : wanted.join('+')
}

/** Google's servers take a number for a name of an enumeration, so what is no text is refused rather than passed over. */
function tierNamed(scan: ScanResult, name: string): string {
  return readString(scan, name) ?? 'standard'
}

/** Where a body names the model again that its path names. */
export function modelsNamedAgain({ findings }: ScanResult): readonly NamedModel[] {
  return findings
    .filter(({ name, type }) => name === 'sameModel' && type !== 'null')
    .map(finding => ({ name: textOf(finding), at: finding.path }))
}

/** What is not said to be kept for five minutes is taken to be kept for longer. */
export function cacheWriteIn({ findings }: ScanResult): RequestFacts['cacheWrite'] {
  if (!findings.some(({ name, type }) => name === factNames.cacheWrite && type === 'object')) return undefined
  const terms = findings.filter(({ name, type }) => name === factNames.cacheTerm && type !== 'null')
  return terms.some(term => term.type !== 'string' || textOf(term) !== '5m') ? '1h' : '5m'
}

/** The body less its inline media. */
export function textBytesOf(body: BodyLength, media: readonly MediaPart[]): number {
  let bytes = body.length
  for (const part of media) bytes -= part.bodyBytes
  return Math.max(0, bytes)
}

/**
 * A limit of zero is nonsense that some servers read as no limit, so it says nothing, as one does that is spelled in a way
 * of its own.
 */
function limitIn(scan: ScanResult, name: string): number | undefined {
  const limit = readCount(scan, name) ?? 0
  const found = findField(scan, name)
  return limit === 0 || found === undefined || !isSpelled(found) ? undefined : limit
}

type Demand = Pick<
  RequestFacts,
  | 'tools'
  | 'explainedTools'
  | 'toolUsesMax'
  | 'searches'
  | 'reasoning'
  | 'predictedBytes'
  | 'isCompacted'
  | 'framesPerSecond'
>

/** What else a request may come to cost, beside what it says and shows. */
export function demandIn(scan: ScanResult): Demand {
  const tools = providerToolsIn(scan)
  const searches = searchesOf(tools)
  const explained = explainedTools(scan)
  const toolUsesMax = toolUsesMaxIn(scan)
  const reasoning = reasoningIn(scan)
  const predicted = findField(scan, factNames.prediction)
  const frames = framesIn(scan)
  return {
    ...(tools.length > 0 && { tools }),
    ...(explained > 0 && { explainedTools: explained }),
    ...(toolUsesMax !== undefined && { toolUsesMax }),
    ...(searches > 0 && { searches }),
    ...(reasoning !== undefined && { reasoning }),
    ...(predicted !== undefined && { predictedBytes: predicted.end - predicted.start }),
    ...(isCompacted(scan) && { isCompacted: true }),
    ...(frames > 1 && { framesPerSecond: frames }),
  }
}

function toolUsesMaxIn(scan: ScanResult): RequestFacts['toolUsesMax'] {
  const uses = readCount(scan, factNames.toolUses)
  const found = findField(scan, factNames.toolUses)
  return uses === undefined || found === undefined || !isSpelled(found)
    ? undefined
    : { member: memberOf(found), uses }
}

/** What only clears old parts away reads nothing. */
function isCompacted({ findings }: ScanResult): boolean {
  return findings.some(
    ({ name, raw }) =>
      name === factNames.compaction && raw?.toString('latin1').startsWith('"clear_') === false,
  )
}

function framesIn({ findings }: ScanResult): number {
  let frames = 1
  for (const { name, type, raw } of findings) {
    if (name === factNames.frames && type === 'number') frames = Math.max(frames, Number(String(raw)))
  }
  return frames
}

/** What was measured as base64 and is no media is text that nobody looked at. */
function textTokensIn(
  { counted }: ScanResult,
  media: readonly MediaPart[],
): Pick<RequestFacts, 'textTokens'> {
  if (counted === undefined) return {}
  const mediaBytes = media.reduce((sum, part) => sum + part.bodyBytes, 0)
  return { textTokens: withUnseen(counted, mediaBytes) }
}

/** What was measured and is none of so many bytes of media counts a token a byte at most. */
export function withUnseen({ tokens, measuredBytes }: CountedText, mediaBytes: number): TextTokens {
  const unseen = Math.max(0, measuredBytes - mediaBytes)
  return { most: tokens.most + unseen, likely: tokens.likely + Math.ceil(unseen / 4) }
}

function otherModelsIn(scan: ScanResult): readonly string[] {
  const models = findField(scan, 'models')
  if (models !== undefined && models.type !== 'array') throw wrongType(models, 'an array')
  return scan.findings.filter(({ name }) => name === 'otherModel').map(textOf)
}
