import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startGatewayProcess } from '../fixtures/gateway-process.ts'
import { disagreements, StoreWitness } from '../fixtures/money-witness.ts'
import { askOnce, startPaidLoad, type ClientRecord } from '../fixtures/paid-load.ts'
import { startPaidGateway } from '../fixtures/paid-gateway.ts'
import { startPricedUpstream } from '../fixtures/priced-upstream.ts'
import { until } from '../fixtures/until.ts'
import { workerPids } from '../fixtures/worker-pids.ts'
import { runGateway } from '../cli/run-gateway.ts'

/** `npm run test:crash` sets more. */
const rounds = Number(process.env['CRASH_ROUNDS'] ?? 2)
const workers = 3
const creditRub = 1_000_000

await t.test(
  `${rounds} times two workers and then all are killed under load: whole responses are charged once`,
  { timeout: 60_000 + rounds * 30_000 },
  async t => {
    const upstream = await startPricedUpstream(t)
    const options = { folder: t.testdir(), origin: upstream.origin, rub: creditRub, workers }
    const { config, storeFile, accountId, key, process: first } = await startPaidGateway(t, options)
    let running = first
    const store = new StoreWitness(storeFile)
    const records: ClientRecord[] = []
    const counted = { whole: 0, cut: 0 }

    for (let round = 0; round < rounds; round += 1) {
      const load = startPaidLoad(running.url, key, 24, 'go-on')
      t.teardown(() => load.stop())
      for (let kill = 0; kill < 2; kill += 1) {
        await until(() => workerPids(running.written()).size === workers)
        await delay(50 + Math.random() * 300)
        const [number, pid] = [...workerPids(running.written())][Math.floor(Math.random() * workers)] ?? []
        const before = load.records.length
        process.kill(Number(pid), 'SIGKILL')
        await until(() => workerPids(running.written()).get(Number(number)) !== pid)
        await until(() => load.records.slice(before).filter(({ isWhole }) => isWhole).length > 10)
      }
      const quiet = load.stop()
      await delay(Math.random() * 20)
      await running.kill()
      await quiet
      records.push(...load.records)
      running = await startGatewayProcess(t, config)
      const probe = await askOnce(running.url, key, false)
      t.equal(probe.isWhole && probe.status, 200, 'the first request after the kill is served')
      records.push(probe)
    }

    const charges = store.chargesAfter(0)
    const holds = store.holdStates()
    t.strictSame(disagreements(records, charges, holds, upstream.given), [])
    t.equal([...holds.values()].filter(state => state === 'open').length, 0, 'nothing is held')
    const paid = charges.reduce((sum, charge) => sum + charge.amount, 0)
    t.equal(store.balance(accountId), creditRub * 1_000_000 - paid)
    t.match(await runGateway(['verify', '--config', config]), { code: 0 })
    for (const record of records) counted[record.isWhole ? 'whole' : 'cut'] += 1
    t.ok(counted.whole > rounds * 10, 'whole responses arrived')
    t.ok(counted.cut > 0, 'responses were cut')
    t.comment(JSON.stringify(counted))
    await running.kill()
  },
)
