import { readFileSync } from 'node:fs'

export interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The owner and the function of a sample. */
interface Place {
  readonly owner: string
  readonly name: string
  /** A function of the gateway's. */
  readonly isOurs: boolean
}

/** Shares of the time in which the thread was not idle, in percent, the largest first. */
export interface Shares {
  readonly owners: readonly (readonly [owner: string, percent: number])[]
  readonly own: readonly (readonly [name: string, percent: number])[]
}

/** Reads a profile written by `node --cpu-prof`; samples before `fromShare` of it are left out. */
export function readProfile(file: string, fromShare: number): Shares {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
  const spanMicros = timeDeltas.reduce((sum, delta) => sum + delta, 0)
  const owners = new Map<string, number>()
  const own = new Map<string, number>()
  let atMicros = 0
  let busyMicros = 0
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0
    const place = places.get(id)
    atMicros += delta
    if (atMicros < spanMicros * fromShare || place === undefined || place.owner === '(idle)') continue
    busyMicros += delta
    owners.set(place.owner, (owners.get(place.owner) ?? 0) + delta)
    if (place.isOurs) own.set(place.name, (own.get(place.name) ?? 0) + delta)
  }
  const percent = (micros: Map<string, number>): [string, number][] =>
    [...micros]
      .map(([name, sum]): [string, number] => [name, (sum / busyMicros) * 100])
      .sort((a, b) => b[1] - a[1])
  return { owners: percent(owners), own: percent(own) }
}

export function placeOf({ functionName, url, lineNumber }: CallFrame): Place {
  const name = functionName === '' ? '(no name)' : functionName
  const ours = /\/dist\/((?:lib|plugins)\/.*)$/.exec(url)?.[1]
  if (ours !== undefined) {
    const owner = ours.startsWith('lib/') && ours.split('/').length > 2 ? ours.split('/', 2).join('/') : ours
    return {
      owner: `gateway: ${owner.replace(/\.js$/, '')}`,
      name: `${name} ${ours}:${lineNumber + 1}`,
      isOurs: true,
    }
  }
  const owner =
    /\/node_modules\/(?!.*\/node_modules\/)((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
    (url.startsWith('wasm:') || name.startsWith('wasm') ? 'undici' : undefined) ??
    (url.startsWith('node:') ? `node: ${nodePart(url)}` : undefined) ??
    (name.startsWith('(') ? name : `native: ${name}`)
  return { owner, name, isOurs: false }
}

/** `node:_http_server` and related modules are one part. */
function nodePart(url: string): string {
  const module = url.slice('node:'.length).replace('internal/', '')
  if (/^_?http/.test(module)) return 'http'
  if (/^(?:net|stream)/.test(module)) return 'net and streams'
  if (/^process\/|^async|^timers|^events/.test(module)) return 'events, timers, ticks'
  return 'the rest'
}
