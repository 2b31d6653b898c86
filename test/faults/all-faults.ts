import type { Fault } from './fault.ts'
import { upstreamBeforeHeaders } from './upstream-before-headers.ts'
import { upstreamInterim } from './upstream-interim.ts'

/** Every case, in the order of its number. */
export const allFaults: readonly Fault[] = [...upstreamBeforeHeaders, ...upstreamInterim].toSorted(
  (a, b) => a.number - b.number,
)
