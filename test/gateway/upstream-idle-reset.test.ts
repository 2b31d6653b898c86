import { subscribe } from 'node:diagnostics_channel'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { askOnce, startBehind } from '../fixtures/egress-gateway.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { plainAnswer, startRawUpstream, type RawUpstream } from '../fixtures/raw-upstream.ts'
import { startSocksEgress } from '../fixtures/socks-egress.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { startTlsUpstream, trustTestAuthority } from '../fixtures/tls-upstream.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const answer = () => plainAnswer(200, ['content-type', 'application/json'], openai.document)
const roundsCount = 12

trustTestAuthority()

interface Route {
  readonly upstream: RawUpstream
  readonly gateway: TestGateway
  readonly reset: () => void
}

const routes: Readonly<Record<string, () => Promise<Route>>> = {
  direct: async () => {
    const upstream = await startRawUpstream(t, answer)
    const reset = (): void => {
      for (const socket of upstream.openSockets) socket.resetAndDestroy()
    }
    return { upstream, gateway: await startTestGateway(t, { config: callConfig(upstream.origin) }), reset }
  },
  'through a proxy': async () => {
    const upstream = await startTlsUpstream(t, answer)
    const proxy = await startSocksEgress(t)
    const gateway = await startBehind(t, upstream.publicOrigin, { 'fi-1': proxy.url })
    return { upstream, gateway, reset: () => proxy.reset() }
  },
}

for (const [name, start] of Object.entries(routes)) {
  await t.test(
    `${name}: an idle connection that is reset as a request comes is no failure of the route`,
    async t => {
      const { upstream, gateway, reset } = await start()
      let isResetting = false
      // Like a proxy that restarts. A request that was already written must not be repeated; these are counted below.
      subscribe('undici:request:create', () => {
        if (isResetting) reset()
        isResetting = false
      })

      let unknownCount = 0
      for (let round = 0; round < roundsCount; round += 1) {
        t.equal((await askOnce(gateway)).status, 200)
        isResetting = true
        const { status, body } = await askOnce(gateway)
        if (status === 502) {
          unknownCount += 1
          t.match(
            body.toString(),
            /"code":"upstream_failed"/,
            'only a request that may have been sent is not repeated',
          )
        } else {
          t.equal(status, 200)
        }
      }

      const answeredCount = 2 * roundsCount - unknownCount
      t.ok(upstream.requests.length >= answeredCount, 'every served request was sent')
      t.ok(upstream.requests.length <= 2 * roundsCount, 'and nothing was sent twice')
      await settled(gateway, 2 * roundsCount)
      const charges = await gateway.charges()
      t.equal(charges.filter(({ amount }) => amount !== '0.000000').length, answeredCount)
      t.equal(charges.filter(({ flags }) => flags.includes('ambiguous')).length, unknownCount)
      t.notOk(gateway.logLines.some(line => line.includes('"alarm":"egress_down"')))
      await checkMoney(t, gateway)
    },
  )
}
