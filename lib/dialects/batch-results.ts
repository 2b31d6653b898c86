import { JsonLines, type JsonLine } from '../http/json-lines.ts'
import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import { bytesPerToken } from '../http/text-density.ts'
import {
  addMeters,
  type JobSighting,
  type NamedObject,
  type UsageReading,
  type UsageLine,
} from '../money/usage.ts'
import type { UsageReader, UsageReaderContext } from './dialect.ts'
import {
  UsageFields,
  addDetail,
  isWritten,
  isZero,
  namesInput,
  nothingRead,
  type ResponseMeasure,
} from './measure.ts'
import { promptTokens } from '../money/price-line.ts'

/**
 * Prompt lengths at which providers' prices change, and some in between. Requests are summed within these bounds, so
 * that each sum has one price level.
 */
const bounds = [32_000, 64_000, 128_000, 200_000, 256_000, 272_000, 400_000, 512_000, 1_000_000]

/** The output that a result shows, independent of the usage that it reports. */
export interface ShownResult {
  readonly model: string | undefined
  readonly hasOutput: boolean
  readonly textBytes: number
  /** Tokens of the images in the output. */
  readonly imageTokens?: number
}

type Sums = Map<string, UsageLine & { readonly sumOf: number }>

function addTo(sums: Sums, line: UsageLine): void {
  const length = promptTokens(line.meters)
  const band = bounds.findIndex(bound => length <= bound)
  const key = JSON.stringify([line.model, line.tier, line.variant, band])
  const sum = sums.get(key)
  sums.set(key, { ...line, meters: addMeters(line.meters, sum?.meters), sumOf: (sum?.sumOf ?? 0) + 1 })
}

/** The usage of a batch's requests, summed by model, tier and prompt length: a few lines for thousands of requests. */
export class BatchSum {
  readonly details: Record<string, number> = {}
  readonly #lines: Sums = new Map()
  readonly #searches = new Map<string | undefined, number>()
  /** Requests with no reported input, and output that results show without reporting usage. */
  readonly #unread: Sums = new Map()
  readonly #unwritten: Sums = new Map()

  /** Adds what one request used of one model. */
  add({ meters, ...line }: UsageLine, details: Readonly<Record<string, number>>): void {
    const { searches, ...tokens } = meters
    if (searches !== undefined) this.addSearches(line.model, searches)
    addTo(this.#lines, { ...line, meters: tokens })
    for (const [name, units] of Object.entries(details)) addDetail(this.details, name, units)
  }

  /** Adds the usage that a result reports, and the output that it shows beyond that. */
  addResult({ lines, details }: ResponseMeasure, shown: ShownResult, flags: Set<string>): void {
    const { model, hasOutput, textBytes, imageTokens = 0 } = shown
    const ofModel = model === undefined ? {} : { model }
    const told = hasOutput && isZero(lines) ? [] : lines
    if (told.length === 0) flags.add('usage_missing')
    for (const [index, line] of told.entries()) this.add({ ...ofModel, ...line }, index === 0 ? details : {})
    if (!hasOutput) return
    const uncounted = { ...ofModel, tier: 'batch' }
    if (!told.some(namesInput)) addTo(this.#unread, { ...uncounted, meters: {} })
    if (isWritten(told) || textBytes + imageTokens === 0) return
    const output = Math.ceil(textBytes / bytesPerToken)
    addTo(this.#unwritten, {
      ...uncounted,
      meters: { output, ...(imageTokens > 0 && { imageOutput: imageTokens }) },
    })
  }

  /** Searches are not part of a prompt, and batches discount tokens only, so searches are summed separately. */
  addSearches(model: string | undefined, searches: number): void {
    if (searches > 0) this.#searches.set(model, (this.#searches.get(model) ?? 0) + searches)
  }

  lines(): readonly UsageLine[] {
    const searches = [...this.#searches].map(([model, count]): UsageLine => ({
      ...(model !== undefined && { model }),
      meters: { searches: count },
    }))
    return [...this.#lines.values(), ...searches]
  }

