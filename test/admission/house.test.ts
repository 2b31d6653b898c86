import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'
import { attacks, type Attack } from './attacks.ts'
import { models, providersAt } from './prices.ts'

const strict = { riskRub: '0', riskOfPaid: '0' }
const paidRub = 10
/** 30 roubles, and what was paid. */
const riskRub = 30 + paidRub
const atOnce = 60

async function start(t: Test, hold: ConfigSections, options: { readonly beside?: TestGateway } = {}) {
  const upstream = await startRawUpstream(t, ({ headers }) => {
    const attack = attacks[Number(headers[headers.indexOf('x-attack') + 1])]
    if (attack === undefined) throw new Error('a request came that nobody sent')
    return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(attack.answer))
  })
  return startTestGateway(t, {
    rub: paidRub,
    ...options,
    config: { providers: providersAt(upstream.origin), models, hold, isolation: 'off' },
  })
}

async function attack({ url, key }: TestGateway, { path, body }: Attack, index: number): Promise<number> {
  const authorised = ['authorization', `Bearer ${key}`, 'content-type', 'application/json']
  const { status } = await send(url + path, {
    headers: authorised.concat('x-attack', String(index)),
    body: JSON.stringify(body),
  })
  return status
}

/** What all charges come to beyond what the account had, in roubles. */
async function owed(gateway: TestGateway): Promise<number> {
  const charges = await gateway.charges()
  return charges.reduce((sum, { overrun = '0' }) => sum + Number(overrun), 0)
}

await t.test(
  'an account of ten roubles costs a house without risk nothing, whatever it asks for',
  async t => {
    const gateway = await start(t, strict)
    const admitted: string[] = []
    for (const [index, one] of attacks.entries()) {
      const status = await attack(gateway, one, index)
      t.ok(status === 200 || status === 402, `${one.name}: ${status}`)
      if (status === 200) admitted.push(one.name)
      await gateway.accounts.credit({
        accountId: gateway.accountId,
        amountMicros: Math.max(0, paidRub * 1_000_000 - (await gateway.balance()).balanceMicros) + 1,
        reason: 'back to ten roubles',
      })
    }
    t.ok(admitted.length >= 15, `${admitted.length} were admitted`)
    t.equal(await owed(gateway), 0)
    t.same(await gateway.breaches(), [])
  },
)

await t.test('nor do sixty of each kind at once', async t => {
  const gateway = await start(t, strict)
  const asked = attacks.flatMap((one, index) =>
    index % 9 === 0 ? Array.from({ length: atOnce }, () => [one, index] as const) : [],
  )
  const statuses = await Promise.all(asked.map(([one, index]) => attack(gateway, one, index)))
  t.ok(statuses.every(status => status === 200 || status === 402))
  t.ok(statuses.includes(200) && statuses.includes(402))
  t.equal(await owed(gateway), 0)
  t.same(await gateway.breaches(), [])
})

await t.test('with the risk that is shipped it costs the risk at most', async t => {
  const gateway = await start(t, {})
  const asked = attacks.flatMap((one, index) =>
    Array.from({ length: index % 9 === 0 ? atOnce : 1 }, () => [one, index] as const),
  )
  const statuses = await Promise.all(asked.map(([one, index]) => attack(gateway, one, index)))
  t.ok(statuses.includes(200))
  const lost = await owed(gateway)
  t.ok(lost <= riskRub, `${lost} of ${riskRub}`)
  t.same(await gateway.breaches(), [])
})
