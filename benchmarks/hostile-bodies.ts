import { writeSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startLoader } from './bench/loader.ts'
import { startNode } from './bench/process.ts'
import { requestTo } from './bench/requests.ts'
import { quantiles } from './bench/scenarios.ts'
import { startGatewayProcess } from './gateway-process.ts'

// How long others wait while hostile bodies arrive: one small request after another, first alone, then beside
// clients that send bodies made to take long, as fast as they are refused. `--clients 4` says how many of them.

const roundCount = 1500

const head = '{"model":"bench-model","max_tokens":9,"messages":[{"role":"user","content":'
const bodies: readonly string[] = [
  `${head}${'['.repeat(200_000)}`,
  `{${Array.from({ length: 200_000 }, (_, index) => `"k${index}":1,`).join('')}`,
  `${head}[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'iVBORw0K'.repeat(2_500_000)}"}}]}]}`,
  `{"model":"bench-model","max_tokens":${'9'.repeat(1_000_000)},"messages":[]}`,
  `${head}"${'a'.repeat(1_000_000)}`,
]

const countIndex = process.argv.indexOf('--clients')
const clientCount = countIndex === -1 ? 4 : Number(process.argv[countIndex + 1])

const upstream = await startNode(join(import.meta.dirname, 'bench/fast-upstream.ts'), [], undefined)
const gateway = await startGatewayProcess({
  config: {
    providers: {
      openai: {
        credentials: ['sk-bench'],
        streamUsage: 'as-sent',
        dialects: { openai: { baseUrl: `http://127.0.0.1:${upstream.port}/v1` } },
      },
    },
    models: {
      'bench-model': { provider: 'openai', outputTokensMax: 64, rubPerMillion: { input: '1', output: '2' } },
    },
  },
})
const loader = await startLoader(undefined)
const port = Number(new URL(gateway.url).port)
const lane = { port, request: requestTo({ port, headers: [`Authorization: Bearer ${gateway.key}`] }) }
let isHostile = true
let refusedCount = 0

/** Resolves when the body was refused, or its connection closed under it. */
function sendHostile(body: string): Promise<void> {
  return new Promise(resolve => {
    const sent = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-length': Buffer.byteLength(body) },
    })
    sent.on('response', response => response.resume())
    sent.on('error', () => undefined) // A body that is refused half way is cut off.
    sent.on('close', () => {
      refusedCount += 1
      resolve()
    })
    sent.end(body)
  })
}

async function measureOthers(): Promise<string> {
  const [result] = await loader.runTurns({ kind: 'turns', lanes: [lane], rounds: roundCount, warmUp: 200 })
  const { p50, p99, p999 } = quantiles(result?.ms ?? new Float64Array())
  return `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, p99.9 ${p999.toFixed(2)} ms, ${result?.errors ?? 0} errors`
}

try {
  writeSync(1, `alone: ${await measureOthers()}\n`)
  const clients = Array.from({ length: clientCount }, async (_, index) => {
    for (let turn = index; isHostile; turn += 1) await sendHostile(bodies[turn % bodies.length] ?? '')
  })
  await delay(500)
  const beside = await measureOthers()
  isHostile = false
  await Promise.all(clients)
  writeSync(1, `beside ${clientCount} hostile clients (${refusedCount} bodies): ${beside}\n`)
} finally {
  await loader.stop()
  await gateway.stop()
  gateway.remove()
  await upstream.stop()
}
