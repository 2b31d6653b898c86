import type { Meters } from '../../money/usage.ts'
import type { UsageFields } from '../usage-fields.ts'

/** Before output details existed, all output tokens were those of pictures. */
export function pictureMeters(meters: Meters, usage: UsageFields | undefined): Meters {
  if (usage?.has('output_tokens_details') === true || meters.output === undefined) return meters
  return { ...meters, output: 0, imageOutput: meters.output }
}

/** `1024x1024/high`; what the request leaves to the provider has no part in it. */
export function pictureVariant(size: unknown, quality: unknown): string | undefined {
  const parts = [size, quality].filter(part => typeof part === 'string' && part !== '' && part !== 'auto')
  return parts.length === 0 ? undefined : parts.join('/')
}
