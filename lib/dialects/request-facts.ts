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

/** The names under which a request's interest reports what `factsFrom` reads. */
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

/** The members for the model, and for the models that a provider such as OpenRouter may use instead. */
export const modelMembers = {
  model: value(factNames.model),
  models: list(value('otherModel'), span('models')),
}

/** The members in which Google's requests repeat the model of their path. */
export const sameModel = { model: value('sameModel') }

/** The members for a service tier. Google's names are folded. */
export const tierMembers = {
  service_tier: value(factNames.tier),
  speed: value(factNames.speed),
  inference_geo: value(factNames.place),
}
export const googleTier = { servicetier: value(factNames.tier) }

const edit = searched({ type: value(factNames.compaction) })

/** The members for other demands on the provider. */
export const demandMembers = {
  ...reasoningMembers,
  max_tool_calls: value(factNames.toolUses),
  max_turns: value(factNames.toolUses),
  prediction: span(factNames.prediction),
  modalities,
  context_management: anyOf(list(edit), searched({ edits: list(edit) })),
}

/** The members in which a part of a request asks for Anthropic's cache, in any format. */
export const cacheMembers = {
  cache_control: object({ ttl: value(factNames.cacheTerm) }, span(factNames.cacheWrite)),
}

/** The common members of requests for text. */
export const textMembers = {
  ...modelMembers,
  ...tierMembers,
  ...searchMembers,
  ...demandMembers,
  ...cacheMembers,
}

/** Facts that an operation adds, or reads in another way. */
export interface OwnFacts {
  readonly usageSplice?: RequestFacts['usageSplice']
  readonly units?: RequestFacts['units']
  readonly unitsVariant?: string | undefined
  readonly isStreaming?: boolean
}

/**
 * The facts of a JSON request, from the findings of its interest, plus those that only its operation knows.
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

/** Reads each part of a request that has findings, once. Most requests use few of the possible members. */
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

/** The tier that a request of a batch asks for beside the batch tier. */
export function wantedBatchTier(scan: ScanResult): string | undefined {
  return joinTiers(scan, 'standard')
}

/** A speed replaces any tier; the place of processing is charged in addition to either. */
function joinTiers(scan: ScanResult, tier: string): string | undefined {
  const speed = tierNamed(scan, factNames.speed)
  const place = tierNamed(scan, factNames.place).toLowerCase()
  const names = [speed === 'standard' ? tier : speed, place === 'us' ? place : 'standard']
  const wanted = names.filter(name => name !== 'standard')
  return wanted.length === 0 ? undefined : wanted.join('+')
}

/**
 * Google's servers accept a number for a name of an enumeration, so anything but text is refused rather than ignored.
 */
function tierNamed(scan: ScanResult, name: string): string {
  return readString(scan, name) ?? 'standard'
}

/** The places where a body repeats the model of its path. */
export function modelsNamedAgain({ findings }: ScanResult): readonly NamedModel[] {
  return findings
    .filter(({ name, type }) => name === 'sameModel' && type !== 'null')
    .map(finding => ({ name: textOf(finding), at: finding.path }))
}

/** Anything but an explicit five minutes counts as the longer term. */
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
 * A limit of zero is meaningless, and some servers read it as no limit, so it is ignored, as is a limit in an unknown
 * spelling.
 */
function limitIn(scan: ScanResult, name: string): number | undefined {
  const limit = readCount(scan, name) ?? 0
  const found = findField(scan, name)
  return limit === 0 || found === undefined || !isSpelled(found) ? undefined : limit
}

/** The demands of a request that may add to its cost. */
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

/** An edit that only clears old parts reads nothing. */
function isCompacted({ findings }: ScanResult): boolean {
  return findings.some(
    ({ name, raw }) =>
      name === factNames.compaction && raw?.toString('latin1').startsWith('"clear_') === false,
  )
}

/** Base64 that turns out not to be media is text whose tokens were not counted. */
function textTokensIn(
  { counted }: ScanResult,
  media: readonly MediaPart[],
): Pick<RequestFacts, 'textTokens'> {
  if (counted === undefined) return {}
  const mediaBytes = media.reduce((sum, part) => sum + part.bodyBytes, 0)
  return { textTokens: withUnseen(counted, mediaBytes) }
}

/** Measured bytes beyond the given bytes of media count as at most one token a byte. */
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

/** A fact that is omitted where the request does not state it. */
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

/** By the names of the findings that may raise the cost of a request. */
const demandReaders = readersByName([
  [toolFindings, toolsIn],
  [[factNames.toolUses], optional('toolUsesMax', toolUsesMaxIn)],
  [reasoningFindings, optional('reasoning', reasoningIn)],
  [[factNames.prediction], optional('predictedBytes', predictedBytesIn)],
  [[factNames.compaction], optional('isCompacted', scan => isCompacted(scan) || undefined)],
  [[askedMedia.frames], optional('framesPerSecond', framesIn)],
  [[askedMedia.modality], optional('writesImages', writesImages)],
])

/** By the names of their findings: a fact without findings is not read. */
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