  /** The part without reported usage: a line without units means requests that have read something. */
  uncounted(): readonly UsageLine[] {
    return [...this.#unread.values(), ...this.#unwritten.values()]
  }
}

/** Values are texts, and no model writes more than this. */
const lineOptions = { valueBytesMax: 8 * 1_048_576, findingsMax: 20_000, rejectDuplicates: false }

/** A reading of a batch: the sums of what its requests consumed. */
export function batchReading(
  sum: BatchSum,
  flags: ReadonlySet<string>,
  rest: { readonly isTerminal: boolean; readonly job?: JobSighting },
): UsageReading {
  const lines = sum.lines()
  const uncounted = sum.uncounted()
  return {
    ...nothingRead,
    ...rest,
    lines,
    ...(uncounted.length > 0 && { beside: uncounted }),
    ...(Object.keys(sum.details).length > 0 && { details: sum.details }),
    hasOutput: lines.length > 0,
    flags: [...flags],
  }
}

/** The parsed value of the last finding with a name; undefined if there is none. */
export function lastValue(findings: readonly Finding[], name: string): unknown {
  const raw = findings.findLast(finding => finding.name === name)?.raw
  return raw === undefined ? undefined : JSON.parse(raw.toString('utf8'))
}

/** The model that a result names. */
export function modelIn(findings: readonly Finding[]): string | undefined {
  const model = lastValue(findings, 'model')
  return typeof model === 'string' ? model : undefined
}

/** The output that a result shows, in its texts and tool arguments. */
export function shownIn(findings: readonly Finding[]): Pick<ShownResult, 'hasOutput' | 'textBytes'> {
  const shown = { hasOutput: false, textBytes: 0 }
  for (const { name, type, raw } of findings) {
    if (name !== 'text' || (type !== 'string' && type !== 'object')) continue
    if (raw !== undefined) shown.textBytes += textBytesOf(JSON.parse(raw.toString('utf8')))
    // The last value of a truncated file has no end.
    shown.hasOutput ||= shown.textBytes > 0 || raw === undefined
  }
  return shown
}

/** The UTF-8 bytes of a text, or of the arguments of a tool call. */
export function textBytesOf(written: unknown): number {
  return Buffer.byteLength(typeof written === 'string' ? written : JSON.stringify(written))
}

/** The numbers of the last usage object with a name; undefined if there is none. */
export function lastUsage(
  findings: readonly Finding[],
  name: string,
  flags: Set<string>,
): UsageFields | undefined {
  const value = lastValue(findings, name)
  return typeof value === 'object' && value !== null ? new UsageFields(value, flags) : undefined
}

/**
 * Reads the results of a batch: JSON lines, one per request, of any number and length. It keeps only the sums of the
 * usage.
 */
export abstract class BatchResultsReader implements UsageReader {
  readonly isTerminal = false
  protected readonly context: UsageReaderContext
  protected readonly sum = new BatchSum()
  protected readonly flags = new Set<string>()
  readonly #lines: JsonLines

  constructor(context: UsageReaderContext, interest: Interest) {
    this.context = context
    this.#lines = new JsonLines(interest, lineOptions, line => this.#take(line))
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  takeObjects(): readonly NamedObject[] {
    return []
  }

  end(): UsageReading {
    this.#lines.end()
    const { object } = this.context
    // No line marks the end of the results.
    const reading = batchReading(this.sum, this.flags, { isTerminal: false })
    if (object?.kind !== 'batch') return reading
    // Only batches that have ended have results; a batch without any usage is not billed.
    const state = reading.lines.length === 0 && reading.flags.length === 0 ? 'failed' : 'done'
    return { ...reading, job: { kind: object.kind, id: object.id, state } }
  }

  /** Adds the result of one request to the sum. */
  protected abstract takeResult(scan: ScanResult): void

  #take({ error, findings }: JsonLine): void {
    // What a line says before the place where it becomes unreadable still counts.
    if (error !== undefined) this.flags.add('answer_unreadable')
    this.takeResult({ findings })
  }
}
