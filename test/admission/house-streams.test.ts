import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startPostgres } from '../fixtures/postgres-server.ts'
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
import { streamAttacks, type StreamAttack } from './streams.ts'

/** The time between two steps, in which the gateway may notice that the money ends; a busy machine needs longer. */
const stepMs = 30
/** The time to fetch a page: seconds. */
const toolMs = 1000
const waitParts = 5

/** A provider that streams the attacks, stops when the client leaves, and bills what it has done until then. */
async function startStreams(
  t: Test,
  toolMs: number,
): Promise<{ readonly origin: string; readonly billed: Map<string, number> }> {
  const billed = new Map<string, number>()
  const server = createServer((request, response) => {
    request.resume()
    const [index, run] = String(request.headers['x-attack']).split('/')
    const attack = streamAttacks[Number(index)]
    if (attack === undefined) throw new Error('an unexpected request arrived')
    void stream(response, attack, toolMs, micros => billed.set(`${index}/${run}`, micros))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, billed }
}

async function stream(
  response: ServerResponse,
  { steps }: StreamAttack,
  toolMs: number,
  bill: (micros: number) => void,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const { bytes, billedMicros } of steps) {
    if (response.destroyed) return
    bill(billedMicros)
    if (bytes !== '') response.write(bytes)
    // In parts: a process that is blocked for long runs its timers before it reads what has arrived.
    const waitMs = isTool(bytes) ? toolMs : stepMs
    for (let part = 0; part < waitParts && !response.destroyed; part += 1) await delay(waitMs / waitParts)
  }
  response.end()
}

function isTool(bytes: string): boolean {
  return bytes.includes('server_tool_use"') || bytes.includes('_call.in_progress')
}

interface Loss {
  /** The part of the provider's bill that the account has not paid, in roubles. */
  readonly lost: number
  readonly whole: number
}

async function attackOnce(
  [house, other = house]: readonly [House, House?],
  billed: ReadonlyMap<string, number>,
  client: Client,
  index: number,
  round = 0,
): Promise<Loss> {
  const attack = streamAttacks[index] as StreamAttack
  const run = `${index}/${client.accountId}-${round}`
  const statuses = await rush(atOnce, number =>
    (number % 2 === 0 ? house : other).ask(client, attack, ['x-attack', `${run}-${number}`]).catch(() => 0),
  )
  const charges = await house.chargesOf(client)
  const paid = charges.reduce((sum, { amount }) => sum + Number(amount), 0)
  let bill = 0
  for (const [name, micros] of billed) if (name.includes(client.accountId)) bill += micros / 1e6
  return { lost: bill - paid, whole: statuses.filter(status => status === 200).length }
}

await t.test(`with the shipped risk ${atOnce} streams of each kind cost the risk at most`, async t => {
  const { origin, billed } = await startStreams(t, toolMs)
  const house = await startHouse(t, origin, {})
  for (const [index, { name }] of streamAttacks.entries()) {
    const { lost, whole } = await attackOnce([house], billed, await house.newClient(paidRub), index)
    t.comment(`${name}: ${lost.toFixed(2)} lost, ${whole} of ${atOnce} were served`)
    t.ok(lost <= riskRub, `${name}: ${lost} of ${riskRub}`)
  }
  t.same(await house.breaches(), [])
})

await t.test('repeating the streams with the remaining money loses no more', async t => {
  const { origin, billed } = await startStreams(t, toolMs)
  const house = await startHouse(t, origin, {})
  for (const [index, { name }] of streamAttacks.entries()) {
    const client = await house.newClient(paidRub)
    let lost = 0
    for (let round = 0; round < 3; round += 1)
      ({ lost } = await attackOnce([house], billed, client, index, round))
    t.ok(lost <= riskRub, `${name}: ${lost} of ${riskRub}`)
  }
})

await t.test('a house without risk loses nothing, and cuts no stream', async t => {
  const { origin, billed } = await startStreams(t, stepMs)
  const house = await startHouse(t, origin, strict)
  for (const [index, attack] of streamAttacks.entries()) {
    const rub = 2.5 * (await house.worstOf(await house.newClient(0), attack))
    const client = await house.newClient(rub)
    const { lost, whole } = await attackOnce([house], billed, client, index)
    t.ok(Math.abs(lost) < 1e-6, `${attack.name}: ${lost}`)
    t.ok(whole >= 2, `${attack.name}: ${whole} were served`)
    const cut = (await house.chargesOf(client)).filter(({ flags }) => flags.includes('balance_exhausted'))
    t.same(cut, [], attack.name)
  }
})

await t.test('two nodes on PostgreSQL lose no more to streams than one', async t => {
  const server = await startPostgres(t)
  for (const [hold, waitMs, lostMax] of [
    [strict, stepMs, 1e-6],
    [{}, toolMs, riskRub],
  ] as const) {
    const { origin, billed } = await startStreams(t, waitMs)
    const config = { store: await server.createDatabase() }
    const one = await startHouse(t, origin, hold, { config })
    const other = await startHouse(t, origin, hold, { config, beside: one })
    for (const [index, attack] of streamAttacks.entries()) {
      if (!isWhole && index % 6 > 0) continue
      const rub = hold === strict ? 2.5 * (await one.worstOf(await one.newClient(0), attack)) : paidRub
      const { lost } = await attackOnce([one, other], billed, await one.newClient(rub), index)
      t.ok(lost <= lostMax, `${attack.name}: ${lost} of ${lostMax}`)
    }
    t.same(await one.breaches(), [])
  }
})
