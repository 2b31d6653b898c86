import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { startGatewayProcess } from '../fixtures/gateway-process.ts'
import { askOnce, startPaidLoad, type ClientRecord } from '../fixtures/paid-load.ts'
import { startPaidGateway } from '../fixtures/paid-gateway.ts'
import { costMicros, startPricedUpstream, type GivenAnswer } from '../fixtures/priced-upstream.ts'
import { runGateway } from '../cli/run-gateway.ts'

/** `npm run test:crash` makes it 200. */
const kills = Number(process.env['CRASH_KILLS'] ?? 12)
const clientCount = 24
const creditRub = 1_000_000
const restartMsMax = 2000

interface StoredCharge {
  readonly id: number
  readonly exchangeId: string
  readonly sequence: number
  readonly outcome: string
  readonly usageSource: string
  readonly input: number | null
  readonly amount: number
  readonly overrun: number
}

/** What stands in the store, read by nothing of the gateway's own. */
class StoreWitness {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  read<T>(use: (database: Database.Database) => T): T {
    const database = new Database(this.#file, { readonly: true })
    try {
      return use(database)
    } finally {
      database.close()
    }
  }

  chargesAfter(id: number): StoredCharge[] {
    return this.read(database =>
      database
        .prepare<[number], StoredCharge>(
          `SELECT id, exchange_id AS exchangeId, sequence, outcome, usage_source AS usageSource,
             json_extract(lines, '$[0].meters.input') AS input, amount_micros AS amount, overrun_micros AS overrun
           FROM charges WHERE id > ? ORDER BY id`,
        )
        .all(id),
    )
  }

  holdStates(): Map<string, string> {
    return this.read(
      database =>
        new Map(database.prepare<[], [string, string]>('SELECT exchange_id, state FROM holds').raw().all()),
    )
  }

  balance(accountId: string): number {
    return this.read(database =>
      Number(database.prepare('SELECT balance_micros FROM accounts WHERE id = ?').pluck().get(accountId)),
    )
  }
}

/** What the client's log and the store's charges say of each other; sentences of what does not agree. */
function disagreements(
  records: readonly ClientRecord[],
  charges: readonly StoredCharge[],
  holds: ReadonlyMap<string, string>,
  given: ReadonlyMap<number, GivenAnswer>,
): string[] {
  const wrong: string[] = []
  const byExchange = Map.groupBy(charges, charge => charge.exchangeId)
  for (const { requestId, status, byteCount, isWhole, usage } of records) {
    if (requestId === undefined || status !== 200) continue
    const own = byExchange.get(requestId) ?? []
    if (byteCount > 0 && !holds.has(requestId)) wrong.push(`${requestId} left before its hold was durable`)
    if (own.length > 1) wrong.push(`${requestId} was charged ${own.length} times`)
    if (!isWhole) continue
    const [charge] = own
    if (usage === undefined) wrong.push(`${requestId} told no usage`)
    else if (charge === undefined) wrong.push(`${requestId} was answered whole and not charged`)
    else if (charge.amount !== costMicros(usage.input, usage.output) || charge.outcome !== 'completed') {
      wrong.push(`${requestId} cost ${costMicros(usage.input, usage.output)} and paid ${charge.amount}`)
    }
  }
  for (const { exchangeId, input, usageSource, amount, overrun } of charges) {
    if (overrun !== 0) wrong.push(`${exchangeId} went beyond the money there was`)
    if (usageSource !== 'provider') continue
    const answer = given.get(input ?? -1)
    if (answer === undefined) wrong.push(`${exchangeId} was charged for an answer that nobody gave`)
    else if (amount !== costMicros(answer.input, answer.output)) wrong.push(`${exchangeId} paid ${amount}`)
  }
  const inputs = charges.flatMap(charge => (charge.usageSource === 'provider' ? [charge.input] : []))
  if (new Set(inputs).size !== inputs.length) wrong.push('one answer was charged to two exchanges')
  return wrong
}

await t.test(
  `kill -9 ${kills} times under load: whole answers are charged once, to the micro-rouble`,
  { timeout: kills * 20_000 },
  async t => {
    const upstream = await startPricedUpstream(t)
    const options = { folder: t.testdir(), origin: upstream.origin, rub: creditRub }
    const { config, storeFile, accountId, key, process: first } = await startPaidGateway(t, options)
    let running = first
    const store = new StoreWitness(storeFile)
    const charges: StoredCharge[] = []
    const restarts: number[] = []
    const counted = { whole: 0, cut: 0, unanswered: 0 }

    for (let kill = 0; kill < kills; kill += 1) {
      const load = startPaidLoad(running.url, key, clientCount)
      await delay(50 + Math.random() * 700)
      await running.kill()
      await load.stop()

      const began = performance.now()
      running = await startGatewayProcess(t, config)
      const probe = await askOnce(running.url, key, false)
      restarts.push(performance.now() - began)
      const records = [...load.records, probe]
      t.equal(probe.isWhole && probe.status, 200, 'the first request after the kill is answered')

      charges.push(...store.chargesAfter(charges.at(-1)?.id ?? 0))
      const holds = store.holdStates()
      const wrong = disagreements(records, charges, holds, upstream.given)
      t.strictSame(wrong, [], `kill ${kill + 1}`)
      const open = [...holds.values()].filter(state => state === 'open').length
      t.equal(open, 0, 'nothing is held')
      const paid = charges.reduce((sum, charge) => sum + charge.amount, 0)
      t.equal(store.balance(accountId), creditRub * 1_000_000 - paid)
      for (const record of records) {
        if (record.isWhole) counted.whole += 1
        else if (record.byteCount > 0) counted.cut += 1
        else counted.unanswered += 1
      }
    }

    t.match(await runGateway(['verify', '--config', config]), { code: 0 })
    restarts.sort((left, right) => left - right)
    const [median = 0, slowest = 0] = [restarts[kills >> 1], restarts.at(-1)].map(ms => Math.round(ms ?? 0))
    // Measured where nothing else runs; among other tests a restart takes as long as they let it.
    if (process.env['CRASH_KILLS'] !== undefined) {
      t.ok(median < restartMsMax, `restart to first answer: median ${median} ms, slowest ${slowest} ms`)
    }
    t.ok(counted.whole > kills * 10, 'answers came whole')
    t.ok(counted.cut + counted.unanswered > 0, 'answers were cut')
    t.comment(
      `${JSON.stringify(counted)}, ${charges.length} charges, restart to first answer: median ${median}, slowest ${slowest} ms`,
    )
    await running.kill()
  },
)
