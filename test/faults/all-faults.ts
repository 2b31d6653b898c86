import { clientHostile } from './client-hostile.ts'
import { clientLeaves } from './client-leaves.ts'
import { clientRequests } from './client-requests.ts'
import { clientSlow } from './client-slow.ts'
import { clientStalls } from './client-stalls.ts'
import type { Fault } from './fault.ts'
import { operationsProcess } from './operations-process.ts'
import { operationsSockets } from './operations-sockets.ts'
import { operations } from './operations.ts'
import { upstreamBeforeHeaders } from './upstream-before-headers.ts'
import { upstreamEndless } from './upstream-endless.ts'
import { upstreamFailover } from './upstream-failover.ts'
import { upstreamInTheBody } from './upstream-in-the-body.ts'
import { upstreamInterim } from './upstream-interim.ts'
import { upstreamNames } from './upstream-names.ts'
import { upstreamUsage } from './upstream-usage.ts'

/** Every case, in the order of its number. */
export const allFaults: readonly Fault[] = [
  ...upstreamBeforeHeaders,
  ...upstreamFailover,
  ...upstreamInterim,
  ...upstreamNames,
  ...upstreamInTheBody,
  ...upstreamUsage,
  ...upstreamEndless,
  ...clientLeaves,
  ...clientHostile,
  ...clientSlow,
  ...clientStalls,
  ...clientRequests,
  ...operations,
  ...operationsProcess,
  ...operationsSockets,
].toSorted((a, b) => a.number - b.number)
