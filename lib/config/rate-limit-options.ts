import { z } from 'zod'
import { integer } from './scalars.ts'

const most = integer(1, 1_000_000_000).optional()

/** What one key may do. Absent means no limit. */
const keyLimits = z.strictObject({
  requestsPerMinute: most,
  /** Input and output together, cached input included. */
  tokensPerMinute: most,
  concurrentRequests: most,
})

/** The options of the plugin rate-limit: the limits of every key, and of single ones by their id. */
export const rateLimitOptions = z
  .strictObject({ ...keyLimits.shape, keys: z.record(z.string(), keyLimits).prefault({}) })
  .refine(
    ({ keys, ...limits }) => [limits, ...Object.values(keys)].some(one => Object.keys(one).length > 0),
    'name at least one of requestsPerMinute, tokensPerMinute and concurrentRequests',
  )
