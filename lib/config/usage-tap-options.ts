import { z } from 'zod'
import { milliseconds } from './scalars.ts'

/** How often the gateway asks after jobs: first after `pollMs`, then ever more seldom. */
export const usageTapOptions = z.strictObject({
  pollMs: milliseconds.default(5000),
  pollMsMax: milliseconds.default(300_000),
})
