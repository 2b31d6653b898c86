import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { startSessionUpstream, type ProviderSession } from '../fixtures/session-upstream.ts'
import { until } from '../fixtures/until.ts'
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
import { sessionAttacks, type SessionAttack } from './sessions.ts'

/** The number of turns of a session, unless it is closed earlier. */
const turnsMax = 4
/** The time until a tool has its result, in which the gateway may notice that the money ends. */
const toolMs = 100

/** A provider that makes each turn as expensive as allowed, and records its bill by the name of the session. */
interface Provider {
  readonly origin: string
  readonly billed: ReadonlyMap<string, number>
  /** Sessions that are not closed yet. */
  readonly open: ReadonlySet<ProviderSession>
}

async function startProvider(t: Test): Promise<Provider> {
  const billed = new Map<string, number>()
  const open = new Set<ProviderSession>()
  const { origin } = await startSessionUpstream(t, session => {
    const name = String(session.request.headers['x-attack'])
    const attack = sessionAttacks[Number(name.split('/')[0])]
    if (attack === undefined) throw new Error('an unexpected session arrived')
    open.add(session)
    session.socket.on('close', () => open.delete(session))
    converse(session, attack, micros => billed.set(name, (billed.get(name) ?? 0) + micros))
  })
  return { origin, billed, open }
}

function converse({ socket }: ProviderSession, attack: SessionAttack, bill: (micros: number) => void): void {
  const say = (message: object): void => socket.send(JSON.stringify(message))
  if (attack.greeting !== undefined) say(attack.greeting)
  let number = 0
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Record<string, unknown>
    if (attack.isTurn(message)) void answer(socket, attack, number++, bill)
    else if (attack.opened !== undefined) say(attack.opened)
  })
}

/** Stops when the client leaves, and bills what it has done until then. */
async function answer(
  socket: WebSocket,
  attack: SessionAttack,
  number: number,
  bill: (micros: number) => void,
): Promise<void> {
  let billedMicros = 0
  for (const step of attack.answer(number)) {
    if (socket.readyState !== WebSocket.OPEN) return
    bill(step.billedMicros - billedMicros)
    billedMicros = step.billedMicros
    socket.send(JSON.stringify(step.event))
    if (step.isTool !== true && attack.leaves !== true) continue
    // In parts: in a process that was blocked, due timers run before data from a socket arrives.
    for (let part = 0; part < 4; part += 1) await delay(toolMs / 4)
  }
}

/** Runs a session to its end; returns its number of turns. */
async function run(house: House, { key }: Client, attack: SessionAttack, name: string): Promise<number> {
  const socket = new WebSocket(house.url.replace(/^http/, 'ws') + attack.path, {
    headers: { authorization: `Bearer ${key}`, 'x-attack': name },
  })
  return await new Promise(resolve => {
    let turns = 0
    let hasAsked = false
    const ask = (): void => {
      socket.send(JSON.stringify(attack.turn))
      hasAsked = true
    }
    const begin = (): void => {
      for (const message of attack.opening) socket.send(JSON.stringify(message))
      if (attack.opened === undefined) ask()
    }
    socket.on('open', begin)
    socket.on('message', (data: Buffer) => {
      const text = data.toString()
      const isOpened = attack.opened !== undefined && text === JSON.stringify(attack.opened)
      if (isOpened) ask()
      else if (hasAsked && attack.leaves === true) socket.close()
      else if (text.includes(`"${attack.end}"`)) {
        turns += 1
        if (turns < turnsMax) ask()
        else socket.close()
      } else if (text.includes('"type":"error"')) socket.close()
    })
    socket.on('error', () => undefined) // A refusal is followed by `close`.
    socket.on('close', () => resolve(turns))
  })
}

interface Loss {
  /** The part of the provider's bill that the account has not paid, in roubles. */
  readonly lost: number
  readonly turns: number
}

async function attackOnce(
  [house, other = house]: readonly [House, House?],
  { billed, open }: Provider,
  client: Client,
  index: number,
): Promise<Loss> {
  const attack = sessionAttacks[index] as SessionAttack
  const name = `${index}/${client.accountId}`
  const turns = await rush(atOnce, number =>
    run(number % 2 === 0 ? house : other, client, attack, `${name}/${number}`),
  )
  // A client that has left does not see that the gateway reads on.
  await until(() => open.size === 0)
  const charges = await house.chargesOf(client)
  const paid = charges.reduce((sum, { amount }) => sum + Number(amount), 0)
  let bill = 0
  for (const [session, micros] of billed) if (session.startsWith(`${name}/`)) bill += micros / 1e6
  return { lost: bill - paid, turns: turns.reduce((sum, count) => sum + count, 0) }
}

await t.test(`with the shipped risk ${atOnce} sessions of each kind cost the risk at most`, async t => {
  const provider = await startProvider(t)
  const house = await startHouse(t, provider.origin, {})
  for (const [index, { name }] of sessionAttacks.entries()) {
    const { lost, turns } = await attackOnce([house], provider, await house.newClient(paidRub), index)
    t.comment(`${name}: ${lost.toFixed(2)} lost, ${turns} turns`)
    t.ok(lost <= riskRub, `${name}: ${lost} of ${riskRub}`)
  }
  t.same(await house.breaches(), [])
})

await t.test('a house without risk loses nothing, and serves accounts with enough money', async t => {
  const provider = await startProvider(t)
  const house = await startHouse(t, provider.origin, strict)
  for (const [index, { name, leaves }] of sessionAttacks.entries()) {
    const { lost } = await attackOnce([house], provider, await house.newClient(paidRub), index)
    t.ok(lost < 1e-6, `${name}: ${lost}`)
    const rich = await attackOnce([house], provider, await house.newClient(100_000), index)
    t.ok(Math.abs(rich.lost) < 1e-6, `${name}: ${rich.lost} for an account with money`)
    if (leaves !== true) t.equal(rich.turns, atOnce * turnsMax, `${name}: all turns are served`)
  }
  t.same(await house.breaches(), [])
})

await t.test('two nodes on PostgreSQL lose no more to sessions than one', async t => {
  const server = await startPostgres(t)
  const provider = await startProvider(t)
  for (const [hold, lostMax] of [
    [strict, 1e-6],
    [{}, riskRub],
  ] as const) {
    const config = { store: await server.createDatabase() }
    const one = await startHouse(t, provider.origin, hold, { config })
    const other = await startHouse(t, provider.origin, hold, { config, beside: one })
    for (const [index, { name }] of sessionAttacks.entries()) {
      if (!isWhole && index % 3 > 0) continue
      const { lost } = await attackOnce([one, other], provider, await one.newClient(paidRub), index)
      t.ok(lost <= lostMax, `${name}: ${lost} of ${lostMax}`)
    }
    t.same(await one.breaches(), [])
  }
})
