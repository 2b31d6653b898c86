import t from 'tap'
import { startTwoWorkers } from '../fixtures/two-workers.ts'
import { until } from '../fixtures/until.ts'
import { workerPids } from '../fixtures/worker-pids.ts'

await t.test(
  'a worker that is killed takes its own exchanges with it and no other, and is replaced',
  async t => {
    const gateway = await startTwoWorkers(t)
    const pids = await gateway.allListen()
    // New connections go to the workers in turn: one stream is on each.
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
    t.match(other?.received().toString(), '[DONE]', 'the other stream came whole')
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
  },
)

await t.test('with no worker left it is not ready, until one is there again on the same port', async t => {
  const gateway = await startTwoWorkers(t)
  await gateway.allListen()
  t.equal((await gateway.ask()).status, 200)
  const killed = new Set<number>()
  // Until it was seen: the moment without a worker may be too short to be looked at, once.
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
})

await t.test('workers end with the process that started them, without clean ends', async t => {
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
})
