import { request as httpRequest, Agent } from 'node:http'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

// Sends the bodies of an order from a thread of its own, so that making them does not count as the gateway's delay.

export interface HostileOrder {
  readonly url: string
  readonly key: string
  readonly kind: 'bodies' | 'texts' | 'invalid-keys'
  readonly count: number
}

/** The status of each response, by the name of the request. */
export type HostileReport = readonly (readonly [name: string, status: number])[]

const head = '{"model":"test-model","max_tokens":100,"messages":[{"role":"user","content":'
const many = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join('')

const bodies = (): Readonly<Record<string, string>> => ({
  '10,000 arrays in one another': `${head}${'['.repeat(10_000)}${']'.repeat(10_000)}}]}`,
  '1,000,000 open arrays': '['.repeat(1_000_000),
  '10,000 objects in one another': `${head}${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}]}`,
  'the model twice': '{"model":"test-model","model":"other-model","messages":[]}',
  'the model twice, once escaped': '{"model":"test-model","\\u006dodel":"other-model","messages":[]}',
  'an image of 20 MB': `${head}[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'iVBORw0K'.repeat(2_500_000)}"}}]}]}`,
  'half of a string': `${head}"${'a'.repeat(1_000_000)}`,
  'a number of a million digits': `{"model":"test-model","max_tokens":${'9'.repeat(1_000_000)},"messages":[]}`,
  '1,000,000 keys': `{${many(1_000_000, n => `"k${n}":1,`)}"model":"test-model"`,
})

/** Prompts that take a tokenizer long, in requests whose response has no usage. */
const texts = (): Readonly<Record<string, string>> => {
  const ask = (text: string): string => `${head}${JSON.stringify(text)}}]}`
  return {
    'one letter': ask('a'.repeat(500_000)),
    blanks: ask(' '.repeat(500_000)),
    'marks of no word': ask('^'.repeat(500_000)),
    emoji: ask('\u{1f469}\u200d'.repeat(100_000)),
    'no blanks': ask('qwertzuiop'.repeat(50_000)),
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 32 })

async function post({ url }: HostileOrder, key: string, body: string): Promise<number> {
  return await new Promise(resolve => {
    const request = httpRequest(`${url}/v1/chat/completions`, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${key}`, 'content-length': Buffer.byteLength(body) },
    })
    request.on('error', () => resolve(0)) // There was no response.
    request.on('response', response => {
      response.resume()
      response.on('close', () => resolve(response.statusCode ?? 0))
    })
    request.end(body)
  })
}

/** Sends endlessly, and stops when a response arrives. */
async function postEndlessly(order: HostileOrder, framing: string): Promise<number> {
  const { hostname, port } = new URL(order.url)
  return await new Promise(resolve => {
    const socket = connect({ host: hostname, port: Number(port) })
    // Up to the limit it is valid JSON, as it would otherwise be refused for its content.
    const beginning = framing.startsWith('transfer') ? '6\r\n{"a":"\r\n' : '{"a":"'
    const piece = Buffer.from(`10000\r\n${'a'.repeat(65_536)}\r\n`)
    const write = (): void => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.on('drain', write)
    socket.on('error', () => undefined) // What was received before counts.
    let received = ''
    socket.on('data', chunk => {
      received += chunk.toString('latin1')
      socket.destroy()
    })
    socket.on('close', () => resolve(Number(received.split(' ')[1] ?? 0)))
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${order.key}\r\n${framing}\r\n\r\n${beginning}`,
    )
    write()
  })
}

async function flood(order: HostileOrder): Promise<HostileReport> {
  const found: [string, number][] = []
  let left = order.count
  const client = async (): Promise<void> => {
    for (; left > 0;) {
      left -= 1
      const key = `gw-${String(left).padStart(43, 'A')}`
      found.push(['invalid key', await post(order, key, '{"model":"test-model","messages":[]}')])
    }
  }
  await Promise.all(Array.from({ length: 32 }, client))
  return found
}

async function run(order: HostileOrder): Promise<HostileReport> {
  if (order.kind === 'invalid-keys') return await flood(order)
  const found: [string, number][] = []
  const named = Object.entries(order.kind === 'bodies' ? bodies() : texts())
  for (let turn = 0; turn < order.count; turn += 1) {
    found.push(
      ...(await Promise.all(
        named.map(async ([name, body]): Promise<[string, number]> => [
          name,
          await post(order, order.key, body),
        ]),
      )),
    )
  }
  if (order.kind === 'bodies') {
    found.push(['100 GB announced', await postEndlessly(order, 'content-length: 100000000000')])
    found.push(['without end', await postEndlessly(order, 'transfer-encoding: chunked')])
  }
  return found
}

const report = await run(workerData as HostileOrder)
agent.destroy()
parentPort?.postMessage(report)
