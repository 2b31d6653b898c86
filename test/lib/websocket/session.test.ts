import { mock } from 'node:test'
import { duplexPair } from 'node:stream'
import t from 'tap'
import { GatewayError } from '../../../lib/pipeline/errors.ts'
import type { Outcome } from '../../../lib/pipeline/exchange.ts'
import { Peer } from '../../../lib/websocket/peer.ts'
import { Session } from '../../../lib/websocket/session.ts'
import { textFrame } from '../../../lib/websocket/web-socket-frames.ts'

const limits = { messageBytesMax: 1000, onHeld: () => undefined }

await t.test('a session without money is closed even if its turn never ends', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const [clientEnd, client] = duplexPair()
  const [providerEnd, provider] = duplexPair()
  let outcome: Outcome | undefined
  const session = new Session({
    client: new Peer(client, { ...limits, from: 'client' }),
    provider: new Peer(provider, { ...limits, from: 'provider' }),
    taps: [
      {
        isBusy: true,
        endReason: new GatewayError('balance_insufficient', 'Top up.'),
        onClientMessage: () => undefined,
        onProviderMessage: () => undefined,
        endAfterTurn: () => undefined,
      },
    ],
    limits: { sessionMs: 3_600_000, idleMs: 3_600_000, lastTurnMs: 120_000, drainMs: 120_000 },
    onClientLeft: () => 'abort',
    errorText: () => undefined,
    onEnd: end => (outcome = end),
  })
  const running = session.run()
  const received: Buffer[] = []
  clientEnd.on('data', (bytes: Buffer) => received.push(bytes))
  providerEnd.resume()
  providerEnd.write(textFrame(Buffer.from('{}'), 'server'))
  while (received.length === 0) await new Promise(resolve => setImmediate(resolve))
  t.equal(outcome, undefined, 'the turn has time to end')
  mock.timers.tick(120_000)
  for (let turn = 0; turn < 10; turn += 1) await new Promise(resolve => setImmediate(resolve))
  clientEnd.end()
  providerEnd.end()
  mock.timers.tick(2000)
  await running
  t.match(outcome, { kind: 'broken', error: { code: 'balance_insufficient' } })
  t.equal(Buffer.concat(received).indexOf(Buffer.from([0x03, 0xf0])) > 0, true, '1008')
})
