import { z } from 'zod'
import type { DialectName } from '../dialects/dialect.ts'
import { bytes, integer } from './scalars.ts'

const imageType = z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/heic', 'image/heif'])

/** What one dialect's requests may carry. Absent means no limit of ours. */
const dialectLimits = z.strictObject({
  requestBytesMax: bytes.optional(),
  imagesMax: integer(0, 100_000).optional(),
  imageBytesMax: bytes.optional(),
  imageTypes: z.array(imageType).min(1).optional(),
})

/** What one dialect's requests may hold at most; sizes in bytes, absent means no limit. */
export type DialectLimits = z.infer<typeof dialectLimits>

const megabyte = 1_048_576
const commonTypes: DialectLimits['imageTypes'] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** Of the service's specification for messages; of the providers' documentation for the others. */
const defaults: Readonly<Record<DialectName, DialectLimits>> = {
  anthropic: {
    requestBytesMax: 32 * megabyte,
    imagesMax: 100,
    imageBytesMax: 5 * megabyte,
    imageTypes: commonTypes,
  },
  openai: { imagesMax: 1500, imageBytesMax: 50 * megabyte, imageTypes: commonTypes },
  google: {
    imagesMax: 3600,
    imageBytesMax: 100 * megabyte,
    imageTypes: ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/heic', 'image/heif'],
  },
}

/** The options of the plugin size-limit, by dialect; what is left out keeps its default. */
export const sizeLimitOptions = z
  .strictObject({
    openai: dialectLimits.prefault({}),
    anthropic: dialectLimits.prefault({}),
    google: dialectLimits.prefault({}),
  })
  .transform(given => ({
    openai: { ...defaults.openai, ...given.openai },
    anthropic: { ...defaults.anthropic, ...given.anthropic },
    google: { ...defaults.google, ...given.google },
  }))
