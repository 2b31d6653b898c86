import t from 'tap'
import { exchangeCost } from '../../../lib/metering/exchange-cost.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import { meters, unitMeters, type UsageReading } from '../../../lib/money/usage.ts'
import { costTarget } from '../../fixtures/cost-target.ts'
import {
  bytesOf,
  factsOf,
  loadRecordings,
  providerKindOf,
  recordingsSkip,
  routeOf,
} from '../dialects/recordings.ts'
import type { Recording } from '../dialects/recordings.ts'

/** Characters are priced by the million, as tokens are. */
const units = new Set<string>(unitMeters.filter(name => name !== 'characters'))
/** Ratios of real prices: output costs five times input, and a cache write a quarter more than input. */
const higherPrices: Record<string, string> = {
  output: '5000',
  audioOutput: '10000',
  imageOutput: '20000',
  cacheWrite5m: '1250',
  cacheWrite1h: '2000',
  cachedInput: '100',
}
const price = buildPrice({
  model: 'any',
  rubPerMillion: Object.fromEntries(
    meters.filter(name => !units.has(name)).map(name => [name, higherPrices[name] ?? '1000']),
  ),
  rubPerUnit: Object.fromEntries([...units].map(name => [name, '1'])),
})

interface Known {
  readonly recording: Recording
  readonly reading: UsageReading
  readonly costMicros: number
}

/** Every recorded response with a usage, with the cost that would be charged. */
function charged(): readonly Known[] {
  return loadRecordings().flatMap(recording => {
    if (recording.response.status !== 200 || recording.request === null || recording.request === undefined)
      return []
    const route = routeIfThereIs(recording)
    const isPaid = route !== undefined && !route.operation.isFree && route.operation.isModelList !== true
    if (!isPaid || !/POST/.test(recording.request.method)) return []
    const facts = factsOf(recording, route.operation, route.dialect)
    const contentType = recording.response.headers['content-type']?.split(';', 1)[0] ?? ''
    const reader = route.operation.readUsage?.(
      { status: 200, contentType },
      { providerKind: providerKindOf(recording), facts },
    )
    reader?.push(bytesOf(recording.response))
    const reading = reader?.end()
    if (reading === undefined || reading.lines.length === 0) return []
    const costMicros = reading.lines.reduce((sum, line) => sum + priceLine(price, line).amountMicros, 0)
    return [{ recording, reading, costMicros }]
  })
}

function routeIfThereIs(recording: Recording): ReturnType<typeof routeOf> {
  try {
    return routeOf(recording)
  } catch {
    return undefined // The gateway has no route for this operation.
  }
}

await t.test(
  'no recorded response costs more than the worst cost of its request',
  { skip: recordingsSkip },
  t => {
    const known = charged()
    for (const { recording, costMicros } of known) {
      const { request } = recording
      const route = routeOf(recording)
      if (route === undefined || request === null || request === undefined) continue
      const facts = factsOf(recording, route.operation, route.dialect)
      const model = facts.model ?? /models\/([^:/]+)/.exec(request.path)?.[1] ?? ''
      const target = costTarget({ price, kind: providerKindOf(recording), model, outputTokensMax: 65_536 })
      const cost = exchangeCost({ target, facts, hold: { mediaRub: {}, likelyOutputTokens: 4096 } })
      t.ok(cost.strictMicros >= costMicros, `${recording.file}: ${costMicros} <= ${cost.strictMicros}`)
      t.ok(cost.worstMicros >= costMicros, `${recording.file}: worst ${cost.worstMicros}`)
      t.ok(cost.likelyMicros <= cost.worstMicros && cost.worstMicros <= cost.strictMicros, recording.file)
    }
    t.ok(known.length >= 200, `${known.length} recordings have a usage`)
    t.end()
  },
)
