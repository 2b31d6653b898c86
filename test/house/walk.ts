import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { systemClock } from '../../lib/platform/clock.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { connectAccounts } from '../../lib/control/connect-accounts.ts'
import { startGateway } from '../../lib/gateway/gateway.ts'
import { createLog } from '../../lib/observability/log.ts'
import { plugins } from '../../plugins/index.ts'
import { say } from './say.ts'

// Lists the files and functions that one streamed chat runs through, from its first byte to its log line, by V8's
// coverage of the main thread. An earlier chat does what happens only once. `--functions` lists the functions.

const root = join(import.meta.dirname, '../..') + sep

const frame = (delta: string, usage = 'null'): string =>
  `data: {"id":"c","object":"chat.completion.chunk","model":"walked","choices":[${delta}],"usage":${usage}}\n\n`
const frames = [
  frame('{"index":0,"delta":{"role":"assistant","content":""}}'),
  ...['One', ' two', ' three', ' four', ' five'].map(word =>
    frame(`{"index":0,"delta":{"content":"${word}"}}`),
  ),
  frame('', '{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10}'),
  'data: [DONE]\n\n',
]

const provider = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (index: number): void => {
      if (index === frames.length) response.end()
      else response.write(frames[index], () => setImmediate(send, index + 1))
    }
    send(0)
  })
})
await new Promise<void>(resolve => provider.listen(0, '127.0.0.1', resolve))
const { port } = provider.address() as AddressInfo

const folder = mkdtempSync(join(tmpdir(), 'walk-'))
mkdirSync(join(folder, 'data'))
const file = join(folder, 'gateway.yaml')
const openai = { credentials: ['sk-walk'], dialects: { openai: { baseUrl: `http://127.0.0.1:${port}/v1` } } }
const walked = { provider: 'openai', rubPerMillion: { input: '1', output: '2' } }
const store = `sqlite:${join(folder, 'data', 'gateway.db')}`
const listen = { host: '127.0.0.1', port: 0 }
writeFileSync(file, stringify({ listen, store, providers: { openai }, models: { walked } }))

const log = createLog({ level: 'info', destination: { write: () => undefined } })
const { config } = loadConfig(file, { env: {}, plugins })
const gateway = await startGateway({ config, plugins, log, clock: systemClock })
const connection = await connectAccounts(config.store, { clock: systemClock, log })
const { accounts } = connection
const { id: accountId } = await accounts.createAccount({ email: 'walk@example.org' })
await accounts.credit({ accountId, amountMicros: 1e9, reason: 'walk' })
const { key } = await accounts.createKey({ accountId })
await connection.close()

async function chat(): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'walked',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Count to five.' }],
    }),
  })
  const text = await response.text()
  if (response.status !== 200 || text !== frames.join('')) throw new Error(`The chat failed: ${text}`)
  await delay(100)
}

await chat()
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
await chat()
const { result } = await session.post('Profiler.takePreciseCoverage')
session.disconnect()

const walk = new Map<string, readonly string[]>()
for (const { url, functions } of result) {
  if (!url.startsWith('file:')) continue
  const path = fileURLToPath(url)
  if (!path.startsWith(root) || !/^(?:lib|plugins|bin)\b/.test(path.slice(root.length))) continue
  const called = functions.filter(({ ranges: [range] }) => {
    // A function at offset 0 is the module itself, as long as V8 keeps it.
    return range !== undefined && range.startOffset > 0 && range.count > 0
  })
  if (called.length > 0)
    walk.set(
      path.slice(root.length),
      called.map(({ functionName }) => functionName || '(no name)'),
    )
}
const paths = [...walk.keys()].toSorted()
if (process.argv.includes('--functions')) {
  for (const path of paths) say(`${path}: ${walk.get(path)?.join(', ')}`)
} else {
  const byFolder = Map.groupBy(paths, path => path.split('/').slice(0, -1).join('/'))
  for (const [name, own] of byFolder) {
    const count = own.reduce((sum, path) => sum + (walk.get(path)?.length ?? 0), 0)
    say(`${name.padEnd(28)}${String(own.length).padStart(4)} files${String(count).padStart(5)} functions`)
  }
}
const functionCount = paths.reduce((sum, path) => sum + (walk.get(path)?.length ?? 0), 0)
say(`One streamed chat: ${paths.length} files, ${functionCount} functions.`)

await gateway.close(1000)
provider.close()
rmSync(folder, { recursive: true })
