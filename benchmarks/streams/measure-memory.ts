import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { startLoader } from '../bench/loader.ts'
import { cores, type Measured } from '../bench/process.ts'
import { ask, endStreams } from './measure-streams.ts'
import { streamGateway } from './stream-targets.ts'
import { streamRequest } from './stream-request.ts'

/** The numbers of connections to open. */
export interface WantedConnections {
  readonly idle: number
  readonly streams: number
}

/** Resident memory of a gateway, in bytes, and the numbers of its connections. */
export interface ConnectionMemory extends WantedConnections {
  readonly atFirstBytes: number
  /** With the streams alone. */
  readonly streamsBytes: number
  readonly allBytes: number
  /** The most while all were open. */
  readonly peakBytes: number
  readonly failed: number
}

const wishes = { format: 'chat', frameBytes: 230, framesPerSecond: 1, joined: 1, pieces: 1 } as const
/** Opened together: so few that a busy machine does not refuse them. */
const openedAtOnce = 50
/** Opened and ended before the measurement: they have the code compiled, and V8 grow its young generation. */
const warmUpStreams = 300
/** Descriptors that the gateway needs for the rest. */
const descriptorsKept = 250
const steadySeconds = 20

/**
 * Opens streams, and then idle connections beside them, for which the gateway waits seconds; fewer if there are few
 * descriptors.
 */
export async function measureMemory(
  load: Measured,
  upstream: Measured & { readonly port: number },
  wanted: WantedConnections,
  say: (line: string) => void,
): Promise<ConnectionMemory> {
  const { streams } = wanted
  // A stream has two connections.
  const idle = Math.min(wanted.idle, descriptorsMax() - descriptorsKept - 2 * streams)
  const target = await streamGateway(upstream.port, undefined, { connectionsMax: streams })()
  const loader = await startLoader(cores.around)
  try {
    const request = streamRequest(target, wishes)
    const open = async (wanted: number): Promise<number> => {
      let failed = 0
      for (let opened = 0; opened < wanted; opened += openedAtOnce) {
        const count = Math.min(openedAtOnce, wanted - opened)
        failed += (await ask(load, { kind: 'open', port: target.port, isTls: false, request, count })).failed
      }
      return failed
    }
    let failed = await open(Math.min(warmUpStreams, streams))
    failed += (await endStreams(load, upstream)).ended.failed
    const atFirstBytes = target.rssBytes()
    failed += await open(streams)
    say(`${streams} streams are open`)
    await delay(5000)
    const streamsBytes = target.rssBytes()
    await loader.run({ kind: 'hold', port: target.port, connections: idle })
    say(`${idle} idle connections are open`)
    const allBytes = target.rssBytes()
    let peakBytes = allBytes
    for (let second = 0; second < steadySeconds; second++) {
      await delay(1000)
      peakBytes = Math.max(peakBytes, target.rssBytes())
    }
    await loader.run({ kind: 'let-go' })
    failed += (await endStreams(load, upstream)).ended.failed
    return { idle, streams, atFirstBytes, streamsBytes, allBytes, peakBytes, failed }
  } finally {
    await loader.stop()
    // A gateway reads on after its clients have left, and a stream continues until its provider has gone.
    await upstream.stop()
    await target.stop()
  }
}

/** How many files, and therefore connections, one process may have open. */
function descriptorsMax(): number {
  const line = /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))
  return line === null ? 1024 : Number(line[1])
}
