import t from 'tap'
import { chooseEgress } from '../../../lib/upstream/attempt-plan.ts'
import { EgressRoute } from '../../../lib/upstream/egress-route.ts'

let now = 0
const route = (name: string, weight: number): EgressRoute =>
  new EgressRoute({
    name,
    weight,
    proxy: undefined,
    end: { hostname: 'provider.example', port: 443 },
    connectMs: 100,
    clock: { now: () => now },
    checks: new AbortController().signal,
    onChange: () => undefined,
  })

function choices(routes: readonly EgressRoute[], count: number, tried?: Set<EgressRoute>): string {
  return Array.from({ length: count }, () => chooseEgress(routes, tried, now)?.name ?? '-').join('')
}

await t.test('routes take choices, interleaved by weight', async t => {
  t.equal(choices([route('a', 5), route('b', 1), route('c', 1)], 14), 'aabacaaaabacaa')
  t.equal(choices([route('a', 1)], 3), 'aaa')
})

await t.test('failing routes come after working ones, barred ones last, and tried ones never', async t => {
  const a = route('a', 1)
  const b = route('b', 1)
  const c = route('c', 1)
  a.fail(new Error('refused'))
  b.bar('not served')
  t.equal(choices([a, b, c], 3), 'ccc')
  t.equal(choices([a, b, c], 2, new Set([c])), 'aa')
  t.equal(choices([a, b, c], 2, new Set([c, a])), 'bb')
  t.equal(choices([a, b, c], 1, new Set([a, b, c])), '-')
  t.equal(choices([a], 1, new Set([a])), '-')
  now = 1000
  t.match(choices([a, b, c], 4), /^[ac]+$/)
  now = 600_000
  t.match(choices([a, b, c], 3), /b/, 'a barred route is used again after ten minutes')
})
