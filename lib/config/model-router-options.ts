import { z } from 'zod'

/** The options of the plugin model-router. */
export const modelRouterOptions = z.strictObject({
  mintedKeys: z.enum(['refuse', 'allow']).default('refuse').meta({
    description:
      'Keys and calls that clients may have a provider make for sessions that go around the gateway, uncharged.',
  }),
})

/** What clients may do that nobody is charged for. */
export type ModelRouterOptions = z.output<typeof modelRouterOptions>
