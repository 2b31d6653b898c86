import { readFileSync } from 'node:fs'
import { callConfig } from '../fixtures/dialect-call.ts'
import { connectRaw, parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import { chunked } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/until.ts'
import type { Fault, FaultContext } from './fault.ts'
import { openai } from './observe.ts'
import { askServed, beginStreams, endStreams, ledgerOf, openStream } from './served.ts'

const comment = chunked([Buffer.from(': still there\n\n')])[0] ?? ''
const rssBytesMax = 1024 ** 3

/** A stream takes two descriptors of the gateway, and an idle connection one; some are left for the rest. */
const fitting = Math.min(10_000, Math.floor((descriptorsMax() - 500) / 75) * 25)

/** How many descriptors this process and its children may have. */
function descriptorsMax(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits: { readonly open_files: { readonly soft: number | 'unlimited' } }
  }
  const { soft } = userLimits.open_files
  return soft === 'unlimited' ? 65_536 : soft
}

/** Idle connections, and streams with a comment now and then, all at once. */
async function keepOpen(context: FaultContext, idleCount: number, streamCount: number): Promise<string> {
  beginStreams(context)
  const provider = { limits: { connectionsMax: streamCount + 10 } }
  const limits = { memoryBytesMax: '4GB' }
  const served = await context.serve({
    config: callConfig(context.upstream.origin, provider, { limits, log: { level: 'warn' } }),
  })
  for (let count = 0; count < idleCount; count += 50)
    await Promise.all(Array.from({ length: 50 }, () => connectRaw(context.t, served.url)))
  const streams: RawClient[] = []
  while (streams.length < streamCount)
    streams.push(...(await Promise.all(Array.from({ length: 25 }, () => openStream(context, served)))))
  for (let turn = 0; turn < 3; turn += 1) {
    for (const socket of context.upstream.openSockets) socket.write(comment)
    await new Promise(resolve => setTimeout(resolve, 1000))
  }
  const status = readFileSync(`/proc/${served.child.pid}/status`, 'utf8')
  const rssBytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
  const next = (await askServed(served)).status
  endStreams(context)
  const isWhole = (stream: RawClient): boolean => parseAnswers(stream.received())[0]?.isWhole === true
  await until(() => streams.every(isWhole))
  const text = openai.events[0] ?? ''
  const begun = streams.filter(stream => stream.received().includes(text)).length
  for (const { socket } of streams) socket.destroy()
  return `${begun} streams whole; next one ${next}; memory ${rssBytes < rssBytesMax ? 'below 1 GB' : rssBytes}; ${await ledgerOf(served)}`
}

export const operationsSockets: readonly Fault[] = [
  {
    number: 53,
    title: '300 idle connections and 200 open streams',
    expected: '200 streams whole; next one 200; memory below 1 GB; 201 completed 0.046000 provider',
    run: context => keepOpen(context, 300, 200),
  },
  {
    number: 53,
    title: `10,000 idle connections and 10,000 open streams, or as many as fit: ${fitting} of each`,
    expected: `${fitting} streams whole; next one 200; memory below 1 GB; ${fitting + 1} completed 0.046000 provider`,
    isSlow: true,
    timeoutMs: 300_000,
    run: context => keepOpen(context, fitting, fitting),
  },
]
