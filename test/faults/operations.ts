import { createServer } from 'node:https'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { parse, stringify } from 'yaml'
import { systemClock, type Clock } from '../../lib/platform/clock.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { startHttpEgress } from '../fixtures/http-egress.ts'
import { plainAnswer } from '../fixtures/raw-upstream.ts'
import { startGatewayProcess } from '../fixtures/gateway-process.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { providerHost, trustTestAuthority } from '../fixtures/tls-upstream.ts'
import { until } from '../fixtures/until.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, ask, json, openai, requestBytes, sentence } from './observe.ts'
import { askServed, beginStreams, endStreams, ledgerOf, openStream } from './served.ts'

const anchors = `a: &a [1, 1]\n${Array.from({ length: 30 }, (_, n) => `b${n}: &${'b'.repeat(n + 2)} [*${n === 0 ? 'a' : 'b'.repeat(n + 1)}, *${n === 0 ? 'a' : 'b'.repeat(n + 1)}]`).join('\n')}\n`

/** The content of the file when it is read again. */
const badConfigs: Readonly<Record<string, (good: string) => string | undefined>> = {
  'no YAML': good => `${good}\n  : [`,
  'a key twice': good => `${good}\nstore: sqlite:other.db\n`,
  'a bomb of anchors': good => good + anchors,
  'an unknown field': good => `${good}\nlisten_port: 5\n`,
  'a variable that is not set': good => `${good}\npublicUrl: "\${NOT_SET_ANYWHERE}"\n`,
  'half of it': good => good.slice(0, good.length / 2),
  nothing: () => '',
  'no file': () => undefined,
}

async function reload(context: FaultContext): Promise<string> {
  beginStreams(context)
  const served = await context.serve({ config: callConfig(context.upstream.origin) })
  const good = readFileSync(served.configFile, 'utf8')
  const found: string[] = []
  for (const bad of Object.values(badConfigs)) {
    const text = bad(good)
    if (text === undefined) rmSync(served.configFile)
    else writeFileSync(served.configFile, text)
    const errors = (): number => served.lines().filter(line => line['level'] === 'error').length
    const before = errors()
    served.child.kill('SIGHUP')
    await until(() => errors() > before)
    await delay(30)
    const { status } = await askServed(served)
    const ready = (await fetch(`${served.adminUrl}/readyz`)).status
    found.push(
      `said ${errors() - before === 1 ? 'once' : errors() - before}; ready ${ready}; served ${status}`,
    )
  }
  return `${alike(Object.keys(badConfigs), found)}; ${await ledgerOf(served)}`
}

async function removeModel(context: FaultContext): Promise<string> {
  beginStreams(context)
  const served = await context.serve({ config: callConfig(context.upstream.origin) })
  const stream = await openStream(context, served)
  const config = parse(readFileSync(served.configFile, 'utf8')) as Record<string, unknown>
  const models = { 'other-model': { provider: 'openai', rubPerMillion: { input: '1', output: '1' } } }
  writeFileSync(served.configFile, stringify({ ...config, models }))
  served.child.kill('SIGHUP')
  await until(() => served.written().includes('was read again'))
  const { status } = await askServed(served)
  endStreams(context)
  await stream.waitFor('[DONE]')
  stream.socket.destroy()
  return `new ones ${status}; the stream is whole; ${await ledgerOf(served)}`
}

/** New connections get the current certificate, old ones continue. */
async function rotate(context: FaultContext): Promise<string> {
  trustTestAuthority()
  const pem = (name: string): string =>
    readFileSync(join(import.meta.dirname, '../fixtures/tls', name), 'utf8')
  const pair = (name: string) => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) })
  const server = createServer(pair('good'), (request, response) => {
    request.resume()
    request.on('end', () => response.end(openai.document))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const egress = await startHttpEgress(context.t)
  const origin = `https://${providerHost}:${(server.address() as AddressInfo).port}`
  const config = callConfig(origin, { egress: ['out'] }, { egress: { out: { url: egress.url } } })
  const gateway = await context.startGateway({ config })
  const found: string[] = []
  const askNow = async (): Promise<void> => {
    const received = await ask(context, openai, { gateway })
    found.push(`${sentence(received, openai, openai.document)}; ${await context.nextEnd(gateway)}`)
  }
  await askNow()
  server.setSecureContext(pair('expired'))
  await askNow()
  server.closeIdleConnections()
  await delay(50)
  await askNow()
  server.setSecureContext(pair('good'))
  await askNow()
  return alike(['at first', 'on the old connection', 'on a new one', 'renewed'], found)
}

/** The thread that counts tokens ends while the gateway serves. */
async function loseCounter(context: FaultContext): Promise<string> {
  const workers: Worker[] = []
  const onWorker = (worker: Worker): void => void workers.push(worker)
  process.on('worker', onWorker)
  context.t.teardown(() => process.off('worker', onWorker))
  const gateway = await context.startGateway({ config: callConfig(context.upstream.origin) })
  const writerCount = workers.length
  const document = openai.document.replace(/,"usage":.*\}/, '}')
  context.upstream.answer = () => plainAnswer(200, json, document)
  const askNow = async (): Promise<string> => {
    const received = await ask(context, openai, { gateway })
    return `${sentence(received, openai, document)}; ${await context.nextEnd(gateway)}`
  }
  const before = await askNow()
  for (const worker of workers.slice(writerCount)) await worker.terminate()
  // Counted roughly, or by the next thread if this took long enough for it to start.
  const after = (await askNow()).replace(' estimate_rough', '')
  // It is not restarted at once.
  await delay(1200)
  return alike(['before', 'after', 'later'], [before, after, await askNow()])
}

