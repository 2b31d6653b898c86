import { headerValue } from '../http/headers.ts'

/**
 * Headers in which providers name a request, those first that their own bills and support ask for. Google has
 * none: its answers say `responseId`.
 */
const headerNames: readonly string[] = [
  // OpenRouter's: `GET /generation?id=` tells what it has cost.
  'x-generation-id',
  'request-id',
  'x-request-id',
  'mistral-correlation-id',
  'x-ds-trace-id',
  'x-debug-trace-id',
  'inference-id',
  'cf-ray',
]

/** Longer ones than any provider sends are not kept. */
const lengthMax = 128

/** By which the provider knows a request, from the head of its response; flat headers. */
export function providerRequestId(headers: readonly string[]): string | undefined {
  for (const name of headerNames) {
    const id = headerValue(headers, name)
    if (id !== undefined && id !== '' && id.length <= lengthMax) return id
  }
  return undefined
}
