import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** The fault of a request, and its side; `none` for most. */
export type Fate =
  | 'none'
  | 'upstream-resets-first'
  | 'upstream-cuts-text'
  | 'upstream-cuts-after-usage'
  | 'client-leaves'
  | 'client-reads-slowly'
  | 'bad-request'

/** The provider's response to a request, and how often it was requested. */
export interface Given {
  readonly input: number
  readonly output: number
  times: number
}

export interface SoakUpstream {
  readonly origin: string
  /** By the number of the request. */
  readonly given: ReadonlyMap<number, Given>
  closeIdle(): void
  close(): void
}

const event = (fields: string): string =>
  `data: {"id":"c","object":"chat.completion.chunk","model":"test-model",${fields}}\n\n`
const words = ['Once', ' upon', ' a', ' time', ' there', ' was', ' a', ' gateway'].map(word =>
  event(`"choices":[{"index":0,"delta":{"content":"${word}"}}]`),
)

/** A provider whose every response has a cost of its own, and which does what a request's fate says. */
export async function startSoakUpstream(): Promise<SoakUpstream> {
  const given = new Map<number, Given>()
  const server: Server = createServer((request, response) => {
    const { number, fate } = orderOf(request)
    const known = given.get(number)
    const answer = known ?? { input: 1000 + (number % 100_000), output: (number * 7) % 60, times: 0 }
    answer.times += 1
    if (known === undefined) given.set(number, answer)
    let isStreaming = false
    request.on('data', (chunk: Buffer) => (isStreaming ||= chunk.includes('"stream":true')))
    request.on('end', () => void respond(response, answer, fate, isStreaming))
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    given,
    closeIdle: () => server.closeIdleConnections(),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Headers, which the gateway relays, contain the number and the fate. */
function orderOf({ headers }: IncomingMessage): { number: number; fate: Fate } {
  return { number: Number(headers['x-soak-number']), fate: String(headers['x-soak-fate']) as Fate }
}

async function respond(
  response: ServerResponse,
  { input, output }: Given,
  fate: Fate,
  isStreaming: boolean,
): Promise<void> {
  if (fate === 'upstream-resets-first') {
    response.socket?.resetAndDestroy()
    return
  }
  const usage = JSON.stringify({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  })
  if (!isStreaming) {
    const message = '{"role":"assistant","content":"Once upon a time"}'
    const body = `{"id":"c","object":"chat.completion","model":"test-model","choices":[{"index":0,"message":${message}}],"usage":${usage}}`
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [at, word] of words.entries()) {
    response.write(word)
    await delay(5)
    if (fate === 'upstream-cuts-text' && at === 3) {
      response.socket?.resetAndDestroy()
      return
    }
  }
  response.write(event(`"choices":[],"usage":${usage}`))
  if (fate === 'upstream-cuts-after-usage') {
    await delay(20)
    response.socket?.resetAndDestroy()
  } else response.end('data: [DONE]\n\n')
}
