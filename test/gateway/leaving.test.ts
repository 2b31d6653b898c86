import t, { type Test } from 'tap'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { leavingCalls, leavingConfig, leavingPlaces, type LeavingCall } from '../fixtures/leaving-calls.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawUpstream,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

/*
 * The charge when a client leaves: every dialect and kind of provider, every place, with a stream and without. The
 * provider bills all of its work. If the gateway reads on, the charge is the provider's usage; if the operator has
 * such requests aborted, it is the reported usage, and beyond that the usual usage of such responses.
 */

/** How the client leaves: it closes the connection, closes its half, or stops reading. */
type Manner = 'leaves' | 'half-closes' | 'stalls'

interface Leaving {
  readonly place: number
  readonly manner: Manner
  readonly isStreaming: boolean
}

const streamHead = headLines(200, [
  'content-type',
  'text/event-stream',
  'transfer-encoding',
  'chunked',
  'x-request-id',
  'req-1',
])
/** More than the sockets between provider and client buffer. */
const padding = Buffer.from(`: ${'x'.repeat(65_536)}\n\n`.repeat(256))

const leavings: readonly Leaving[] = [
  ...leavingPlaces.map((_place, place) => ({ place, manner: 'leaves' as const, isStreaming: true })),
  { place: 2, manner: 'half-closes', isStreaming: true },
  { place: 2, manner: 'stalls', isStreaming: true },
  { place: 0, manner: 'leaves', isStreaming: false },
  { place: 0, manner: 'half-closes', isStreaming: false },
  { place: 2, manner: 'leaves', isStreaming: false },
]

function request(call: LeavingCall, gateway: TestGateway, isStreaming: boolean): string {
  const body = call.body(isStreaming)
  return (
    `POST ${call.path(isStreaming)} HTTP/1.1\r\nhost: gateway\r\n${call.keyHeader(gateway.key)}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

/** The response until the client leaves, and the rest of it. */
function halvesOf(call: LeavingCall, { place, manner, isStreaming }: Leaving): [Buffer, Buffer] {
  if (!isStreaming) {
    const bytes = Buffer.from(call.document)
    const at = place === 0 ? 0 : Math.floor(bytes.length / 2)
    return [bytes.subarray(0, at), bytes.subarray(at)]
  }
  const text = (from: number, to?: number): Buffer => Buffer.from(call.parts.slice(from, to).join(''))
  const rest = text(place + 1)
  return [text(0, place + 1), manner === 'stalls' ? Buffer.concat([padding, rest]) : rest]
}

async function leave(
  t: Test,
  upstream: RawUpstream,
  gateway: TestGateway,
  call: LeavingCall,
  leaving: Leaving,
): Promise<void> {
  const { manner, isStreaming } = leaving
  const [begun, rest] = halvesOf(call, leaving)
  let goOn = (): void => undefined
  const hasLeft = new Promise<void>(resolve => (goOn = resolve))
  const head = isStreaming
    ? streamHead
    : headLines(200, [
        'content-type',
        'application/json',
        'transfer-encoding',
        'chunked',
        'x-request-id',
        'req-1',
      ])
  const requestsBefore = upstream.requests.length
  upstream.answer = async () => {
    const socket = [...upstream.openSockets].at(-1)
    if (begun.length > 0) socket?.write(Buffer.concat([head, ...chunked([begun]).slice(0, -1)]))
    await hasLeft
    return { pieces: [...(begun.length > 0 ? [] : [head]), ...chunked([rest])] }
  }
  const client = await connectRaw(t, gateway.url)
  client.socket.write(request(call, gateway, isStreaming))
  await until(() => upstream.requests.length > requestsBefore)
  if (begun.length > 0) await until(() => client.received().includes(begun.subarray(-10)))
  if (manner === 'leaves') client.socket.destroy()
  if (manner === 'half-closes') client.socket.end()
  if (manner === 'stalls') client.socket.pause()
  await new Promise(resolve => setTimeout(resolve, 20))
  goOn()
}

function nameOf({ place, manner, isStreaming }: Leaving): string {
  const where = isStreaming || place === 0 ? leavingPlaces[place] : 'in the document'
  return `${manner} ${where}${isStreaming ? ', stream' : ''}`
}

const micros = (meters: Readonly<Record<string, number>>): number =>
  1000 * ((meters['input'] ?? 0) + (meters['output'] ?? 0)) + 1250 * (meters['cacheWrite5m'] ?? 0)

for (const policy of ['by default', 'abort'] as const) {
  // The handling of an aborted request depends on the dialect alone.
  const kinds = policy === 'abort' ? ['openai', 'anthropic', 'google'] : leavingCalls.map(({ kind }) => kind)
  for (const call of leavingCalls.filter(({ kind }) => kinds.includes(kind))) {
    await t.test(`${call.name}, ${policy}: a client that leaves is charged`, async t => {
      const upstream = await startRawUpstream(t, () =>
        plainAnswer(200, ['content-type', 'application/json'], call.document),
      )
      const gateway = await startTestGateway(t, {
        config: leavingConfig(upstream.origin, policy === 'abort' ? 'abort' : undefined),
        rub: 100_000,
      })
      // A completed response provides the usual usage of such responses.
      const first = await connectRaw(t, gateway.url)
      first.socket.write(request(call, gateway, false))
      await settled(gateway, 1)
      first.socket.destroy()

      for (const [index, leaving] of leavings.entries()) {
        await leave(t, upstream, gateway, call, leaving)
        const end = (await settled(gateway, index + 2)).at(-1)
        const charge = await gateway.chargeOf(end?.requestId ?? '')
        const share = (Number(charge?.amount) * 1e6) / micros(call.billed)
        const name = nameOf(leaving)
        t.comment(`${name}: ${share.toFixed(3)} ${charge?.usageSource} ${charge?.flags.join()}`)

        t.match(charge, { outcome: 'aborted' }, `${name}: a row`)
        if (policy === 'by default') {
          t.match(charge, { usageSource: 'drained', usage: call.billed, flags: [] }, name)
          t.ok(charge?.providerRequestId === 'req-1' || call.kind === 'google', `${name}: the provider's id`)
        } else {
          // A cache write is known only once it has been reported.
          const isReported = call.billed['cacheWrite5m'] === undefined || leaving.place > 0
          if (isReported && leaving.isStreaming) t.ok(share >= 0.95, `${name}: ${share}`)
          t.ok(Number(charge?.amount) > 0, `${name}: never for nothing`)
          t.equal(charge?.usageSource, 'estimated', name)
          t.ok(charge?.flags.includes('reasoning_estimated'), `${name}: marked`)
        }
        for (const socket of upstream.openSockets) socket.destroy()
        await until(() => upstream.openSockets.size === 0)
      }
      await checkMoney(t, gateway)
    })
  }
}
