import { connect } from 'node:net'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { stringify } from 'yaml'
import { loadConfig } from '../../lib/config/load-config.ts'
import { startGateway } from '../../lib/gateway/gateway.ts'
import { createLog } from '../../lib/observability/log.ts'
import { plugins } from '../../plugins/index.ts'
import { freePort } from '../fixtures/free-port.ts'

const log = createLog({ level: 'silent' })

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  return isOpen
}

await t.test('a gateway that starts is ready when it listens, and not before', async t => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const file = join(t.testdir(), 'gateway.yaml')
  const sections = {
    listen: { host: '127.0.0.1', port },
    admin: { listen: { host: '127.0.0.1', port: adminPort } },
    // Its pages take a while to load.
    operatorArea: { listen: { host: '127.0.0.1', port: 0 } },
    store: 'sqlite:g.db',
    providers: { sandbox: {} },
    models: { m: { provider: 'sandbox', rubPerMillion: { input: '1', output: '1' } } },
  }
  writeFileSync(file, stringify(sections))
  const seen: string[] = []
  let isStarted = false
  const probe = async (): Promise<void> => {
    while (!isStarted || seen.length === 0) {
      const status = await fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
        ({ status: code }) => code,
        () => undefined,
      )
      if (status !== undefined) seen.push(`${status}: ${status !== 200 || (await isListening(port))}`)
      await delay(10)
    }
  }
  const probing = probe()
  const gateway = await startGateway({ config: loadConfig(file, { env: {}, plugins }).config, plugins, log })
  t.teardown(() => gateway.close(1000))
  isStarted = true
  await probing

  t.ok(
    seen.some(one => one.startsWith('503')),
    'it was probed before it listened',
  )
  t.same(
    seen.filter(one => one.endsWith('false')),
    [],
    'whenever it was ready a connection was accepted',
  )
  t.equal((await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status, 200)
})
