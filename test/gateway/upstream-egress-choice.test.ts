import t from 'tap'
import { dialectCalls } from '../fixtures/dialect-call.ts'
import { askOnce, startBehind } from '../fixtures/egress-gateway.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { startHttpEgress } from '../fixtures/http-egress.ts'
import { plainAnswer } from '../fixtures/raw-upstream.ts'
import { startSocksEgress } from '../fixtures/socks-egress.ts'
import { startTlsUpstream, trustTestAuthority } from '../fixtures/tls-upstream.ts'

const json = ['content-type', 'application/json']

trustTestAuthority()

await t.test('proxies are used by their weights', async t => {
  const upstream = await startTlsUpstream(t, () => plainAnswer(200, json, dialectCalls[0]?.document ?? ''))
  const light = await startHttpEgress(t)
  const heavy = await startSocksEgress(t)
  const gateway = await startBehind(t, upstream.publicOrigin, { light: light.url, heavy: heavy.url }, [
    'light',
    { name: 'heavy', weight: 3 },
  ])
  for (let count = 0; count < 16; count += 1) t.equal((await askOnce(gateway)).status, 200)
  const ends = (await settled(gateway, 16)) as unknown as { egress: string }[]
  t.equal(ends.filter(end => end.egress === 'light').length, 4)
  t.equal(ends.filter(end => end.egress === 'heavy').length, 12)
  await checkMoney(t, gateway)
})

const countryRefusals = {
  anthropic: [403, '{"error":{"type":"forbidden","message":"Request not allowed"}}'],
  openai: [
    403,
    '{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}',
  ],
  google: [
    400,
    '{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}',
  ],
} as const

for (const call of dialectCalls) {
  await t.test(`${call.name}: an unsupported country counts against the egress route`, async t => {
    const [status, body] = countryRefusals[call.name]
    let sentBy: 'bad' | 'good' = 'bad'
    const bad = await startHttpEgress(t)
    const good = await startSocksEgress(t)
    const upstream = await startTlsUpstream(t, () => {
      const refused = sentBy === 'bad'
      sentBy = 'good'
      return refused ? plainAnswer(status, json, body) : plainAnswer(200, json, call.document)
    })
    const gateway = await startBehind(
      t,
      upstream.publicOrigin,
      { bad: bad.url, good: good.url },
      ['bad', 'good'],
      call.name,
    )

    for (let count = 0; count < 3; count += 1) {
      const got = await askOnce(gateway, call)
      t.equal(got.status, 200, got.body.toString())
    }

    t.equal(bad.connects.length, 1)
    const ends = await settled(gateway, 3)
    t.match(ends, [
      { egress: 'good', attempts: 2 },
      { egress: 'good', attempts: 1 },
      { egress: 'good', attempts: 1 },
    ])
    t.notOk(gateway.logLines.some(line => line.includes('credential_suspended')))
    t.ok(gateway.logLines.some(line => /"alarm":"egress_down".*country/.test(line)))

    sentBy = 'bad'
    upstream.answer = () => plainAnswer(status, json, body)
    const last = await askOnce(gateway, call)
    t.equal(last.status, status, "without a route to a supported country the provider's refusal is relayed")
    t.equal(last.body.toString(), body)
    await settled(gateway, 4)
    t.equal((await gateway.chargesOfWork()).length, 3)
    await checkMoney(t, gateway)
  })
}
