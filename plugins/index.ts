import { modelRouterOptions } from '../lib/config/model-router-options.ts'
import { rateLimitOptions } from '../lib/config/rate-limit-options.ts'
import { sizeLimitOptions } from '../lib/config/size-limit-options.ts'
import type { PluginRegistry } from '../lib/front/plugin-context.ts'
import { usageTapOptions } from '../lib/config/usage-tap-options.ts'
import { auth } from './auth.ts'
import { modelRouter } from './model-router.ts'
import { rateLimit } from './rate-limit.ts'
import { sizeLimit } from './size-limit.ts'
import { telemetryOptions } from '../lib/config/telemetry-options.ts'
import { telemetry } from './telemetry.ts'
import { upstreamProxy } from './upstream-proxy.ts'
import { usageTap } from './usage-tap.ts'

/** Every plugin that a config can name, in the order in which a request meets them by default. */
export const plugins: PluginRegistry = {
  auth: { create: auth },
  'model-router': { create: modelRouter, options: modelRouterOptions },
  'rate-limit': { create: rateLimit, options: rateLimitOptions },
  'size-limit': { create: sizeLimit, options: sizeLimitOptions },
  telemetry: { create: telemetry, options: telemetryOptions },
  'upstream-proxy': { create: upstreamProxy },
  'usage-tap': { create: usageTap, options: usageTapOptions },
}
