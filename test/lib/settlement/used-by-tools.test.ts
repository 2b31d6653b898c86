import t from 'tap'
import type { RequestFacts } from '../../../lib/dialects/dialect.ts'
import { nothingRead } from '../../../lib/dialects/measure.ts'
import { usedByTools } from '../../../lib/metering/expected-tokens.ts'
import { decideOwed } from '../../../lib/settlement/decide-owed.ts'
import { testPrice } from '../../contracts/store-under-test.ts'
import { costTarget } from '../../fixtures/cost-target.ts'

const facts: RequestFacts = {
  isStreaming: true,
  candidates: 1,
  textBytes: 400,
  textTokens: { most: 200, likely: 100 },
  media: [],
  objects: [],
}

await t.test('tool uses that a response shows count as much as their hold', async t => {
  const target = costTarget({ price: testPrice, kind: 'anthropic', model: 'm', contextTokensMax: 200_000 })
  const fetching = { ...facts, showsTools: true as const, tools: [{ type: 'webfetch20250910' }] }
  const searching = { ...facts, showsTools: true as const, tools: [{ type: 'websearch20250305' }] }

  t.equal(usedByTools(target, fetching, { ...nothingRead, toolUses: 0 }), undefined)
  t.same(usedByTools(target, fetching, { ...nothingRead, toolUses: 2 }), { input: 400_000 })
  t.same(usedByTools(target, searching, { ...nothingRead, toolUses: 1 }), { input: 200_000, searches: 1 })
})

await t.test('a response that the gateway cut before any text is estimated as worked on', async t => {
  const broken = { outcome: 'broken', wasSent: true, drain: 'none', reading: nothingRead } as const
  t.match(decideOwed({ ...broken, endedBy: 'gateway' }), { basis: 'estimated', hasUnseen: true })
  t.match(
    decideOwed(broken),
    { basis: 'zero', flags: ['ambiguous'] },
    'a response that its provider broke off costs nothing',
  )
})
