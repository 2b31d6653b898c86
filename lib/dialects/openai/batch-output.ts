import type { Finding, ScanResult } from '../../http/json-scan.ts'
import { BatchResultsReader, lastUsage, lastValue } from '../batch-results.ts'
import type { UsageReaderContext } from '../dialect.ts'
import type { UsageLine } from '../../money/usage.ts'
import { list, object, span, value } from '../interest.ts'
import { addUsed, type Measure, type UsageFields } from '../measure.ts'
import { drawnLine, drawnUncounted, imageMeters, imageVariant } from './drawing-tool.ts'
import { measureTokens } from './openai-reader.ts'

/** A line of an output file: `{custom_id, response: {status_code, body}, error}`. */
const line = object({
  response: object({
    status_code: value('status'),
    body: object({
      model: value('model'),
      usage: value('usage'),
      tool_usage: value('usageTools'),
      tools: list(object({ model: value('toolModel') })),
      output: list(object({ type: value('outputType'), quality: value('quality') })),
      size: value('size'),
      quality: value('quality'),
      data: list(span('image')),
    }),
  }),
})

/** Reads the output file of a batch. Requests that failed stand there too, and are not billed. */
export class BatchOutputReader extends BatchResultsReader {
  constructor(context: UsageReaderContext) {
    super(context, line)
  }

  protected override takeResult({ findings }: ScanResult): void {
    const status = lastValue(findings, 'status')
    if (typeof status !== 'number' || status < 200 || status > 299) return
    const usage = lastUsage(findings, 'usage', this.flags)
    const tokens = usage && measureTokens(usage, this.context.providerKind)
    const isOfImages = this.context.facts.batch?.endpoint === '/v1/images/generations'
    const measure = isOfImages ? images(findings, tokens, usage) : tokens
    if (measure === undefined) {
      this.flags.add('usage_missing')
      return
    }
    const tools = lastUsage(findings, 'usageTools', this.flags)
    addUsed(measure.meters, 'searches', tools?.within('web_search').count('num_requests'))
    const drawn = this.#drawn(findings, tools)
    if (drawn !== undefined) this.sum.add({ ...drawn, tier: 'batch' }, {})
    const model = lastValue(findings, 'model')
    this.sum.add(
      {
        ...(typeof model === 'string' && { model }),
        meters: measure.meters,
        tier: 'batch',
        ...(measure.variant !== undefined && { variant: measure.variant }),
      },
      measure.details,
    )
  }

  /** Images that a tool has drawn: by their tokens, or where nobody has told those by their number. */
  #drawn(findings: readonly Finding[], tools: UsageFields | undefined): UsageLine | undefined {
    const named = lastValue(findings, 'toolModel')
    const drawsWith = typeof named === 'string' ? named : undefined
    const told = tools && drawnLine(tools, drawsWith)
    const images = told === undefined ? findings.filter(isDrawn).length : 0
    if (images === 0) return told
    const quality = lastValue(findings, 'quality')
    this.flags.add('drawing_uncounted')
    return drawnUncounted(images, typeof quality === 'string' ? quality : undefined, drawsWith)
  }
}

/** Whether an item of a response is an image that a tool has drawn. */
function isDrawn({ name, raw }: Finding): boolean {
  return name === 'outputType' && raw?.toString('latin1') === '"image_generation_call"'
}

/** As of a single request: the tokens of images where they were counted, and else the images. */
function images(
  findings: readonly Finding[],
  tokens: Measure | undefined,
  usage: UsageFields | undefined,
): Measure | undefined {
  if (tokens !== undefined) return { ...tokens, meters: imageMeters(tokens.meters, usage) }
  const images = findings.filter(({ name }) => name === 'image').length
  const variant = imageVariant(lastValue(findings, 'size'), lastValue(findings, 'quality'))
  return images === 0
    ? undefined
    : { meters: { images }, details: {}, ...(variant !== undefined && { variant }) }
}
