import t from 'tap'
import { isContextUnknown } from '../../lib/models/kept-context.ts'
import { ModelDirectory } from '../../lib/models/model-directory.ts'
import type { RequestFacts } from '../../lib/dialects/dialect.ts'
import { dialects } from '../../lib/routes/find-route.ts'
import { scanJson } from '../../lib/http/json-scan.ts'
import { exchangeCost, type CostTarget } from '../../lib/metering/exchange-cost.ts'
import { statedBeyond } from '../../lib/settlement/settle.ts'
import { priceLine } from '../../lib/money/price-line.ts'
import { configOf } from '../fixtures/config-of.ts'
import { attacks, type Attack } from './attacks.ts'
import { models, providersAt } from './prices.ts'

const config = configOf({ providers: providersAt('http://127.0.0.1:9'), models })
const directory = new ModelDirectory(config)

/** The gateway's view of a request before it is sent. */
function read({ path, body }: Attack): {
  facts: RequestFacts
  target: CostTarget
  costMicros: (answer: object) => number
} {
  const [, before = '', below = ''] = /^(.*?\/v1(?:beta)?)(\/.*)$/.exec(path) ?? []
  const kind = before.slice(1, before.lastIndexOf('/'))
  const name = before === '/v1beta' ? 'google' : below.startsWith('/messages') ? 'anthropic' : 'openai'
  const { operation } = dialects[name].match('POST', below)
  const bytes = Buffer.from(JSON.stringify(body))
  const options = { foldUnderscores: name === 'google', countsText: true }
  const read = operation.factsFromJson?.(scanJson(bytes, operation.interest ?? {}, options), bytes)
  if (read === undefined) throw new Error(`${path} has no facts`)
  const isUnknown = read.objects.some(one => isContextUnknown(one, []))
  const facts = { ...read, ...(isUnknown && { readsUnknown: true as const }) }
  const requested = facts.model ?? 'm'
  const entry = directory.resolve(requested, undefined)?.entry
  const upstreamModelName = entry?.upstreamModel ?? requested
  const price = entry?.prices[0]
  if (price === undefined) throw new Error(`${upstreamModelName} has no price`)
  const providerKind = name === 'google' ? 'google' : kind
  const named = [
    ...(facts.drawsWith === undefined ? [] : [facts.drawsWith]),
    ...(facts.namedModels ?? []).map(({ name: one }) => one),
  ].flatMap(model => {
    const other = directory.resolve(model, undefined)?.entry
    const own = other?.prices[0]
    const isDrawing = facts.drawsWith === model
    return own === undefined ? [] : [{ names: [model], price: own, isDrawing, model: other }]
  })
  return {
    facts,
    target: { provider: { kind: providerKind }, upstreamModelName, price, model: entry, named },
    costMicros(answer) {
      const reader = operation.readUsage?.(
        { status: 200, contentType: 'application/json' },
        { providerKind, facts },
      )
      reader?.push(Buffer.from(JSON.stringify(answer)))
      const { lines = [], details } = reader?.end() ?? {}
      const priced = lines.map(usage => {
        const own = named.find(({ names }) => names.includes(usage.model ?? ''))
        return { usage, price: own?.price ?? price }
      })
      const beyond = statedBeyond(priced, details?.['costUsd'], price)
      const all = beyond === undefined ? priced : [...priced, beyond]
      return all.reduce((sum, line) => sum + priceLine(line.price, line.usage).amountMicros, 0)
    },
  }
}

const hold = { likelyOutputTokens: 4096, mediaRub: {} }

await t.test('the table has at least eighty requests', async t => {
  t.ok(attacks.length >= 80, String(attacks.length))
  t.equal(new Set(attacks.map(({ name }) => name)).size, attacks.length, 'each with a name of its own')
})

for (const attack of attacks) {
  await t.test(`the worst case covers the most expensive response: ${attack.name}`, async t => {
    const { facts, target, costMicros } = read(attack)
    const cost = exchangeCost({ target, facts, hold })
    const mostMicros = costMicros(attack.answer)

    t.ok(mostMicros > 0, 'the response costs something')
    t.ok(cost.strictMicros >= mostMicros, `${mostMicros} <= ${cost.strictMicros}`)
    const heldMost = (attack.heldMostRub ?? Infinity) * 1e6
    t.ok(cost.strictMicros <= heldMost, `${cost.strictMicros} <= ${heldMost}`)
    t.equal(cost.worstMicros, cost.strictMicros, 'a response that is not streamed counts to its cap')
    t.ok(cost.likelyMicros <= cost.worstMicros)
    t.comment(
      `likely ${cost.likelyMicros / 1e6}, worst ${cost.worstMicros / 1e6}, mostMicros ${mostMicros / 1e6}`,
    )
  })
}
