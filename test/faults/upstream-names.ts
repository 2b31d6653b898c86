import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { callConfig } from '../fixtures/dialect-call.ts'
import { startDnsServer } from '../fixtures/dns-server.ts'
import { providerHost, trustTestAuthority } from '../fixtures/tls-upstream.ts'
import type { Fault, FaultContext } from './fault.ts'
import { ask, openai, sentence } from './observe.ts'

const pem = (name: string): string => readFileSync(join(import.meta.dirname, '../fixtures/tls', name), 'utf8')

interface Provider {
  readonly server: Server
  readonly port: number
  requestCount: number
}

/** A provider of that name at an address of this machine. */
async function startProvider(context: FaultContext, address: string, port = 0): Promise<Provider> {
  trustTestAuthority()
  const server = createServer({ cert: pem('good.pem'), key: pem('good.key') })
  server.listen(port, address)
  await once(server, 'listening')
  context.t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const provider: Provider = { server, port: (server.address() as AddressInfo).port, requestCount: 0 }
  server.on('request', (request, response) => {
    provider.requestCount += 1
    request.resume()
    request.on('end', () => response.end(openai.document))
  })
  return provider
}

/** A gateway that asks a DNS server of this machine. */
async function startNamed(context: FaultContext, port: number) {
  const dns = await startDnsServer(context.t)
  const config = callConfig(`https://${providerHost}:${port}`, {}, { dns: { servers: [dns.address] } })
  const gateway = await context.startGateway({ config })
  const askNow = async (): Promise<string> => {
    const received = await ask(context, openai, { gateway })
    return `${sentence(received, openai, openai.document)}; ${await context.nextEnd(gateway)}`
  }
  return { dns, askNow }
}

/** Names are asked for anew until an answer that is older than it may be is forgotten. */
async function untilSeen(askNow: () => Promise<string>, isSeen: () => boolean): Promise<string> {
  const found = new Set<string>()
  for (let turn = 0; turn < 100 && !isSeen(); turn += 1) {
    found.add(await askNow())
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return [...found].at(-1) ?? 'nothing'
}

async function appear(context: FaultContext): Promise<string> {
  const provider = await startProvider(context, '127.0.0.1')
  const { dns, askNow } = await startNamed(context, provider.port)
  const before = await askNow()
  const wasAsked = dns.asked.includes(providerHost) ? 'asked' : 'NOT ASKED'
  dns.names.set(providerHost, '127.0.0.1')
  const after = await untilSeen(askNow, () => provider.requestCount > 0)
  return `unknown: ${before}, ${wasAsked}; known: ${after}`
}

async function move(context: FaultContext): Promise<string> {
  const old = await startProvider(context, '127.0.0.1')
  const fresh = await startProvider(context, '127.0.0.2', old.port)
  const { dns, askNow } = await startNamed(context, old.port)
  dns.names.set(providerHost, '127.0.0.1')
  const before = await askNow()
  dns.names.set(providerHost, '127.0.0.2')
  const during = await askNow()
  const drains = old.requestCount === 2 && fresh.requestCount === 0 ? 'goes on' : 'IS LEFT'
  // The address is taken away: it accepts nothing more, and closes what is idle.
  old.server.close()
  old.server.closeAllConnections()
  const after = await untilSeen(askNow, () => fresh.requestCount > 0)
  return `at first: ${before}; the open connection ${drains}: ${during}; then at the new address: ${after}`
}

const served = '200 whole, bytes equal; completed; 0.046000 provider'

export const upstreamNames: readonly Fault[] = [
  {
    number: 2,
    title: 'NXDOMAIN, and then the name is there',
    expected: `unknown: 502 in its dialect; refused upstream_unreachable; nothing owed, asked; known: ${served}`,
    run: appear,
  },
  {
    number: 61,
    title: 'the name of a provider leads to another address, and the old one is taken away',
    expected: `at first: ${served}; the open connection goes on: ${served}; then at the new address: ${served}`,
    run: move,
  },
]
