import type { MediaPart } from '../http/media-part.ts'
import type { BatchedWork, BatchFacts, BatchShare } from '../money/batch-facts.ts'
import type { CountedText } from '../http/json-text.ts'
import {
  addMeters,
  contextKinds,
  isUnread,
  objectName,
  type Meter,
  type Meters,
  type NamedObject,
} from '../money/usage.ts'
import type { RequestFacts } from './dialect.ts'
import { withUnseen } from './request-facts.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { JsonLines, type JsonLine } from '../http/json-lines.ts'
import type { Finding, Interest } from '../http/json-scan.ts'
import { inTextName } from './named-objects.ts'

/** Limits of one line: only a name, numbers and ids are kept of it. */
const lineOptions = { valueBytesMax: 65_536, findingsMax: 20_000, countsText: true, fileIdsAs: inTextName }

/**
 * Reads the input file of a batch while it is uploaded; each line is a request. Problems are not thrown, since
 * uploading such a file is not an error yet; they are recorded in the facts, and no batch can be created from the file.
 */
export abstract class BatchLinesReader {
  protected readonly tally: BatchTally
  readonly #lines: JsonLines
  #counted: CountedText = { tokens: { most: 0, likely: 0 }, measuredBytes: 0 }

  constructor(
    interest: Interest,
    options: { readonly requestsMax: number; readonly foldUnderscores?: true },
  ) {
    const { requestsMax, ...scanOptions } = options
    this.tally = new BatchTally(requestsMax)
    this.#lines = new JsonLines(interest, { ...lineOptions, ...scanOptions }, line => this.#take(line))
  }

  push(chunk: Buffer): void {
    // Nothing is read after the first failure: the first line of a file that is no batch already fails.
    if (!this.tally.hasFailed) this.#lines.push(chunk)
  }

  /** Called once, when the file is complete. */
  end(): BatchFacts {
    this.#lines.end()
    return this.tally.facts(this.#counted)
  }

  /**
   * Adds the request of one line to the tally.
   * @param at the place of the request: `line 3`
   * @throws GatewayError for a problem with the request
   */
  protected abstract addLine(findings: readonly Finding[], at: string): void

  #take({ error, findings, number, counted }: JsonLine): void {
    if (counted !== undefined) this.#counted = sumOf(this.#counted, counted)
    const at = `line ${number}`
    if (error !== undefined) {
      this.tally.fail(at, error.message.replace(/^The body/, 'It'))
      return
    }
    try {
      this.addLine(findings, at)
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown
      this.tally.fail(at, thrown.message)
    }
  }
}

function sumOf(left: CountedText, right: CountedText): CountedText {
  return {
    tokens: {
      most: left.tokens.most + right.tokens.most,
      likely: left.tokens.likely + right.tokens.likely,
    },
    measuredBytes: left.measuredBytes + right.measuredBytes,
  }
}

/** What the endpoint of a batched request determines. */
export interface BatchedTo {
  readonly endpoint: string
  readonly mainMeter?: Meter
  readonly isFree?: boolean
  readonly mayRunTools?: boolean
  readonly drawsWith?: string | undefined
  readonly units?: Meters
  readonly unitsVariant?: string | undefined
  readonly imagesGiven?: number
}

/** One request inside a batch, with the same facts as a request outside of one. */
export interface BatchRequest extends BatchedTo, Omit<RequestFacts, 'isStreaming' | keyof BatchedTo> {
  /** The place of the request: `line 3`, `requests[2]`. */
  readonly at: string
  readonly model: string
  readonly filesInText: readonly NamedObject[]
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

type GatheredShare = Omit<Mutable<BatchShare>, 'goesOnFrom' | 'drawsWith' | 'namedModels' | 'work'> & {
  /** By the work itself, as JSON. */
  readonly work: Map<string, Mutable<BatchedWork>>
  namedModels?: Record<string, { readonly at: string; readonly requests: number }>
  goesOnFrom?: Record<string, number>
  drawsWith?: Record<string, number>
}

const withContext: ReadonlySet<string> = new Set(contextKinds)

/** Real batches name fewer models and objects; they are kept in memory, so their number is limited. */
const sharesMax = 200
const objectsMax = 2000
const mediaBytesUnknown = 1_048_576

/** Adds up the requests of a batch as they are read. */
export class BatchTally {
  readonly #requestsMax: number
  readonly #shares = new Map<string, GatheredShare>()
  readonly #objects = new Map<string, NamedObject>()
  readonly #filesInText = new Map<string, NamedObject>()
  #requests = 0
  #mediaBytes = 0
  #problem: BatchFacts['problem']

  constructor(requestsMax: number) {
    this.#requestsMax = requestsMax
  }

