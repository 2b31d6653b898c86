import t from 'tap'
import { startTwoWorkers } from '../fixtures/two-workers.ts'
import { until } from '../fixtures/until.ts'
import { workerPids } from '../fixtures/worker-pids.ts'

await t.test('a killed worker cuts only its own exchanges, and is replaced', async t => {
  const gateway = await startTwoWorkers(t)
  const pids = await gateway.allListen()
  // New connections go to the workers in turn, so each has one stream.
  const streams = [await gateway.openStream(), await gateway.openStream()]
  t.ok((await gateway.heldMicros()) > 0)
  const [lost = 0] = pids
  process.kill(lost, 'SIGKILL')

  const first = await Promise.race(streams.map(stream => stream.ended.then(() => stream)))
  t.notMatch(first.received().toString(), '[DONE]')
  await gateway.allListen([lost])
  t.equal(await gateway.ready(), 200)
  for (let count = 0; count < 4; count += 1) t.equal((await gateway.ask()).status, 200)

  gateway.endStreams()
  const other = streams.find(stream => stream !== first)
  await other?.waitFor('[DONE]')
  t.match(other?.received().toString(), '[DONE]', 'the other stream arrived whole')
  t.match(
    gateway.lines().find(line => line['msg'] === 'released a hold that a crash left open'),
    { hold: { likelyMicros: Number } },
  )
  t.match(
    gateway.lines().find(line => String(line['msg']).startsWith('a worker has ended')),
    { signal: 'SIGKILL', level: 'error' },
  )
  await until(async () => (await gateway.heldMicros()) === 0)
  t.strictSame(
    (await gateway.charges()).map(({ outcome }) => outcome),
    Array.from({ length: 5 }, () => 'completed'),
  )
  t.strictSame(await gateway.breaches(), [])
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  t.match(metrics, /^gateway_charges_total\{source="provider"\} 5$/m)
})

await t.test(
  'without a worker the gateway is not ready, until one listens on the same port again',
  async t => {
    const gateway = await startTwoWorkers(t)
    await gateway.allListen()
    t.equal((await gateway.ask()).status, 200)
    const killed = new Set<number>()
    // Repeated, since the moment without a worker may be too short to be seen.
    await until(async () => {
      for (const pid of workerPids(gateway.written()).values()) {
        if (killed.has(pid)) continue
        killed.add(pid)
        process.kill(pid, 'SIGKILL')
      }
      return (await gateway.ready()) === 503
    }, 20_000)
    await gateway.allListen([...killed])
    await until(async () => (await gateway.ready()) === 200)
    t.equal((await gateway.ask()).status, 200)
  },
)

await t.test(
  'workers exit with the process that started them, without clean ends of their streams',
  async t => {
    const gateway = await startTwoWorkers(t)
    const pids = await gateway.allListen()
    const stream = await gateway.openStream()
    gateway.child.kill('SIGKILL')
    await stream.ended
    t.notOk(stream.received().toString().endsWith('\r\n0\r\n\r\n'), 'its end is missing')
    const lives = (pid: number): boolean => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    await until(() => !pids.some(lives))
    t.pass('no worker is left')
  },
)
