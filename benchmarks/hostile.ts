import { writeSync } from 'node:fs'
import { request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { startLoader } from './bench/loader.ts'
import { measure, startNode } from './bench/process.ts'
import { requestTo } from './bench/requests.ts'
import { quantiles } from './bench/scenarios.ts'
import { startGatewayProcess } from './gateway-process.ts'
import type { HostileBody } from './hostile/hostile-body.ts'
import { hostileMedia } from './hostile/hostile-media.ts'

// How long other clients wait while hostile requests arrive: one small request after another, in turns alone and beside
// clients that send expensive bodies as fast as they are refused. `--clients 4` sets how many of them.

/** In turns, so that a slow minute of the machine affects all. */
const turnCount = 6
const roundCount = 400

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
// Hostile clients normally have machines of their own; here they get the time that the others leave.
setPriority(constants.priority.PRIORITY_LOW)

/** Resolves when the response has arrived, or the connection was closed. */
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

/** The waits of the other clients, in all rounds, and the load beside them. */
class Waits {
  readonly #beside: string
  readonly #ms: number[] = []
  #errors = 0
  sentCount = 0
  rssBytesMax = 0

  constructor(beside: string) {
    this.#beside = beside
  }

  async measure(): Promise<void> {
    const [result] = await loader.runTurns({ kind: 'turns', lanes: [lane], rounds: roundCount, warmUp: 50 })
    this.#ms.push(...(result?.ms ?? []))
    this.#errors += result?.errors ?? 0
  }

  tell(): void {
    const { p50, p99, p999 } = quantiles(Float64Array.from(this.#ms))
    const times = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, p99.9 ${p999.toFixed(2)} ms`
    writeSync(1, `${this.#beside}: ${times}, ${this.#errors} errors\n`)
    if (this.sentCount === 0) return
    const mebibytes = Math.round(this.rssBytesMax / 1_048_576)
    writeSync(1, `  ${this.sentCount} of them, memory at most ${mebibytes} MB\n`)
  }
}

async function measureBeside(waits: Waits, bodies: readonly HostileBody[]): Promise<void> {
  let isHostile = true
  const clients = Array.from({ length: clientCount }, async (_, index) => {
    for (let turn = index; isHostile; turn += 1) {
      const body = bodies[turn % bodies.length]
      if (body !== undefined) await sendHostile(body)
      waits.sentCount += 1
    }
  })
  const sampler = setInterval(() => (waits.rssBytesMax = Math.max(waits.rssBytesMax, rssBytes())), 50)
  await delay(500)
  await waits.measure()
  isHostile = false
  await Promise.all(clients)
  clearInterval(sampler)
}

const path = '/v1/chat/completions'
const begin = '{"model":"bench-model","max_tokens":9,"messages":[{"role":"user","content":'

/** JSON that takes long to scan: deep, with very many names, with a long number, cut off, a bomb. */
function longBodies(): readonly HostileBody[] {
  const names = Array.from({ length: 200_000 }, (_, index) => `"k${index}":1,`)
  const texts = [
    `${begin}${'['.repeat(200_000)}`,
    `{${names.join('')}`,
    `${begin}[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'iVBORw0K'.repeat(2_500_000)}"}}]}]}`,
    `{"model":"bench-model","max_tokens":${'9'.repeat(1_000_000)},"messages":[]}`,
    `${begin}"${'a'.repeat(1_000_000)}`,
  ]
  const bomb = gzipSync(Buffer.from(`${begin}"${' '.repeat(100_000_000)}"}]}`))
  return [
    ...texts.map(text => ({ path, body: Buffer.from(text) })),
    { path, body: bomb, headers: { 'content-encoding': 'gzip' } },
  ]
}

try {
  const alone = new Waits('alone')
  const besideLong = new Waits(`beside ${clientCount} clients that send long bodies`)
  const besideMedia = new Waits(`beside ${clientCount} clients that send hostile media`)
  const [long, media] = [longBodies(), hostileMedia()]
  for (let turn = 0; turn < turnCount; turn += 1) {
    await alone.measure()
    await measureBeside(besideLong, long)
    await measureBeside(besideMedia, media)
  }
  for (const waits of [alone, besideLong, besideMedia]) waits.tell()
} finally {
  await loader.stop()
  await gateway.stop()
  gateway.remove()
  await upstream.stop()
}
