import { namedModel } from '../naming-members.ts'
import { textOf } from '../read-field.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import { measureTokens } from './openai-reader.ts'
import type { UsageFields } from '../measure.ts'
import { imageTokens } from '../../money/image-tokens.ts'
import type { UsageLine, Meters } from '../../money/usage.ts'

/** What the tool `image_generation` draws with unless it is told otherwise. */
const drawsWithUnlessSaid = 'gpt-image-1'

/** The models that a request's tools may draw with; undefined where they draw nothing. */
export function drawingModels(scan: ScanResult): readonly string[] | undefined {
  const models = new Set<string>()
  const named = new Map<string, string>()
  for (const finding of scan.findings) {
    if (finding.name === namedModel && finding.type === 'string') named.set(finding.path, textOf(finding))
  }
  for (const { name, type, path, raw } of scan.findings) {
    if (name !== 'toolType' || type !== 'string' || JSON.parse(String(raw)) !== 'image_generation') continue
    models.add(named.get(`${path.slice(0, path.lastIndexOf('.'))}.model`) ?? drawsWithUnlessSaid)
  }
  return models.size === 0 ? undefined : [...models]
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
  return parts.length === 0 ? undefined : parts.join('/')
}
