import type { Interest } from '../http/json-scan.ts'
import type { DialectName, RouteMatch } from './dialect.ts'
import { list, object, value } from './interest.ts'

const address = value('address')
const sample = list(object({ video: object({ uri: address }) }))

/** Where a batch that has ended says that its results are. */
const batch = object({ results_url: address })
/** Where an operation that is done says that its videos are, in the spellings of the API's versions. */
const operation = object({
  response: object({
    generatevideoresponse: object({ generatedsamples: sample }),
    generatedsamples: sample,
    generatedvideos: sample,
  }),
})

/** Of answers about these objects. */
const places: Readonly<Record<DialectName, ReadonlyMap<string, Interest>>> = {
  openai: new Map(),
  anthropic: new Map([['batch', batch]]),
  google: new Map([['operation', operation]]),
}

/**
 * Where an answer may hold addresses of the provider, to which a client would go past the gateway; undefined
 * where it holds none.
 */
export function answerAddresses(
  dialectName: DialectName,
  { object: about, upstreamPath }: RouteMatch,
): Interest | undefined {
  if (about === undefined || /\/results(?:\?|$)/.test(upstreamPath)) return undefined
  return places[dialectName].get(about.kind)
}
