import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createSocket } from 'node:dgram'
import { callConfig } from '../fixtures/dialect-call.ts'
import { providerHost, trustTestAuthority } from '../fixtures/tls-upstream.ts'
import type { Fault, FaultContext } from './fault.ts'
import { ask, openai, sentence } from './observe.ts'
import type { Test } from 'tap'

const pem = (name: string): string => readFileSync(join(import.meta.dirname, '../fixtures/tls', name), 'utf8')

interface Provider {
  readonly server: Server
  readonly port: number
  requestCount: number
}

/** A provider with that name at an address of this machine. */
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

/** A DNS server that knows a few names, and responds NXDOMAIN for all others. */
interface DnsServer {
  /** `127.0.0.1:PORT` */
  readonly address: string
  /** IPv4 addresses by name; may be changed at any time. */
  readonly names: Map<string, string>
  /** The requested names, in order. */
  readonly asked: string[]
}

const typeA = 1
const classIn = 1
const nxDomain = 3
/** The time to live of an answer in seconds. */
const ttl = 1

async function startDnsServer(t: Test): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const names = new Map<string, string>()
  const asked: string[] = []
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query)
    asked.push(name)
    const address = names.get(name)
    const answer = address !== undefined && type === typeA ? recordOf(address) : undefined
    const head = Buffer.from(query.subarray(0, 12))
    // An answer to a question that requests recursion and gets it.
    head.writeUInt16BE(0x81_80 | (address === undefined ? nxDomain : 0), 2)
    head.writeUInt16BE(answer === undefined ? 0 : 1, 6)
    head.writeUInt32BE(0, 8)
    socket.send(
      Buffer.concat([head, query.subarray(12, end), answer ?? Buffer.alloc(0)]),
      from.port,
      from.address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, names, asked }
}

interface Question {
  readonly name: string
  readonly type: number
  /** Its end in the message. */
  readonly end: number
}

function readQuestion(query: Buffer): Question {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  // Resolvers may ask in any case, and check that it is repeated.
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** The record of the name in the question, which is at byte 12. */
function recordOf(address: string): Buffer {
  const record = Buffer.alloc(16)
  record.writeUInt16BE(0xc0_0c, 0)
  record.writeUInt16BE(typeA, 2)
  record.writeUInt16BE(classIn, 4)
  record.writeUInt32BE(ttl, 6)
  record.writeUInt16BE(4, 10)
  record.set(address.split('.').map(Number), 12)
  return record
}

/** A gateway that uses a DNS server of this machine. */
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

/** Sends requests until an expired answer is no longer cached. */
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
  // The address is taken out of service: it accepts no more connections, and closes idle ones.
  old.server.close()
  old.server.closeAllConnections()
  const after = await untilSeen(askNow, () => fresh.requestCount > 0)
  return `at first: ${before}; the open connection ${drains}: ${during}; then at the new address: ${after}`
}

const served = '200 whole, bytes equal; completed; 0.046000 provider'

export const upstreamNames: readonly Fault[] = [
  {
    number: 2,
    title: 'NXDOMAIN, and then the name exists',
    expected: `unknown: 502 in its dialect; refused upstream_unreachable; nothing owed, asked; known: ${served}`,
    run: appear,
  },
  {
    number: 61,
    title: "a provider's name changes to another address, and the old one is taken out of service",
    expected: `at first: ${served}; the open connection goes on: ${served}; then at the new address: ${served}`,
    run: move,
  },
]
