import { GatewayError } from '../../pipeline/errors.ts'
import { namedModel } from '../naming-members.ts'
import { textOf } from '../read-field.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import { measureTokens } from './openai-reader.ts'
import type { UsageFields } from '../measure.ts'
import type { UsageLine, Meters } from '../../money/usage.ts'

/** What the tool `image_generation` draws with unless it is told otherwise. */
const drawsWithUnlessSaid = 'gpt-image-1'

/**
 * The model that a request's tools draw with; undefined where they draw nothing.
 * @throws GatewayError body_invalid for two, of which no response tells which one has drawn
 */
export function drawingModel(scan: ScanResult): string | undefined {
  let model: string | undefined
  const named = new Map<string, string>()
  for (const finding of scan.findings) {
    if (finding.name === namedModel && finding.type === 'string') named.set(finding.path, textOf(finding))
  }
  for (const { name, type, path, raw } of scan.findings) {
    if (name !== 'toolType' || type !== 'string' || JSON.parse(String(raw)) !== 'image_generation') continue
    const drawsWith = named.get(`${path.slice(0, path.lastIndexOf('.'))}.model`) ?? drawsWithUnlessSaid
    if (model !== undefined && model !== drawsWith) throw severalModels(model, drawsWith)
    model = drawsWith
  }
  return model
}

function severalModels(one: string, other: string): GatewayError {
  return new GatewayError(
    'body_invalid',
    `Two tools draw with ${one} and with ${other}, and no response tells which of them has drawn. Send one tool image_generation.`,
    { param: 'tools' },
  )
}

/** What images come to of which nobody has told the tokens. */
export function drawnUncounted(
  images: number,
  quality: string | undefined,
  model: string | undefined,
): UsageLine {
  return { model: model ?? drawsWithUnlessSaid, meters: { imageOutput: images * imageTokens(quality) } }
}

/** What a tool has drawn is no part of the answer's own usage, and has the price of the model that drew it. */
export function drawnLine(tools: UsageFields, model: string | undefined): UsageLine | undefined {
  const counted = tools.within('image_gen')
  if ((counted.count('total_tokens') ?? 0) === 0) return undefined
  const measure = measureTokens(counted, 'openai')
  if (measure === undefined) return undefined
  return { model: model ?? drawsWithUnlessSaid, meters: imageMeters(measure.meters, counted) }
}

/** Before output details existed, all output tokens were those of images. */
export function imageMeters(meters: Meters, usage: UsageFields | undefined): Meters {
  if (usage?.has('output_tokens_details') === true || meters.output === undefined) return meters
  return { ...meters, output: 0, imageOutput: meters.output }
}

/** `1024x1024/high`; what the request leaves to the provider has no part in it. */
export function imageVariant(size: unknown, quality: unknown): string | undefined {
  const parts = [size, quality].filter(part => typeof part === 'string' && part !== '' && part !== 'auto')
  return parts.length === 0 ? undefined : parts.join('/').toLowerCase()
}

/** Of images in OpenAI's table, the larger shape of each quality. */
const tokensByQuality = new Map([
  ['low', 408],
  ['medium', 1584],
  ['high', 6240],
])

/** The tokens of an image that nobody has counted. */
export function imageTokens(quality: string | undefined): number {
  return tokensByQuality.get(quality ?? '') ?? 1584
}
