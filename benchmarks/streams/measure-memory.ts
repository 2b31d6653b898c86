import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { startLoader } from '../bench/loader.ts'
import { cores, type Measured } from '../bench/process.ts'
import { ask, endStreams } from './measure-streams.ts'
import { streamGateway } from './stream-targets.ts'
import { streamRequest } from './stream-request.ts'

/** Resident memory of a gateway, in bytes. */
export interface ConnectionMemory {
  readonly idle: number
  readonly streams: number
  readonly idleBytes: number
  readonly connectionsBytes: number
  readonly streamsBytes: number
  /** A minute of streaming later. */
  readonly laterBytes: number
  readonly failed: number
}

const wishes = { format: 'chat', frameBytes: 230, framesPerSecond: 1, joined: 1, pieces: 1 } as const
/** Opened together, so that none waits in the queue of the listener. */
const openedAtOnce = 250
/** Descriptors that the gateway needs for all else. */
const descriptorsKept = 250

/** Many connections that say nothing, and beside them many that stream slowly. */
export async function measureMemory(
  load: Measured,
  upstream: Measured & { readonly port: number },
  wanted: { readonly idle: number; readonly streams: number; readonly seconds: number },
): Promise<ConnectionMemory> {
  const { streams } = wanted
  // A stream has two connections.
  const idle = Math.min(wanted.idle, descriptorsMax() - descriptorsKept - 2 * streams)
  const target = await streamGateway(upstream.port, undefined, { connectionsMax: streams })()
  const loader = await startLoader(cores.around)
  try {
    const idleBytes = target.rssBytes()
    await loader.run({ kind: 'hold', port: target.port, connections: idle })
    const connectionsBytes = target.rssBytes()
    const request = streamRequest(target, wishes)
    let failed = 0
    for (let opened = 0; opened < streams; opened += openedAtOnce) {
      const count = Math.min(openedAtOnce, streams - opened)
      const report = await ask(load, { kind: 'open', port: target.port, isTls: false, request, count })
      failed += report.failed
    }
    await delay(5000)
    const streamsBytes = target.rssBytes()
    await delay(wanted.seconds * 1000)
    const laterBytes = target.rssBytes()
    failed += (await ask(load, { kind: 'look' })).failed
    await endStreams(load, upstream)
    return { idle, streams, idleBytes, connectionsBytes, streamsBytes, laterBytes, failed }
  } finally {
    await target.stop()
    await loader.stop()
  }
}

/** How many files, and so connections, one process may have open. */
function descriptorsMax(): number {
  const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))
  return line === null ? 1024 : Number(line[1])
}
