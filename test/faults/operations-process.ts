import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { callConfig } from '../fixtures/dialect-call.ts'
import { droppedLines, fillLog } from '../fixtures/fill-log.ts'
import { send } from '../fixtures/http-client.ts'
import { parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import type { ServedProcess, ServeOptions } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, openai } from './observe.ts'
import { askServed, beginStreams, endStreams, ledgerOf, openStream } from './served.ts'
import { roughFlag } from './fault-run.ts'

async function serve(
  context: FaultContext,
  options: Partial<ServeOptions> = {},
  provider: Readonly<Record<string, unknown>> = {},
): Promise<ServedProcess> {
  beginStreams(context)
  const config = callConfig(context.upstream.origin, provider, { limits: { memoryBytesMax: '4GB' } })
  return await context.serve({ config, ...options })
}

const ready = async (served: ServedProcess): Promise<number> =>
  (await fetch(`${served.adminUrl}/readyz`)).status

const isWhole = (stream: RawClient): boolean =>
  parseAnswers(stream.received())[0]?.body.toString() === openai.events.join('') &&
  parseAnswers(stream.received())[0]?.isWhole === true

async function openStreams(
  context: FaultContext,
  served: ServedProcess,
  count: number,
): Promise<RawClient[]> {
  const streams: RawClient[] = []
  while (streams.length < count)
    streams.push(...(await Promise.all(Array.from({ length: 25 }, () => openStream(context, served)))))
  return streams
}

async function drain(context: FaultContext, count: number): Promise<string> {
  const served = await serve(context)
  const streams = await openStreams(context, served, count)
  served.child.kill('SIGTERM')
  await until(async () => (await ready(served)) === 503)
  await delay(2500)
  const refused = await askServed(served).then(
    ({ status }) => String(status),
    () => 'refused',
  )
  endStreams(context)
  const exitCode = await served.exited
  const whole = streams.filter(isWhole).length
  return `not ready; new ones ${refused}; ${whole} whole; exit ${exitCode}; ${await ledgerOf(served)}`
}

async function terminateTwice(context: FaultContext): Promise<string> {
  const served = await serve(context)
  const streams = await openStreams(context, served, 25)
  served.child.kill('SIGTERM')
  await until(async () => (await ready(served)) === 503)
  served.child.kill('SIGHUP')
  const began = performance.now()
  served.child.kill('SIGTERM')
  const exitCode = await served.exited
  const tookMs = Math.round(performance.now() - began)
  const ends = await Promise.all(streams.map(stream => stream.ended))
  const resets = ends.filter(end => end === 'reset').length
  // On a busy machine there may be no time to count what some of the streams delivered before the end.
  const ledger = await ledgerOf(served, context.isAlone ? undefined : roughFlag)
  const [tookMsMax, inTime] = context.isAlone ? [4000, ' within 4 s'] : [10_000, '']
  return `${resets} reset${tookMs < tookMsMax ? inTime : ` after ${tookMs} ms`}; exit ${exitCode}; ${ledger}`
}

/** An internal failure: the response to its request, the other requests, and the fate of the process. */
async function failInside(context: FaultContext, fault: string): Promise<string> {
  const served = await serve(context, { isFaulty: true })
  const stream = await openStream(context, served)
  const { status } = await askServed(served, ['x-fault', fault])
  const ends = fault === 'uncaught' || fault === 'unhandled'
  if (ends) await until(async () => (await ready(served)) === 503)
  endStreams(context)
  await until(() => isWhole(stream))
  stream.socket.destroy()
  const after = ends ? `exit ${await served.exited}` : `next one ${(await askServed(served)).status}`
  return `${status}; the stream is whole; ${after}; ${await ledgerOf(served)}`
}

async function standStill(context: FaultContext): Promise<string> {
  const timeouts = { connectMs: 1500, firstByteMs: 1500, silenceMs: 1500 }
  const served = await serve(context, { isFaulty: true }, { timeouts })
  const asked = Array.from({ length: 10 }, () => askServed(served))
  const answers = await Promise.all([askServed(served, ['x-fault', 'block']), ...asked])
  const found = answers.map(({ status }) => String(status))
  return `${alike(found, found)}; ${await ledgerOf(served)}; next one ${(await askServed(served)).status}`
}

async function runOutOfDescriptors(context: FaultContext): Promise<string> {
  const served = await serve(context, { prefix: ['sh', '-c', 'ulimit -n 100; exec "$@"', 'sh'] })
  const stream = await openStream(context, served)
  const port = Number(new URL(served.url).port)
  let closedCount = 0
  const sockets: Socket[] = Array.from({ length: 300 }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined) // The close reports it.
    socket.on('close', () => (closedCount += 1))
    context.t.teardown(() => socket.destroy())
    return socket
  })
  await until(() => closedCount > 150, 8000)
  endStreams(context)
  await until(() => isWhole(stream))
  for (const socket of sockets) socket.destroy()
  stream.socket.destroy()
  const served200 = async (): Promise<boolean> =>
    (await askServed(served).catch(() => undefined))?.status === 200
  await until(served200)
  return `what is too much is closed; the stream is whole; then 200; ${await ledgerOf(served)}`
}

