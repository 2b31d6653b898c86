import { connect } from 'node:net'
import type { Socket } from 'node:net'
import t from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'
import { until } from '../fixtures/until.ts'

/** The limit of the area, in `lib/web/open-area.ts`. */
const connectionsMax = 2000

await t.test('connections that never end their heads make room for others', { timeout: 60_000 }, async t => {
  const area = await startAccountArea(t)
  const { hostname, port } = new URL(area.url)
  const slow: Socket[] = []
  let closed = 0
  t.teardown(() => slow.forEach(socket => socket.destroy()))
  for (let opened = 0; opened < connectionsMax; opened += 1) {
    const socket = connect(Number(port), hostname)
    slow.push(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => (closed += 1))
    socket.resume()
    await new Promise<void>(resolve => socket.once('connect', () => resolve()))
    socket.write('GET /sign-in HTTP/1.1\r\nhost: a\r\nx: ')
  }
  const isServed = (): Promise<boolean> =>
    area
      .browser()
      .get('/sign-in')
      .then(
        ({ status }) => status === 200,
        () => false,
      )
  t.equal(await isServed(), false, 'these connections leave no room')
  const dripping = setInterval(() => slow.forEach(socket => socket.writable && socket.write('x')), 1000)
  t.teardown(() => clearInterval(dripping))

  // A head may take ten seconds. By default Node checks every thirty.
  await until(isServed, 25_000)

  await until(() => closed === connectionsMax, 25_000)
})
