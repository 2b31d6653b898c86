import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Measured } from '../bench/process.ts'
import { placeOf, type CallFrame } from '../profile/read-profile.ts'
import { ask, endStreams } from './measure-streams.ts'
import { streamGateway } from './stream-targets.ts'
import { streamRequest } from './stream-request.ts'
import type { StreamWishes } from './wishes.ts'

interface HeapNode {
  readonly callFrame: CallFrame
  readonly selfSize: number
  readonly children: readonly HeapNode[]
}

/** Bytes of the JavaScript heap that a frame allocates, by owner of the code. */
export interface Allocations {
  readonly frames: number
  readonly owners: readonly (readonly [owner: string, bytesAFrame: number])[]
}

const streams = 128
/** By then the functions are compiled, and the shapes of the events known. */
const steadyMs = 6000
const sampledMs = 8000

/** Samples the allocations of a gateway of its own while streams run through it. */
export async function measureAllocations(
  load: Measured,
  upstream: Measured & { readonly port: number },
  wishes: StreamWishes,
): Promise<Allocations> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-allocations-'))
  const file = join(folder, 'profile')
  const preload = join(import.meta.dirname, 'sample-allocations.ts')
  const started = await streamGateway(upstream.port, undefined, {
    nodeOptions: [`--import=${preload}`],
    environment: { ALLOCATIONS: file },
  })()
  try {
    const request = streamRequest(started, wishes)
    await ask(load, { kind: 'open', port: started.port, isTls: false, request, count: streams })
    await delay(steadyMs)
    await ask(load, { kind: 'look' })
    started.child.kill('SIGUSR2')
    await delay(sampledMs)
    started.child.kill('SIGUSR2')
    const { frames } = await ask(load, { kind: 'look' })
    const head = await written(file)
    await endStreams(load, upstream)
    return { frames, owners: byOwner(head, frames) }
  } finally {
    await started.stop()
    rmSync(folder, { recursive: true })
  }
}

async function written(file: string): Promise<HeapNode> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { head: HeapNode }).head
    await delay(20)
  }
  throw new Error('The gateway wrote no samples.')
}

/** Native allocations of Node count for the function that called it. */
function byOwner(head: HeapNode, frames: number): Allocations['owners'] {
  const bytes = new Map<string, number>()
  const visit = ({ callFrame, selfSize, children }: HeapNode): void => {
    const { owner, name, isOurs } = placeOf(callFrame)
    const place = isOurs ? `${owner}, ${name.split(' ', 1)[0]}` : owner
    bytes.set(place, (bytes.get(place) ?? 0) + selfSize)
    for (const child of children) visit(child)
  }
  visit(head)
  return [...bytes].map(([owner, sum]) => [owner, sum / frames] as const).sort((a, b) => b[1] - a[1])
}