async function block(context: FaultContext): Promise<string> {
  const served = await serve(context)
  served.child.stderr?.pause()
  await fillLog(served)
  const rises = (await droppedLines(served)) > 0 ? 'rises' : 'DOES NOT RISE'
  const found: string[] = []
  for (let n = 0; n < 10; n += 1) found.push(String((await askServed(served)).status))
  served.child.kill('SIGTERM')
  return `the counter ${rises}; ${alike(found, found)}; exit ${await served.exited}; ${await ledgerOf(served)}`
}

async function upload(context: FaultContext, count: number, megabytes: number): Promise<string> {
  const limits = { memoryBytesMax: '256MB', bodyBytesTotalMax: '64MB' }
  beginStreams(context)
  const served = await context.serve({
    config: callConfig(context.upstream.origin, {}, { limits }),
  })
  const body = openai.body(false).replace('Tell me', 'x'.repeat(megabytes * 1_048_576))
  const answers = await Promise.allSettled(
    Array.from({ length: count }, () =>
      send(served.url + openai.path(false), { headers: openai.keyHeader(served.key), body }),
    ),
  )
  const others = answers
    .map(answer => (answer.status === 'fulfilled' ? answer.value.status : 'reset'))
    // A client that is still sending when the response arrives may get a reset instead of the response.
    .filter(status => status !== 200 && status !== 503 && status !== 'reset')
  const isRunning = served.child.exitCode === null && served.child.signalCode === null
  await until(async () => (await askServed(served)).status === 200, 10_000)
  await until(async () => (await served.heldMicros()) === 0)
  const breaches = await served.breaches()
  const text = others.length === 0 ? 'each 200, 503 or cut off' : `also ${others.join()}`
  return `${text}; ${isRunning ? 'it runs' : 'IT HAS ENDED'}; then 200; ${breaches.length} breaches`
}

const paid = 'completed 0.046000 provider'

export const operationsProcess: readonly Fault[] = [
  {
    number: 51,
    title: 'SIGTERM with 50 open streams',
    expected: `not ready; new ones refused; 50 whole; exit 0; 50 ${paid}`,
    run: context => drain(context, 50),
  },
  {
    number: 51,
    title: 'SIGTERM with 500 open streams',
    expected: `not ready; new ones refused; 500 whole; exit 0; 500 ${paid}`,
    isSlow: true,
    run: context => drain(context, 500),
  },
  {
    number: 51,
    title: 'SIGTERM, SIGHUP and SIGTERM again, with 25 open streams',
    expected: '25 reset within 4 s; exit 0; 25 broken estimated',
    run: terminateTwice,
  },
  {
    number: 53,
    title: 'no descriptor is left',
    expected: `what is too much is closed; the stream is whole; then 200; 2 ${paid}`,
    run: runOutOfDescriptors,
  },
  {
    number: 55,
    title: 'the event loop is blocked for 2 s, longer than any timeout',
    expected: `200; 11 ${paid}; next one 200`,
    run: standStill,
  },
  {
    number: 56,
    title: 'a gate throws',
    expected: `500; the stream is whole; next one 200; 2 ${paid}`,
    run: context => failInside(context, 'throw'),
  },
  {
    number: 56,
    title: 'a tap throws',
    expected: `200; the stream is whole; next one 200; 3 ${paid}`,
    run: context => failInside(context, 'tap'),
  },
  {
    number: 56,
    title: 'an uncaught exception',
    expected: `200; the stream is whole; exit 1; 2 ${paid}`,
    run: context => failInside(context, 'uncaught'),
  },
  {
    number: 56,
    title: 'an unhandled rejection',
    expected: `200; the stream is whole; exit 1; 2 ${paid}`,
    isSlow: true,
    run: context => failInside(context, 'unhandled'),
  },
  {
    number: 57,
    title: 'the log is not read',
    isSlow: true,
    expected: `the counter rises; 200; exit 0; 10 ${paid}`,
    run: block,
  },
  {
    number: 58,
    title: 'a limit of 256 MB, and 8 uploads of 20 MB at once',
    isSlow: true,
    timeoutMs: 60_000,
    expected: 'each 200, 503 or cut off; it runs; then 200; 0 breaches',
    run: context => upload(context, 8, 20),
  },
  {
    number: 58,
    title: 'a limit of 256 MB, and 64 uploads of 20 MB at once',
    expected: 'each 200, 503 or cut off; it runs; then 200; 0 breaches',
    isSlow: true,
    timeoutMs: 90_000,
    run: context => upload(context, 64, 20),
  },
]