/** The thread that writes the store ends while streams run. */
async function loseWriter(context: FaultContext): Promise<string> {
  beginStreams(context)
  const config = callConfig(context.upstream.origin)
  const imports = [new URL('end-writer.ts', import.meta.url).href]
  const served = await context.serve({ config, imports })
  const stream = await openStream(context, served)
  served.child.kill('SIGUSR2')
  await delay(100)
  const next = await askServed(served).then(
    ({ status }) => (status === 503 ? 'not served' : String(status)),
    () => 'not served', // The process may no longer be listening.
  )
  endStreams(context)
  const end = await stream.ended
  const exitCode = await served.exited
  const again = await startGatewayProcess(context.t, served.configFile)
  const { status } = await askServed({ ...served, url: again.url })
  return `next one ${next}; the stream ends with a ${end}; exit ${exitCode}; started again ${status}; ${await ledgerOf(served)}`
}

/** The system's time is set while a stream runs, in these steps with a pause between them. */
async function setTime(context: FaultContext, steps: readonly number[], pauseMs: number): Promise<string> {
  let offsetMs = 0
  const clock: Clock = { now: () => systemClock.now() + offsetMs }
  const gateway = await context.startGateway({ config: callConfig(context.upstream.origin), clock })
  beginStreams(context)
  const client = await connectRaw(context.t, gateway.url)
  client.socket.write(requestBytes(context, openai, { gateway, isStreaming: true }))
  await client.waitFor('upon a time')
  const found: string[] = []
  for (const step of steps) {
    offsetMs = step
    await delay(pauseMs)
    const received = await ask(context, openai, { gateway })
    found.push(`${sentence(received, openai, openai.document)}; ${await context.nextEnd(gateway)}`)
  }
  endStreams(context)
  await client.ended
  found.push(`200 whole, bytes equal; ${await context.nextEnd(gateway)}`)
  const isExpired = gateway.logLines.some(line => line.includes('until they expired'))
  const ids = new Set((await gateway.charges()).map(({ requestId }) => requestId))
  return `${alike([...steps.map(String), 'stream'], found)}; ${ids.size} ids of ${found.length}; ${isExpired ? 'HOLDS EXPIRED' : 'no hold expired'}`
}

const hour = 3_600_000
const times = [hour, -hour, -systemClock.now(), 59_000, 0]

export const operations: readonly Fault[] = [
  {
    number: 50,
    title: `SIGHUP with ${Object.keys(badConfigs).join(', ')}`,
    expected: 'said once; ready 200; served 200; 8 completed 0.046000 provider',
    run: reload,
  },
  {
    number: 50,
    title: 'SIGHUP removes a model that is in use',
    expected: 'new ones 404; the stream is whole; 1 completed 0.046000 provider',
    run: removeModel,
  },
  {
    number: 52,
    title: 'the clock is set by +1 h, -1 h, to 1970, by a minute and back',
    expected: '200 whole, bytes equal; completed; 0.046000 provider; 6 ids of 6; no hold expired',
    run: context => setTime(context, times, 10),
  },
  {
    number: 52,
    title: 'the clock is set by +1 h and stays so until holds would expire',
    expected: '200 whole, bytes equal; completed; 0.046000 provider; 2 ids of 2; no hold expired',
    isSlow: true,
    timeoutMs: 90_000,
    run: context => setTime(context, [hour], 62_000),
  },
  {
    number: 59,
    title: 'the thread that counts tokens dies',
    expected: '200 whole, bytes equal; completed; estimated usage_missing',
    run: loseCounter,
  },
  {
    number: 59,
    title:
      'the thread that writes the store dies while a stream runs: the process ends, and is started again',
    expected:
      'next one not served; the stream ends with a reset; exit 1; started again 200; 1 completed 0.046000 provider',
    run: loseWriter,
  },
  {
    number: 61,
    title: 'the certificate of a provider is replaced by one that has expired, and then by a valid one',
    expected:
      'at first, on the old connection, renewed: 200 whole, bytes equal; completed; 0.046000 provider / on a new one: 502 in its dialect; refused upstream_unreachable; nothing owed',
    run: rotate,
  },
]
