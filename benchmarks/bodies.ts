import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startGatewayProcess } from './gateway-process.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { formPieces, longChat } from './bodies/made-bodies.ts'
import type { Pieces } from './bodies/made-bodies.ts'
import { upload } from './bodies/upload.ts'
import { Watched } from './bodies/watched.ts'
import { percentile } from './percentile.ts'

const mebibyte = 1_048_576

/** A table row for one load. */
interface Row {
  readonly what: string
  readonly seconds: number
  readonly peakMb: number
  readonly grownMb: number
  readonly boundMb: number
  readonly statuses: string
}

/** A provider that accepts any body and keeps nothing. */
interface Sink {
  readonly origin: string
  close(): void
}

const completion =
  '{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes"}}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}'
let files = 0

async function startSink(): Promise<Sink> {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const isFile = request.url === '/v1/files'
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(isFile ? `{"id":"file-${(files += 1)}","object":"file"}` : completion)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Uses a gateway of its own for each row, so that rows do not affect each other. */
async function measure(
  sink: Sink,
  what: string,
  bound: { readonly peakMb?: number; readonly grownMb?: number },
  load: (gateway: GatewayProcess) => Promise<readonly number[]>,
): Promise<Row> {
  const gateway = await startGatewayProcess({ config: configFor(sink) })
  try {
    await warm(gateway)
    const watched = new Watched(gateway.child.pid ?? 0)
    const begunMs = performance.now()
    const statuses = await load(gateway)
    const seconds = (performance.now() - begunMs) / 1000
    const { peakMb, grownMb } = watched.end()
    const boundMb = bound.peakMb ?? bound.grownMb ?? 0
    const isWithin = bound.peakMb === undefined ? grownMb < boundMb : peakMb < boundMb
    if (!isWithin || statuses.some(status => status !== 200)) process.exitCode = 1
    return { what, seconds, peakMb, grownMb, boundMb, statuses: count(statuses) }
  } finally {
    await gateway.stop()
    gateway.remove()
  }
}

function configFor({ origin }: Sink): Record<string, unknown> {
  return {
    providers: {
      sink: {
        credentials: ['key'],
        dialects: { openai: { baseUrl: `${origin}/v1` } },
        limits: { connectionsMax: 256 },
      },
    },
    models: { m: { provider: 'sink', outputTokensMax: 10, rubPerMillion: { input: '1', output: '1' } } },
    defaultProvider: { openai: 'sink' },
    plugins: ['auth', 'model-router', 'upstream-proxy', 'usage-tap'],
    limits: { bodyBytesTotalMax: '2GB' },
  }
}

const chat = '/v1/chat/completions'
const json = 'application/json'

async function warm(gateway: GatewayProcess): Promise<void> {
  for (let count = 0; count < 200; count++) await ask(gateway, chat, json, longChat(1000))
}

function ask(gateway: GatewayProcess, path: string, type: string, body: Pieces): Promise<number> {
  return upload(gateway.url + path, headersOf(gateway, type), body)
}

function headersOf({ key }: GatewayProcess, type: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': type }
}

function many(gateway: GatewayProcess, number: number, make: () => Pieces): Promise<number[]> {
  return Promise.all(Array.from({ length: number }, () => ask(gateway, chat, json, make())))
}

const form = 'multipart/form-data; boundary=b'

/** The latency of small requests, alone and during uploads that are expensive to scan. */
async function latency(sink: Sink): Promise<string> {
  const gateway = await startGatewayProcess({ config: configFor(sink) })
  try {
    await warm(gateway)
    const alone = await probe(gateway, performance.now() + 5000)
    const hostile = new Worker(new URL('bodies/hostile-worker.ts', import.meta.url), {
      workerData: { url: gateway.url + chat, headers: headersOf(gateway, json) },
    })
    await new Promise(resolve => setTimeout(resolve, 1000))
    const beside = await probe(gateway, performance.now() + 10_000)
    await hostile.terminate()
    return [alone, beside].map(values => `p50 ${ms(values, 0.5)} ms, p99 ${ms(values, 0.99)} ms`).join(' | ')
  } finally {
    await gateway.stop()
    gateway.remove()
  }
}

async function probe(gateway: GatewayProcess, untilMs: number): Promise<number[]> {
  const taken: number[] = []
  while (performance.now() < untilMs) {
    const begunMs = performance.now()
    await ask(gateway, chat, json, longChat(300))
    taken.push(performance.now() - begunMs)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  return taken.toSorted((a, b) => a - b)
}

function ms(sorted: readonly number[], share: number): string {
  return percentile(sorted, share).toFixed(1)
}

function count(statuses: readonly number[]): string {
  return [...new Set(statuses)]
    .map(status => `${statuses.filter(other => other === status).length} x ${status}`)
    .join(', ')
}

const sink = await startSink()
const rows = [
  await measure(sink, '64 requests of 20 MB, held', { peakMb: 400 }, gateway =>
    many(gateway, 64, () => longChat(20 * mebibyte)),
  ),
  await measure(sink, '64 uploads of 20 MB, streamed', { peakMb: 400 }, gateway =>
    Promise.all(Array.from({ length: 64 }, () => ask(gateway, '/v1/files', form, formPieces(20 * mebibyte)))),
  ),
  await measure(sink, '1 upload of 1 GB, streamed', { grownMb: 64 }, async gateway => [
    await ask(gateway, '/v1/files', form, formPieces(1024 * mebibyte)),
  ]),
]
const lines = rows.map(
  ({ what, seconds, peakMb, grownMb, boundMb, statuses }) =>
    `| ${what} | ${seconds.toFixed(1)} | ${peakMb.toFixed(0)} | ${grownMb.toFixed(0)} | ${boundMb} | ${statuses} |`,
)
process.stdout.write(
  [
    '| load | seconds | RSS peak MB | RSS grown MB | bound MB | answers |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
    '',
    'Small requests, alone | beside 16 clients that send 8 MB of brackets and commas each, again and again:',
    await latency(sink),
    '',
  ].join('\n'),
)
sink.close()
