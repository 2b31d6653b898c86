import { GatewayError } from '../../pipeline/errors.ts'
import { namedModel } from '../naming-members.ts'
import { textOf } from '../read-field.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import { measureTokens } from './openai-reader.ts'
import type { UsageFields } from '../measure.ts'
import type { UsageLine, Meters } from '../../money/usage.ts'

/** The default model of the tool `image_generation`. */
const drawsWithUnlessSaid = 'gpt-image-1'

/**
 * The model with which a request's tools make images; undefined if they make none.
 * @throws GatewayError body_invalid for two models, since no response reports which one made an image
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

/** The units of images without reported tokens. */
export function drawnUncounted(
  images: number,
  quality: string | undefined,
  model: string | undefined,
): UsageLine {
  return { model: model ?? drawsWithUnlessSaid, meters: { imageOutput: images * imageTokens(quality) } }
}

/** A tool's images are not part of the response's own usage; they have the price of the model that made them. */
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

/** `1024x1024/high`; members that the request leaves to the provider are omitted. */
export function imageVariant(size: unknown, quality: unknown): string | undefined {
  const parts = [size, quality].filter(part => typeof part === 'string' && part !== '' && part !== 'auto')
  return parts.length === 0 ? undefined : parts.join('/').toLowerCase()
}

/** The tokens of the larger shape of each quality, from OpenAI's table. */
const tokensByQuality = new Map([
  ['low', 408],
  ['medium', 1584],
  ['high', 6240],
])

/** The tokens of an image without a count. */
export function imageTokens(quality: string | undefined): number {
  return tokensByQuality.get(quality ?? '') ?? 1584
}
