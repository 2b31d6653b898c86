import type { Finding, ScanResult } from '../http/json-scan.ts'
import type { CountedText } from '../http/json-text.ts'
import type { TextTokens } from '../http/text-density.ts'
import type { MediaPart } from '../http/media-part.ts'
import type { BodyLength, NamedModel, RequestFacts } from './dialect.ts'
import { askedMedia, framesIn, modalities, writesImages, readMedia } from './read-media.ts'
import { anyOf, list, object, span, value } from './interest.ts'
import { filesInText, inTextName, namesObject, objectsIn } from './named-objects.ts'
import { namedModel, namedModelsIn, searched } from './naming-members.ts'
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
import { reasoningFindings, reasoningIn, reasoningMembers } from './asked-reasoning.ts'
import { searchMembers, toolFindings, toolsIn } from './search-tools.ts'

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
  modalities,
  context_management: anyOf(list(edit), searched({ edits: list(edit) })),
}

/** Where a part of a request asks to be kept in Anthropic's cache, by whichever format it goes there. */
export const cacheMembers = {
  cache_control: object({ ttl: value(factNames.cacheTerm) }, span(factNames.cacheWrite)),
}

/** What requests for text have in common. */
export const textMembers = {
  ...modelMembers,
  ...tierMembers,
  ...searchMembers,
  ...demandMembers,
  ...cacheMembers,
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
  const said = saidIn(scan, readerOf)
  const { media = scan.media ?? [] } = said
  return {
    ...(model !== undefined && { model: textOf(model), modelSpan: { start: model.start, end: model.end } }),
    isStreaming: own.isStreaming ?? readBoolean(scan, factNames.stream) ?? false,
    candidates: 1,
    objects: [],
    ...said,
    ...(own.usageSplice !== undefined && { usageSplice: own.usageSplice }),
    textBytes: textBytesOf(body, media),
    ...textTokensIn(scan, media),
    media,
    ...(own.units !== undefined && { units: own.units }),
    ...(own.unitsVariant !== undefined && { unitsVariant: own.unitsVariant }),
  }
}

/** Reads each part of a request of which something was found, once. Most requests say little of what they may. */
function saidIn(scan: ScanResult, readerFor: (finding: Finding) => FactReader | undefined): SaidFacts {
  const readers = new Set<FactReader>()
  for (const finding of scan.findings) {
    const read = readerFor(finding)
    if (read !== undefined) readers.add(read)
  }
  const said: SaidFacts = {}
  for (const read of readers) Object.assign(said, read(scan))
  return said
}

function readerOf({ name, base64 }: Finding): FactReader | undefined {
  return namesObject(name) || base64 !== undefined ? objectsAndMedia : factReaders.get(name)
}

/** What a request of a batch asks for beside the tier that batches have. */
export function wantedBatchTier(scan: ScanResult): string | undefined {
  return joinTiers(scan, 'standard')
}

/** Speed is charged before any tier, and where it is made beside both. */
function joinTiers(scan: ScanResult, tier: string): string | undefined {
  const speed = tierNamed(scan, factNames.speed)
  const place = tierNamed(scan, factNames.place).toLowerCase()
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

/** What else a request may come to cost, beside what it says and shows. */
export function demandIn(scan: ScanResult): SaidFacts {
  return saidIn(scan, ({ name }) => demandReaders.get(name))
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

function predictedBytesIn(scan: ScanResult): number | undefined {
  const predicted = findField(scan, factNames.prediction)
  return predicted && predicted.end - predicted.start
}

type SaidFacts = { -readonly [Fact in keyof RequestFacts]?: RequestFacts[Fact] }
type FactReader = (scan: ScanResult) => SaidFacts

/** A fact that is left out where the request says nothing by it. */
function optional<Fact extends keyof RequestFacts>(
  fact: Fact,
  read: (scan: ScanResult) => RequestFacts[Fact] | undefined,
): FactReader {
  return scan => {
    const said = read(scan)
    return said === undefined ? {} : { [fact]: said }
  }
}

function unlessEmpty<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list
}

function readersByName(
  rows: readonly (readonly [names: readonly string[], read: FactReader])[],
): ReadonlyMap<string, FactReader> {
  return new Map(rows.flatMap(([names, read]) => names.map(name => [name, read] as const)))
}

/** By the names of the findings that say how much a request may come to cost. */
const demandReaders = readersByName([
  [toolFindings, toolsIn],
  [[factNames.toolUses], optional('toolUsesMax', toolUsesMaxIn)],
  [reasoningFindings, optional('reasoning', reasoningIn)],
  [[factNames.prediction], optional('predictedBytes', predictedBytesIn)],
  [[factNames.compaction], optional('isCompacted', scan => isCompacted(scan) || undefined)],
  [[askedMedia.frames], optional('framesPerSecond', framesIn)],
  [[askedMedia.modality], optional('writesImages', writesImages)],
])

/** By the names of the findings that say it: what is not found is not read. */
const factReaders: ReadonlyMap<string, FactReader> = new Map([
  ...demandReaders,
  ...readersByName([
    [['models', 'otherModel'], optional('otherModels', scan => unlessEmpty(otherModelsIn(scan)))],
    [[inTextName], optional('filesInText', filesInText)],
    [[namedModel], optional('namedModels', scan => unlessEmpty(namedModelsIn(scan)))],
    [['sameModel'], optional('sameModels', scan => unlessEmpty(modelsNamedAgain(scan)))],
    [[factNames.cap], optional('outputTokensCap', scan => limitIn(scan, factNames.cap))],
    [[factNames.otherCap], optional('completionTokensCap', scan => limitIn(scan, factNames.otherCap))],
    [
      [factNames.candidates],
      scan => ({ candidates: Math.max(1, readCount(scan, factNames.candidates) ?? 1) }),
    ],
    [
      [factNames.tier, factNames.speed, factNames.place],
      optional('wantedTier', scan => joinTiers(scan, tierNamed(scan, factNames.tier))),
    ],
    [[factNames.cacheWrite], optional('cacheWrite', cacheWriteIn)],
  ]),
])

const objectsAndMedia: FactReader = scan => ({ objects: objectsIn(scan), media: readMedia(scan) })
