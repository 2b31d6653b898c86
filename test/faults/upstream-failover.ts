import { startBlackHole } from '../fixtures/black-hole.ts'
import { exchangeEnds } from '../fixtures/exchange-ends.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { deadOrigin } from '../fixtures/two-providers.ts'
import type { TestGateway } from '../fixtures/test-gateway.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, ask, json, openai, sentence } from './observe.ts'

const busy = '{"error":{"message":"Busy","type":"server_error","code":null}}'

/** Two providers of one model; the second responds well. Sends one request for each name. */
async function askTwo(
  context: FaultContext,
  first: string,
  names: readonly string[],
  failover?: object,
  look: (gateway: TestGateway) => void = () => undefined,
): Promise<string> {
  const { upstream } = context
  const provider = (origin: string) => ({
    credentials: ['key'],
    dialects: { openai: { baseUrl: `${origin}/v1` } },
    timeouts: { connectMs: 500 },
    ...(failover !== undefined && { failover }),
  })
  const gateway = await context.startGateway({
    config: {
      providers: { first: provider(first), second: provider(upstream.origin) },
      models: { '*': { provider: ['first', 'second'], rubPerMillion: { input: '1000', output: '1000' } } },
    },
  })
  upstream.answer = () => plainAnswer(200, json, openai.document)
  const found: string[] = []
  for (const _ of names) {
    const before = upstream.requests.length
    const received = await ask(context, openai, { gateway })
    const sent = `second asked ${upstream.requests.length - before} time`
    const body = received.answer?.status === 200 ? openai.document : busy
    found.push(`${sentence(received, openai, body)}; ${await context.nextEnd(gateway)}; ${sent}`)
  }
  look(gateway)
  return alike(names, found)
}

/** Sends requests to a first provider that responds with these statuses in turn. */
async function refuse(
  context: FaultContext,
  statuses: readonly number[],
  failover?: object,
): Promise<string> {
  let turn = -1
  const first = await startRawUpstream(context.t, () => {
    turn += 1
    return plainAnswer(statuses[turn] ?? 200, [...json, 'retry-after', '1'], busy)
  })
  return await askTwo(context, first.origin, statuses.map(String), failover)
}

const served = '200 whole, bytes equal; completed; 0.046000 provider; second asked 1 time'

export const upstreamFailover: readonly Fault[] = [
  {
    number: 1,
    title: 'connection refused, and there is another provider',
    expected: served,
    run: async context => await askTwo(context, await deadOrigin(), ['once', 'again']),
  },
  {
    number: 1,
    title: 'connection refused seven times, and there is another provider: the breaker opens',
    expected: `${served}; attempts 2, 2, 2, 2, 2, 1, 1`,
    async run(context) {
      let attempts: unknown[] = []
      const names = Array.from({ length: 7 }, (_, n) => String(n))
      const seen = await askTwo(context, await deadOrigin(), names, undefined, gateway => {
        attempts = exchangeEnds(gateway).map(end => ('attempts' in end ? end.attempts : undefined))
      })
      return `${seen}; attempts ${attempts.join(', ')}`
    },
  },
  {
    number: 2,
    title: 'a name that does not resolve, and there is another provider',
    expected: served,
    run: context => askTwo(context, `https://${'a'.repeat(70)}.example`, ['once']),
  },
  {
    number: 3,
    title: 'packets are dropped, and there is another provider',
    expected: served,
    run: async context => await askTwo(context, await startBlackHole(context.t), ['once']),
  },
  {
    number: 14,
    title: 'busy: 503 and 529, and there is another provider',
    expected: served,
    run: context => refuse(context, [503, 529]),
  },
  {
    number: 14,
    title: 'busy: 429, 503 and 529, another provider, and failover is off',
    expected:
      '429: 429 whole, bytes equal; completed; 0.000000 provider provider_refused; second asked 0 time / 503: 503 whole, bytes equal; completed; 0.000000 provider provider_refused; second asked 0 time / 529: 529 whole, bytes equal; completed; 0.000000 provider provider_refused; second asked 0 time',
    run: context => refuse(context, [429, 503, 529], { on: [] }),
  },
]
