import { readdirSync, readlinkSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callConfig } from '../fixtures/dialect-call.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import type { RawUpstream } from '../fixtures/raw-upstream.ts'
import type { ServeOptions } from '../fixtures/serve-process.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import type { TestGateway, TestGatewayOptions } from '../fixtures/test-gateway.ts'
import type { Fault, FaultContext, Setting } from './fault.ts'
import { memoryInUse } from './memory-in-use.ts'
import { watchProcess } from './watched-process.ts'
import type { WatchedProcess } from './watched-process.ts'
import type { Test } from 'tap'
import { exchangeEnds } from '../fixtures/exchange-ends.ts'

/** How long a case may take, and how long its traces may remain. */
const caseMs = 60_000
const settleMs = 5_000
/** Above the memory after the first cases: the gateways of a hundred settings, caches, and compiled code. */
const memoryGrowthBytesMax = 96 * 1_048_576

interface Pair {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
}

export interface FaultResult {
  readonly seen: string
  readonly isAsExpected: boolean
  readonly durationMs: number
}

/** What a case has opened; closed at its end in reverse order. */
class Scope {
  readonly #steps: (() => unknown)[] = []

  /** The fixtures expect a test, and use only what is here. */
  get asTest(): Test {
    return this as unknown as Test
  }

  teardown(step: () => unknown): void {
    this.#steps.push(step)
  }

  testdir(): string {
    const folder = mkdtempSync(join(tmpdir(), 'fault-'))
    this.teardown(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).toReversed()) await step()
  }
}

/** Of an estimate made when the thread that counts tokens had no time: the machine may be busy. */
export const roughFlag = 'estimate_rough'

/** Reports how exchanges ended, one after another: `refused upstream_failed; 0.000000 provider ambiguous`. */
class EndReader {
  readonly #counts = new Map<TestGateway, number>()
  readonly #flagIgnored: string | undefined

  constructor(flagIgnored: string | undefined) {
    this.#flagIgnored = flagIgnored
  }

  async next(gateway: TestGateway): Promise<string> {
    const count = this.#counts.get(gateway) ?? 0
    await this.skip(1, gateway)
    const end = exchangeEnds(gateway)[count]
    if (end === undefined) throw new Error('The end that was waited for is not in the log.')
    const kind = end.outcome === 'refused' ? `refused ${end.code ?? ''}` : end.outcome
    return `${kind}; ${await this.#paidFor(gateway, end.requestId)}`
  }

  async skip(count: number, gateway: TestGateway): Promise<void> {
    const total = (this.#counts.get(gateway) ?? 0) + count
    await until(() => exchangeEnds(gateway).length >= total)
    this.#counts.set(gateway, total)
  }

  /** The charge of an exchange: `0.046000 provider`, `estimated`, `nothing owed`; followed by its flags. */
  async #paidFor(gateway: TestGateway, requestId: string): Promise<string> {
    const charge = await gateway.chargeOf(requestId)
    if (charge === undefined) return 'nothing owed'
    const { usageSource, amount, flags } = charge
    // Other tests check how good an estimate is; here there must be one, and it must cost something.
    const isEstimate = usageSource === 'estimated' && Number(amount) > 0
    const shown = flags.filter(flag => flag !== this.#flagIgnored)
    return [isEstimate ? 'estimated' : `${amount} ${usageSource}`, ...shown].join(' ')
  }
}

/** Runs cases one after another on whole gateways, and checks that none leaves anything behind. */
export class FaultRun {
  readonly #isAlone: boolean
  readonly #scope = new Scope()
  readonly #pairs = new Map<string, Pair>()
  #memoryBytes: number | undefined

  constructor({ isAlone }: Pick<FaultContext, 'isAlone'>) {
    this.#isAlone = isAlone
  }

