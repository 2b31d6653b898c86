import type { RequestFacts } from '../dialects/dialect.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Route } from '../routes/route.ts'

/** Vertex takes a tier from headers: https://cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo. */
const tierHeaders = ['x-vertex-ai-llm-shared-request-type', 'x-vertex-ai-llm-request-type']

/** A request with the tier that its headers ask for. */
export function withTierOfHeaders(
  { request: { headers } }: Exchange,
  { dialect }: Route,
  facts: RequestFacts,
): RequestFacts {
  if (dialect.name !== 'google') return facts
  const isPriority = tierHeaders.some(name => /priority/i.test(String(headers[name] ?? '')))
  return isPriority ? { ...facts, wantedTier: 'priority' } : facts
}
