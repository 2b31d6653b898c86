import { writeSync } from 'node:fs'
import { request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startLoader } from './bench/loader.ts'
import { measure, startNode } from './bench/process.ts'
import { requestTo } from './bench/requests.ts'
import { quantiles } from './bench/scenarios.ts'
import { startGatewayProcess } from './gateway-process.ts'
import type { HostileBody } from './hostile/hostile-body.ts'
import { hostileMedia } from './hostile/hostile-media.ts'
import { longBodies } from './hostile/long-bodies.ts'

// How long others wait while hostile requests arrive: one small request after another, first alone, then beside
// clients that send what is made to take long, as fast as it is refused. `--clients 4` says how many of them.

const roundCount = 1500

const countIndex = process.argv.indexOf('--clients')
const clientCount = countIndex === -1 ? 4 : Number(process.argv[countIndex + 1])

const upstream = await startNode(join(import.meta.dirname, 'bench/fast-upstream.ts'), [], undefined)
const gateway = await startGatewayProcess({
  config: {
    providers: {
      openai: {
        credentials: ['sk-bench'],
        streamUsage: 'as-sent',
        dialects: {
          openai: { baseUrl: `http://127.0.0.1:${upstream.port}/v1` },
          google: { baseUrl: `http://127.0.0.1:${upstream.port}` },
        },
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
const { rssBytes } = measure(gateway.child)
// Elsewhere hostile clients have a machine of their own; here they get what time the others leave.
setPriority(constants.priority.PRIORITY_LOW)

/** Resolves when it was answered, or its connection closed under it. */
function sendHostile({ path, body, headers }: HostileBody): Promise<void> {
  return new Promise(resolve => {
    const sent = request(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-length': body.length, ...headers },
    })
    sent.on('response', response => response.resume())
    sent.on('error', () => undefined) // A body that is refused half way is cut off.
    sent.on('close', resolve)
    sent.end(body)
  })
}

async function measureOthers(beside: string): Promise<void> {
  const [result] = await loader.runTurns({ kind: 'turns', lanes: [lane], rounds: roundCount, warmUp: 200 })
  const { p50, p99, p999 } = quantiles(result?.ms ?? new Float64Array())
  const times = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, p99.9 ${p999.toFixed(2)} ms`
  writeSync(1, `${beside}: ${times}, ${result?.errors ?? 0} errors\n`)
}

async function measureBeside(what: string, bodies: readonly HostileBody[]): Promise<void> {
  let isHostile = true
  let sentCount = 0
  let rssBytesMax = 0
  const clients = Array.from({ length: clientCount }, async (_, index) => {
    for (let turn = index; isHostile; turn += 1) {
      const body = bodies[turn % bodies.length]
      if (body !== undefined) await sendHostile(body)
      sentCount += 1
    }
  })
  const sampler = setInterval(() => (rssBytesMax = Math.max(rssBytesMax, rssBytes())), 50)
  await delay(500)
  await measureOthers(`beside ${clientCount} clients that send ${what}`)
  isHostile = false
  await Promise.all(clients)
  clearInterval(sampler)
  writeSync(1, `  ${sentCount} of them, memory at most ${Math.round(rssBytesMax / 1_048_576)} MB\n`)
}

try {
  await measureOthers('alone')
  await measureBeside('long bodies', longBodies())
  await measureBeside('hostile media', hostileMedia())
} finally {
  await loader.stop()
  await gateway.stop()
  gateway.remove()
  await upstream.stop()
}