  async run(fault: Fault): Promise<FaultResult> {
    const pair = await this.#pairFor(fault.setting ?? {})
    reset(pair)
    const scope = new Scope()
    const own: TestGateway[] = []
    const processScope = new Scope()
    const processes: WatchedProcess[] = []
    const ends = new EndReader(this.#isAlone || fault.expected.includes(roughFlag) ? undefined : roughFlag)
    const socketCount = openSocketCount()
    const context: FaultContext = {
      t: scope.asTest,
      ...pair,
      isAlone: this.#isAlone,
      async startGateway(options: TestGatewayOptions) {
        const gateway = await startTestGateway(scope.asTest, options)
        own.push(gateway)
        return gateway
      },
      async serve(options: ServeOptions) {
        const watched = await watchProcess(processScope.asTest, options)
        processes.push(watched)
        return watched.served
      },
      nextEnd: (gateway = pair.gateway) => ends.next(gateway),
      skipEnds: (count, gateway = pair.gateway) => ends.skip(count, gateway),
    }
    const began = performance.now()
    let seen = await within(fault.timeoutMs ?? caseMs, () => fault.run(context)).catch(sentenceOf)
    forget(pair)
    const traces = [
      ...(await Promise.all([pair.gateway, ...own].map(tracesOf))).flat(),
      ...(await this.#tracesInUse(scope)),
      ...(await Promise.all(processes.map(watched => watched.traces()))).flat(),
    ]
    // Processes are checked when their clients are gone, and end before this process is checked.
    await processScope.close()
    traces.push(...(await tracesOfSockets(socketCount)), ...(await this.#tracesOfMemory()))
    if (traces.length > 0) seen += `; BUT ${[...new Set(traces)].join(', ')}`
    return { seen, isAsExpected: seen === fault.expected, durationMs: performance.now() - began }
  }

  close(): Promise<void> {
    return this.#scope.close()
  }

  async #pairFor(setting: Setting): Promise<Pair> {
    const name = JSON.stringify(setting)
    let pair = this.#pairs.get(name)
    if (pair === undefined) {
      const upstream = await startRawUpstream(this.#scope.asTest, () => plainAnswer(200, [], '{}'))
      const { rub = 100_000, provider = {}, sections = {} } = setting
      const config = callConfig(upstream.origin, provider, sections)
      const gateway = await startTestGateway(this.#scope.asTest, { config, rub })
      pair = { gateway, upstream }
      this.#pairs.set(name, pair)
    }
    return pair
  }

  /** Both sides: connections of clients and the gateway are closed, and pooled ones are idle. */
  async #tracesInUse(scope: Scope): Promise<string[]> {
    const traces: string[] = []
    const upstreams = [...this.#pairs.values()].map(({ upstream }) => upstream)
    await scope.close()
    // An idle connection of the gateway's pool does not keep the process alive, so only connections in use count.
    const isIdle = (): boolean =>
      process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length <=
      upstreams.reduce((sum, { openSockets }) => sum + openSockets.size, 0)
    await until(isIdle, settleMs).catch(() => traces.push('a connection stays in use'))
    for (const { openSockets } of upstreams) for (const socket of openSockets) socket.destroy()
    return traces
  }

  async #tracesOfMemory(): Promise<string[]> {
    const bytesMax = (this.#memoryBytes ??= memoryInUse()) + memoryGrowthBytesMax
    const traces: string[] = []
    await until(() => memoryInUse() <= bytesMax, settleMs).catch(() => traces.push('memory grows'))
    return traces
  }
}

/** Sockets of this process: of clients, gateways and upstreams, listeners included. */
function openSocketCount(): number {
  return readdirSync('/proc/self/fd').filter(name => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith('socket:')
    } catch (error) {
      // The descriptor with which the folder itself was read.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
      throw error
    }
  }).length
}

async function tracesOfSockets(socketCount: number): Promise<string[]> {
  const traces: string[] = []
  const isBack = (): boolean => openSocketCount() <= socketCount
  await until(isBack, settleMs).catch(() => traces.push('a socket leaks'))
  return traces
}

function reset(pair: Pair): void {
  pair.gateway.logLines.length = 0
  forget(pair)
  for (const socket of pair.upstream.openSockets) socket.destroy()
}

/** The upstream's requests and responses can be large, and belong to the case. */
function forget({ upstream }: Pair): void {
  upstream.requests.length = 0
  upstream.received.length = 0
  upstream.answer = () => plainAnswer(200, [], '{}')
}

/** What a case may not leave behind in a gateway. */
async function tracesOf(gateway: TestGateway): Promise<string[]> {
  const traces: string[] = []
  const isFree = async (): Promise<boolean> => (await gateway.balance()).heldMicros === 0
  await until(isFree, settleMs).catch(() => traces.push('a hold is left'))
  traces.push(...(await gateway.breaches()))
  if (gateway.logLines.some(line => line.includes('a plugin failed') || line.includes('a listener failed')))
    traces.push('something failed inside')
  return traces
}

async function within(timeoutMs: number, run: () => Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<string>(resolve => {
    timer = setTimeout(() => resolve('not over in time'), timeoutMs)
  })
  try {
    return await Promise.race([run(), timeout])
  } finally {
    clearTimeout(timer)
  }
}

function sentenceOf(error: unknown): string {
  return `failed: ${error instanceof Error ? error.stack : String(error)}`
}
