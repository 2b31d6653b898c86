import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { until } from '../fixtures/until.ts'

// A client that begins requests and ends none takes places of others, so a head has little time even when all are full.

/** The most connections of the pages. */
const connectionsMax = 2000
/** A head's ten seconds, the second between checks, and some for a busy machine. */
const freeMsMax = 30_000

t.jobs = 2
const { test: gateway, url } = await startAccountArea(t, {
  ...callConfig('http://127.0.0.1:9'),
  operatorArea: { listen: { host: '127.0.0.1', port: 0 } },
})

const pages = [
  { name: 'account area', url },
  { name: 'operator area', url: gateway.gateway.operatorAreaUrl ?? '' },
] as const

function open(url: string, bytes: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => undefined) // The close that follows counts.
  socket.resume()
  socket.write(bytes)
  return socket
}

// All at once: each mostly waits.
const tests = pages.map(({ name, url }) =>
  t.test(`${name}: heads that do not end take places only for their time limit`, async t => {
    const began = performance.now()
    const slow = Array.from({ length: connectionsMax }, () =>
      open(url, 'GET /sign-in HTTP/1.1\r\nhost: a\r\nx-slow: '),
    )
    t.teardown(() => slow.forEach(socket => socket.destroy()))
    await until(() => slow.every(socket => !socket.connecting))
    // They continue, a byte at a time, which ends no head.
    const dripping = setInterval(() => slow.forEach(socket => socket.writable && socket.write('a')), 1000)
    t.teardown(() => clearInterval(dripping))

    let status = 0
    while (status !== 200 && performance.now() - began < freeMsMax) {
      status = await fetch(`${url}/sign-in`).then(
        response => response.status,
        () => 0, // All places are still taken.
      )
      if (status !== 200) await delay(250)
    }

    t.equal(status, 200)
    t.comment(`${name}: a place after ${Math.round(performance.now() - began)} ms`)
    await until(() => slow.every(socket => socket.closed))
    t.ok(
      slow.every(socket => socket.closed),
      'all of them are closed',
    )
  }),
)
await Promise.all(tests)
