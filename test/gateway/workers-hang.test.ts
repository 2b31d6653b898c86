import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { ControlClient } from '../../lib/control/control-client.ts'
import { startTwoWorkers } from '../fixtures/two-workers.ts'
import { until } from '../fixtures/until.ts'

const lostExecutable = pathToFileURL(join(import.meta.dirname, '../fixtures/lost-executable.ts')).href

function stop(t: Test, pid: number): void {
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has exited, as it should.
    }
  })
}

await t.test('a hanging worker delays no reload, and is replaced', async t => {
  const gateway = await startTwoWorkers(t)
  const [hung = 0] = await gateway.allListen()
  t.equal((await gateway.ask()).status, 200)
  const counted = async () =>
    /^gateway_charges_total.*/m.exec(await (await fetch(`${gateway.adminUrl}/metrics`)).text())?.[0]
  const before = await counted()
  t.equal(before, 'gateway_charges_total{source="provider"} 1')
  stop(t, hung)
  t.equal(await counted(), before, 'metrics keep their values')

  gateway.child.kill('SIGHUP')
  await until(() => gateway.written().includes('was read again'))
  await gateway.allListen([hung])
  for (let count = 0; count < 4; count += 1) t.equal((await gateway.ask()).status, 200)
  t.strictSame(await gateway.breaches(), [])
})

await t.test('a key is revoked while a worker hangs, also for its replacement', async t => {
  const gateway = await startTwoWorkers(t)
  const [hung = 0] = await gateway.allListen()
  stop(t, hung)
  const control = new ControlClient(join(gateway.configFile, '..', 'data', 'gateway.db.sock'))
  await control.revokeKey(gateway.keyId)
  await gateway.allListen([hung])
  for (let count = 0; count < 4; count += 1) t.equal((await gateway.ask()).status, 401)
})

await t.test('a worker that cannot start is retried, and nothing else ends', async t => {
  const gateway = await startTwoWorkers(t, { imports: [lostExecutable] })
  const [lost = 0] = await gateway.allListen()
  gateway.child.kill('SIGUSR2')
  const stream = await gateway.openStream()
  const other = await gateway.openStream()
  process.kill(lost, 'SIGKILL')
  await Promise.race([stream.ended, other.ended])
  await until(() => gateway.written().includes('a worker cannot start'))
  t.equal((await gateway.ask()).status, 200, 'the other worker continues')
  gateway.child.kill('SIGUSR2')
  await gateway.allListen([lost])
  for (let count = 0; count < 4; count += 1) t.equal((await gateway.ask()).status, 200)
  t.equal(gateway.child.exitCode, null)
})
