import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { startBlackHole } from '../fixtures/black-hole.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { plainAnswer, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { startTlsUpstream, trustTestAuthority } from '../fixtures/tls-upstream.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, ask, eachDialect, sentence, serves } from './observe.ts'

const ambiguous = '0.000000 provider ambiguous'

/** A port of this machine on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Sends a request through a gateway of its own in front of this origin. */
async function askBefore(context: FaultContext, origin: string, withinMs: number): Promise<string> {
  const gateway = await context.startGateway({
    config: callConfig(origin, { timeouts: { connectMs: 500 } }),
  })
  return await eachDialect(async call => {
    const began = performance.now()
    const received = await ask(context, call, { gateway })
    const isInTime = performance.now() - began < withinMs
    return `${sentence(received, call, '')}${isInTime ? ' in time' : ' LATE'}; ${await context.nextEnd(gateway)}`
  })
}

/** The provider responds like this to each request; returns the client's response, the outcome and the attempts. */
async function askFailing(context: FaultContext, answer: () => RawAnswer): Promise<string> {
  return await eachDialect(async call => {
    const before = context.upstream.requests.length
    context.upstream.answer = answer
    const seen = `${sentence(await ask(context, call), call, '')}; ${await context.nextEnd()}`
    return `${seen}; sent ${context.upstream.requests.length - before} time`
  })
}

export const upstreamBeforeHeaders: readonly Fault[] = [
  {
    number: 1,
    title: 'connection refused',
    expected: '502 in its dialect in time; refused upstream_unreachable; nothing owed',
    run: async context => await askBefore(context, `http://127.0.0.1:${await closedPort()}`, 1000),
  },
  {
    number: 2,
    title: 'a name that does not resolve',
    expected: '502 in its dialect in time; refused upstream_unreachable; nothing owed',
    // The resolver itself refuses a label of more than 63 letters, so nothing leaves this machine.
    run: context => askBefore(context, `https://${'a'.repeat(70)}.example`, 1000),
  },
  {
    number: 3,
    title: 'packets are dropped: no connection is established',
    expected: '504 in its dialect in time; refused upstream_timeout; nothing owed',
    run: async context => await askBefore(context, await startBlackHole(context.t), 3000),
  },
  {
    number: 4,
    title: 'certificates that are expired, of another host, or self-signed',
    expected:
      '502 in its dialect in time; refused upstream_unreachable; nothing owed; no request and no key received',
    async run(context) {
      trustTestAuthority()
      const names = ['expired', 'wrong-host', 'self-signed'] as const
      const found: string[] = []
      for (const name of names) {
        const upstream = await startTlsUpstream(context.t, () => plainAnswer(200, [], '{}'), name)
        const origin = upstream.origin.replace('http:', 'https:')
        const seen = await askBefore(context, origin, 1000)
        found.push(`${seen}; ${upstream.received.length === 0 ? 'no' : 'A'} request and no key received`)
      }
      return alike(names, found)
    },
  },
  {
    number: 5,
    title: 'accepts and never responds',
    expected: `504 in its dialect; refused upstream_timeout; ${ambiguous}; sent 1 time; no connection left`,
    setting: { provider: { timeouts: { firstByteMs: 200 } } },
    async run(context) {
      const seen = await askFailing(context, () => ({ pieces: [] }))
      return `${seen}; ${context.upstream.openSockets.size === 0 ? 'no' : 'A'} connection left`
    },
  },
  {
    number: 6,
    title: 'resets when it has received the request',
    expected: `502 in its dialect; refused upstream_failed; ${ambiguous}; sent 1 time; next one served`,
    async run(context) {
      const seen = await askFailing(context, () => ({ pieces: [], then: 'reset' }))
      return `${seen}; ${await serves(context)}`
    },
  },
  {
    number: 6,
    title: 'closes when it has received the request',
    expected: `502 in its dialect; refused upstream_failed; ${ambiguous}; sent 1 time; next one served`,
    async run(context) {
      const seen = await askFailing(context, () => ({ pieces: [], then: 'end' }))
      return `${seen}; ${await serves(context)}`
    },
  },
  {
    number: 15,
    title: 'a redirect to another host',
    expected: '307 whole, bytes equal; completed; 0.000000 provider provider_refused; other host saw nothing',
    async run(context) {
      const other = await startRawUpstream(context.t, () => plainAnswer(200, [], '{}'))
      const seen = await eachDialect(async call => {
        context.upstream.answer = () => plainAnswer(307, ['location', `${other.origin}/v1`], 'elsewhere')
        return `${sentence(await ask(context, call), call, 'elsewhere')}; ${await context.nextEnd()}`
      })
      return `${seen}; other host saw ${other.received.length === 0 ? 'nothing' : 'IT'}`
    },
  },
  {
    number: 14,
    title: 'busy: 429, 503 and 529 with retry-after',
    expected:
      '429, 503, 529 handed on, bytes equal, retry-after too; completed; 0.000000 provider provider_refused',
    run: context =>
      eachDialect(async call => {
        const body = '{"error":{"type":"overloaded_error","message":"Busy \u2014 later."}}'
        const seen: string[] = []
        let ends = ''
        for (const status of [429, 503, 529]) {
          context.upstream.answer = () =>
            plainAnswer(status, ['content-type', 'application/json', 'Retry-After', '7'], body)
          const { answer } = await ask(context, call)
          const isEqual = answer?.body.equals(Buffer.from(body)) && answer.headers.get('retry-after') === '7'
          seen.push(isEqual ? String(answer?.status) : `${status} CHANGED`)
          ends = await context.nextEnd()
        }
        return `${seen.join(', ')} handed on, bytes equal, retry-after too; ${ends}`
      }),
  },
]
