import type { Socket } from 'node:net'
import t from 'tap'
import type { WebSocket } from 'ws'
import { openSession, type SessionClient } from '../fixtures/session-client.ts'
import { answerResponses, startSessionGateway } from '../fixtures/session-gateway.ts'
import { until } from '../fixtures/until.ts'

/** The connection under a WebSocket, which ws does not expose. */
function socketBelow(socket: WebSocket): Socket {
  return (socket as unknown as { readonly _socket: Socket })._socket
}

await t.test(
  'Live: the exchange of a client that leaves before its first message is aborted, however it leaves',
  async t => {
    const gateway = await startSessionGateway(t, answerResponses, { keyModels: ['gemini-live'] })
    const url = `${gateway.liveUrl}?key=${gateway.key}`
    const ways: Record<string, (client: SessionClient) => void> = {
      'by a close frame': ({ socket }) => socket.close(1000),
      'by a close frame without a code': ({ socket }) => socket.close(),
      'by a reset': ({ socket }) => socketBelow(socket).resetAndDestroy(),
      'by the end of its connection': ({ socket }) => socketBelow(socket).end(),
      'after a ping': ({ socket }) => socket.ping('', undefined, () => socket.terminate()),
    }
    const exchanges = () => gateway.logLines.filter(line => line.includes('"msg":"exchange"'))

    for (const [way, leave] of Object.entries(ways)) {
      const before = exchanges().length
      const client = await openSession(t, url)
      leave(client)
      await until(() => exchanges().length > before)

      t.match(JSON.parse(exchanges().at(-1) ?? ''), { operation: 'live', outcome: 'aborted' }, way)
      const { code } = await client.closed
      if (way.includes('close frame')) t.equal(code, 1000, `its close frame is returned: ${way}`)
    }

    t.same(gateway.upstream.sessions, [])
    t.same(await gateway.charges(), [])
  },
)
