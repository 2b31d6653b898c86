import {
  modelRouterOptions,
  rateLimitOptions,
  sizeLimitOptions,
  usageTapOptions,
  telemetryOptions,
} from '../lib/config/plugin-options.ts'
import type { PluginRegistry } from '../lib/front/plugin-context.ts'
import { auth } from './auth.ts'
import { modelRouter } from './model-router.ts'
import { rateLimit } from './rate-limit.ts'
import { sizeLimit } from './size-limit.ts'
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
