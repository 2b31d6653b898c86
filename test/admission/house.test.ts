import t, { type Test } from 'tap'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import type { ConfigSections } from '../fixtures/test-gateway.ts'
import { attacks, type Attack } from './attacks.ts'
import {
  atOnce,
  isWhole,
  paidRub,
  riskRub,
  rush,
  startHouse,
  strict,
  type Client,
  type House,
} from './house.ts'

type Row = readonly [index: number, attack: Attack]

const allRows: readonly Row[] = [...attacks.entries()]
/** Each kind of run has its own rows, spread over the table. */
const rowsOf = (way: number): readonly Row[] =>
  isWhole ? allRows : allRows.filter(([index]) => index % 5 === way)
/** Each request has only one part of its cost: of six at least one is admitted with ten roubles. */
const rowsPerAdmittedMax = 6

/** Providers that give each attack its most expensive response. */
async function startProviders(t: Test): Promise<string> {
  const upstream = await startRawUpstream(t, ({ headers }) => {
    const attack = attacks[Number(headers[headers.indexOf('x-attack') + 1])]
    if (attack === undefined) throw new Error('an unexpected request arrived')
    return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(attack.answer))
  })
  return upstream.origin
}

/** Sends each row several times at once, from an account of its own with `rubFor` roubles. */
async function attackWithAll(
  t: Test,
  houses: readonly [House, ...House[]],
  rows: readonly Row[],
  rubFor: (house: House, attack: Attack) => Promise<number>,
  check: (lost: number, attack: Attack, statuses: readonly number[]) => void,
): Promise<void> {
  const [first] = houses
  let admitted = 0
  for (const [index, attack] of rows) {
    const client: Client = await first.newClient(await rubFor(first, attack))
    const statuses = await rush(atOnce, number =>
      (houses[number % houses.length] as House).ask(client, attack, ['x-attack', String(index)]),
    )
    const unexpected = statuses.filter(status => status !== 200 && status !== 402)
    t.same(unexpected, [], attack.name)
    if (statuses.includes(200)) admitted += 1
    check(await first.owedBy(client), attack, statuses)
  }
  t.ok(admitted >= rows.length / rowsPerAdmittedMax, `${admitted} of ${rows.length} were admitted`)
  t.same(await first.breaches(), [])
}

/** The cost of two and a half of a kind, at worst. */
async function moneyForTwo(house: House, attack: Attack): Promise<number> {
  return 2.5 * (await house.worstOf(await house.newClient(0), attack))
}

const tenRoubles = (): Promise<number> => Promise.resolve(paidRub)

async function start(t: Test, hold: ConfigSections): Promise<House> {
  return startHouse(t, await startProviders(t), hold)
}

await t.test(
  `a house without risk loses nothing to ${atOnce} of each kind at once, with ten roubles`,
  async t => {
    const house = await start(t, strict)
    await attackWithAll(t, [house], allRows, tenRoubles, (lost, { name }) => t.equal(lost, 0, name))
  },
)

await t.test('the same with money for two of them: two are admitted', async t => {
  const house = await start(t, strict)
  await attackWithAll(t, [house], rowsOf(1), moneyForTwo, (lost, { name }, statuses) => {
    t.equal(lost, 0, name)
    t.ok(statuses.filter(status => status === 200).length >= 2, `${name}: two are admitted`)
  })
})

await t.test(`with the shipped risk it loses at most the risk to ${atOnce} of each kind`, async t => {
  const house = await start(t, {})
  await attackWithAll(t, [house], rowsOf(2), tenRoubles, (lost, { name }) => {
    t.ok(lost <= riskRub, `${name}: ${lost} of ${riskRub}`)
  })
})

await t.test('a key with a budget of a rouble spends at most that and the risk', async t => {
  const house = await start(t, {})
  for (const [index, attack] of rowsOf(3)) {
    const client = await house.newClient(paidRub, { budgetRub: 1 })
    await rush(atOnce, () => house.ask(client, attack, ['x-attack', String(index)]))
    const charges = await house.chargesOf(client)
    const spent = charges.reduce(
      (sum, { amount, overrun = '0' }) => sum + Number(amount) + Number(overrun),
      0,
    )
    t.ok(spent <= 1 + riskRub, `${attack.name}: ${spent}`)
  }
})

await t.test('two nodes on PostgreSQL decide as one', async t => {
  const server = await startPostgres(t)
  const origin = await startProviders(t)
  for (const [hold, lostMax] of [
    [strict, 0],
    [{}, riskRub],
  ] as const) {
    const config = { store: await server.createDatabase() }
    const one = await startHouse(t, origin, hold, { config })
    const other = await startHouse(t, origin, hold, { config, beside: one })
    const rubFor = hold === strict ? moneyForTwo : tenRoubles
    await attackWithAll(t, [one, other], rowsOf(hold === strict ? 0 : 4), rubFor, (lost, { name }) => {
      t.ok(lost <= lostMax, `${name}: ${lost} of ${lostMax}`)
    })
  }
})