  add(request: BatchRequest): void {
    this.#requests += 1
    if (this.#requests > this.#requestsMax) {
      this.fail(request.at, `A batch may have at most ${this.#requestsMax} requests, and this is one more.`)
      return
    }
    const share = this.#shareOf(request)
    if (share === undefined) return
    share.requests += 1
    share.textBytes += request.textBytes
    share.textBytesLongest = Math.max(share.textBytesLongest, request.textBytes)
    // If both caps are present the larger counts, since no document says which one takes precedence.
    const cap = Math.max(request.outputTokensCap ?? 0, request.completionTokensCap ?? 0)
    if (cap === 0) share.candidatesUncapped += request.candidates
    else {
      share.candidatesCapped += request.candidates
      share.outputTokensCapped += cap * request.candidates
    }
    if (request.units !== undefined) share.units = addMeters(request.units, share.units)
    for (const { name } of request.namedModels ?? []) this.#name(name, request.at, share)
    if (request.drawsWith !== undefined) this.#draw(request.drawsWith, request.at, share)
    if (request.searches !== undefined) share.searches = (share.searches ?? 0) + request.searches
    this.#addWork(request, share)
    const explained = (request.explainedTools ?? 0) + (request.tools?.length ?? 0)
    if (explained > 0) share.explainedTools = (share.explainedTools ?? 0) + explained
    if (request.isReadInParts === true) share.isReadInParts = true
    if (request.predictedBytes !== undefined)
      share.predictedBytes = (share.predictedBytes ?? 0) + request.predictedBytes
    for (const part of request.media) {
      share.media = withPart(share.media, part)
      this.#mediaBytes += part.bodyBytes
      if (part.kind === 'audio' && part.bytes === undefined)
        share.unknownAudio = (share.unknownAudio ?? 0) + 1
    }
    for (const object of request.objects) {
      this.#refer(object, request.at, this.#objects)
      const name = objectName(object)
      if (isUnread.has(object.kind)) share.unread = (share.unread ?? 0) + 1
      if (!withContext.has(object.kind)) continue
      share.goesOnFrom ??= {}
      share.goesOnFrom[name] = (share.goesOnFrom[name] ?? 0) + 1
    }
    for (const file of request.filesInText) this.#refer(file, request.at, this.#filesInText)
    if (request.filesInText.length > 0) share.namingFiles = (share.namingFiles ?? 0) + 1
  }

  /** No batch can be created from these requests, whatever else they contain. */
  get hasFailed(): boolean {
    return this.#problem !== undefined
  }

  /** Only the first problem is reported. */
  fail(at: string, message: string): void {
    this.#problem ??= { at, message }
  }

  /** @param counted the counted tokens of all text; with several models it is unknown which has the denser text */
  facts(counted?: CountedText): BatchFacts {
    const gathered = [...this.#shares.values()]
    const [only] = gathered
    if (only !== undefined && gathered.length === 1 && counted !== undefined)
      only.textTokens = withUnseen(counted, this.#mediaBytes)
    return {
      requests: this.#requests,
      shares: gathered.map(share => ({ ...share, work: [...share.work.values()] })),
      objects: [...this.#objects.values()],
      ...(this.#filesInText.size > 0 && { filesInText: [...this.#filesInText.values()] }),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    }
  }

  #shareOf(request: BatchRequest): GatheredShare | undefined {
    const { at, model, endpoint, mainMeter, isFree, mayRunTools, cacheWrite, wantedTier } = request
    const { unitsVariant, imagesGiven } = request
    const isCompletionCapped = request.completionTokensCap !== undefined
    const making = [unitsVariant, imagesGiven]
    const key = JSON.stringify([endpoint, model, making, cacheWrite, wantedTier, isCompletionCapped])
    let share = this.#shares.get(key)
    if (share !== undefined) return share
    if (this.#shares.size === sharesMax) {
      this.fail(at, `A batch may name at most ${sharesMax} models.`)
      return undefined
    }
    share = {
      model,
      endpoint,
      ...(mainMeter !== undefined && { mainMeter }),
      ...(isFree === true && { isFree }),
      ...(mayRunTools === true && { mayRunTools }),
      ...(cacheWrite !== undefined && { cacheWrite }),
      ...(unitsVariant !== undefined && { unitsVariant }),
      ...(imagesGiven !== undefined && { imagesGiven }),
      ...(wantedTier !== undefined && { wantedTier }),
      ...(isCompletionCapped && { isCompletionCapped }),
      firstAt: at,
      requests: 0,
      textBytes: 0,
      textBytesLongest: 0,
      outputTokensCapped: 0,
      candidatesCapped: 0,
      candidatesUncapped: 0,
      media: {},
      work: new Map(),
    }
    this.#shares.set(key, share)
    return share
  }

  #name(model: string, at: string, share: GatheredShare): void {
    const named = new Map(Object.entries(share.namedModels ?? {}))
    const known = named.get(model)
    named.set(model, { at: known?.at ?? at, requests: (known?.requests ?? 0) + 1 })
    if (named.size > sharesMax) this.fail(at, `A batch may name at most ${sharesMax} models.`)
    else share.namedModels = Object.fromEntries(named)
  }

  #draw(model: string, at: string, share: GatheredShare): void {
    const drawsWith = new Map(Object.entries(share.drawsWith ?? {}))
    drawsWith.set(model, (drawsWith.get(model) ?? 0) + 1)
    if (drawsWith.size > sharesMax) this.fail(at, `A batch may name at most ${sharesMax} models.`)
    else share.drawsWith = Object.fromEntries(drawsWith)
  }

  /** Tools are counted by the set that a request has, since each tool reads again what the others returned. */
  #addWork(request: BatchRequest, { work }: GatheredShare): void {
    const { at, tools = [], candidates } = request
    const isCompacted = request.isCompacted === true
    const name = JSON.stringify([tools, candidates, isCompacted])
    const known = work.get(name)
    if (known !== undefined) known.requests += 1
    else if (work.size === sharesMax)
      this.fail(at, `A batch may have at most ${sharesMax} different sets of tools.`)
    else work.set(name, { tools, candidates, isCompacted, requests: 1 })
  }

  #refer(object: NamedObject, at: string, known: Map<string, NamedObject>): void {
    const name = objectName(object)
    if (known.has(name)) return
    if (known.size === objectsMax)
      this.fail(at, `A batch may refer to at most ${objectsMax} files and other objects.`)
    else known.set(name, { ...object, at })
  }
}

function withPart(media: BatchShare['media'], part: MediaPart): BatchShare['media'] {
  const sum = media[part.kind] ?? { count: 0, bytes: 0 }
  return {
    ...media,
    [part.kind]: { count: sum.count + 1, bytes: sum.bytes + (part.bytes ?? mediaBytesUnknown) },
  }
}
