import { writeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { join } from 'node:path'
import { SoakLoad } from './soak/soak-load.ts'
import type { SoakRecord } from './soak/soak-load.ts'
import { startSoakUpstream } from './soak/soak-upstream.ts'
import type { SoakUpstream, Fate, Given } from './soak/soak-upstream.ts'
import { systemClock } from '../lib/platform/clock.ts'
import type { ChargeReport } from '../lib/ledger/reports.ts'
import { storeReports } from '../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../lib/stores/sqlite/sqlite-queries.ts'
import { startGatewayProcess } from './gateway-process.ts'
import type { GatewayProcess } from './gateway-process.ts'

// A third of the gateway's maximum, for `--minutes 10`, while `--faults 5` percent of the requests fail:
// clients leave or read slowly, the provider resets and cuts, requests are not JSON. Memory and sockets must not
// grow, and clients, provider and ledger must agree to the micro-rouble. `--rate 200` sets the requests a second,
// `--saturation 5` for how many seconds the maximum is searched.

const mebibyte = 1_048_576
/** Memory counts from here: one-time compiling, caching and allocation are over by then. */
const warmUpPart = 0.4
/** The highest slope over the measured time, which the collector's cycles explain. */
const growthPartMax = 0.1
const settleMs = 5000

function option(name: string, otherwise: number): number {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? otherwise : Number(process.argv[index + 1])
}

function row(what: string, value: string, breach?: string): boolean {
  writeSync(1, `| ${what} | ${value} | ${breach === undefined ? 'ok' : `**${breach}**`} |\n`)
  return breach === undefined
}

async function settle(isSettled: () => boolean): Promise<boolean> {
  const deadline = performance.now() + settleMs
  while (!isSettled() && performance.now() < deadline) await delay(50)
  return isSettled()
}

interface Sample {
  readonly atMs: number
  readonly rssBytes: number
  readonly socketCount: number
}

const rubPerMillion = { input: '0.37', output: '1.113' } as const

/** The cost of a usage by that price, in micro-roubles, computed independently of the gateway. */
function costMicros(input: number, output: number): number {
  return Math.floor((input * 370 + output * 1113 + 500) / 1000)
}

interface SoakGateway extends GatewayProcess {
  isRunning(): boolean
  rssBytes(): number
  socketCount(): number
}

/** The gateway in a process of its own, in front of this provider. */
async function startSoakGateway(origin: string): Promise<SoakGateway> {
  const dialects = { openai: { baseUrl: `${origin}/v1` } }
  const gateway = await startGatewayProcess({
    config: {
      providers: { openai: { credentials: ['sk-x'], streamUsage: 'as-sent', dialects } },
      models: { 'test-model': { provider: 'openai', outputTokensMax: 60, rubPerMillion } },
    },
  })
  const { child } = gateway
  const proc = `/proc/${child.pid}`
  return {
    ...gateway,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    rssBytes: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1]) * 1024,
    socketCount: () => countSockets(`${proc}/fd`),
  }
}

function countSockets(folder: string): number {
  return readdirSync(folder).filter(name => {
    try {
      return readlinkSync(join(folder, name)).startsWith('socket:')
    } catch (error) {
      // Closed between the two calls.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
      throw error
    }
  }).length
}

/** Samples a process's memory and sockets once a second. */
class Sampler {
  readonly #samples: Sample[] = []
  readonly #timer: NodeJS.Timeout

  constructor(gateway: SoakGateway) {
    this.#timer = setInterval(() => {
      if (!gateway.isRunning()) return
      this.#samples.push({
        atMs: performance.now(),
        rssBytes: gateway.rssBytes(),
        socketCount: gateway.socketCount(),
      })
    }, 1000)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  get socketCountMax(): number {
    return Math.max(...this.#samples.map(({ socketCount }) => socketCount))
  }

  /** Of the samples after this part of the time: the median, and the slope by least squares. */
  memory(warmUpPart: number): {
    readonly medianBytes: number
    readonly bytesPerHour: number
    readonly hours: number
  } {
    const kept = this.#samples.slice(Math.floor(this.#samples.length * warmUpPart))
    const hours = kept.map(({ atMs }) => atMs / 3_600_000)
    const mean = (values: readonly number[]): number =>
      values.reduce((sum, value) => sum + value, 0) / values.length
    const hoursMean = mean(hours)
    const bytesMean = mean(kept.map(({ rssBytes }) => rssBytes))
    let above = 0
    let below = 0
    for (const [index, { rssBytes }] of kept.entries()) {
      const distance = (hours[index] ?? 0) - hoursMean
      above += distance * (rssBytes - bytesMean)
      below += distance * distance
    }
    const sorted = kept.map(({ rssBytes }) => rssBytes).toSorted((a, b) => a - b)
    return {
      medianBytes: sorted[sorted.length >> 1] ?? 0,
      bytesPerHour: below === 0 ? 0 : above / below,
      hours: (hours.at(-1) ?? 0) - (hours[0] ?? 0),
    }
  }
}

function reportMemory(sampler: Sampler): boolean {
  const { medianBytes, bytesPerHour, hours } = sampler.memory(warmUpPart)
  const growth = bytesPerHour * hours
  const isFlat = growth <= medianBytes * growthPartMax
  const text = `${(medianBytes / mebibyte).toFixed(0)} MB, ${(growth / mebibyte).toFixed(1)} MB more in ${(hours * 60).toFixed(1)} min (${(bytesPerHour / mebibyte).toFixed(0)} MB/h)`
  return row('memory after warm-up', text, isFlat ? undefined : 'grows')
}

interface Compared {
  readonly chargeCount: number
  readonly chargedMicros: number
  readonly requestCount: number
  readonly askedCount: number
  readonly faultCounts: ReadonlyMap<Fate, number>
  /** The disagreements, as sentences; empty when there are none. */
  readonly differences: readonly string[]
}

function micros(roubles: string): number {
  return Number(roubles.replace('.', ''))
}

/** Compares the records of clients, the provider and the ledger, request by request, to the micro-rouble. */
async function compareMoney(
  gateway: SoakGateway,
  records: readonly SoakRecord[],
  given: ReadonlyMap<number, Given>,
): Promise<Compared> {
  const differences: string[] = []
  const reports = storeReports(new SqliteQueries(gateway.storeFile), { clock: systemClock })
  const charges = new Map<string, ChargeReport>()
  let chargedMicros = 0
  for await (const charge of reports.charges(gateway.accountId)) {
    if (charges.has(charge.requestId)) differences.push(`${charge.requestId} is charged twice`)
    charges.set(charge.requestId, charge)
    chargedMicros += micros(charge.amount)
  }
  const balance = await reports.balance(gateway.accountId)
  differences.push(...(await reports.verify()))
  await reports.close()
  if (balance?.heldMicros !== 0) differences.push(`${balance?.heldMicros} micro-roubles are still held`)
  if (balance?.balanceMicros !== gateway.creditMicros - chargedMicros)
    differences.push(`the balance is ${balance?.balanceMicros} and not the credit less the charges`)

  const faultCounts = new Map<Fate, number>()
  const unseen = new Set(charges.keys())
  for (const record of records) {
    faultCounts.set(record.fate, (faultCounts.get(record.fate) ?? 0) + 1)
    const charge = record.requestId === undefined ? undefined : charges.get(record.requestId)
    if (charge !== undefined) unseen.delete(charge.requestId)
    const difference = differenceOf(record, charge, given.get(record.number))
    if (difference !== undefined) differences.push(`request ${record.number} (${record.fate}): ${difference}`)
  }
  if (unseen.size > 0) differences.push(`${unseen.size} charges are of no client's request`)
  const askedCount = given.size
  return {
    chargeCount: charges.size,
    chargedMicros,
    requestCount: records.length,
    askedCount,
    faultCounts,
    differences,
  }
}

/** The required result of every request, by its fate. */
function differenceOf(
  { fate, status, isWhole, usage }: SoakRecord,
  charge: ChargeReport | undefined,
  answered: Given | undefined,
): string | undefined {
  if (fate === 'bad-request') {
    if (status !== 400) return `was answered with ${status}`
    return charge === undefined && answered === undefined ? undefined : 'was sent or charged'
  }
  if (answered?.times !== 1) return `reached the provider ${answered?.times ?? 0} times`
  if (charge === undefined) return 'is not charged'
  const isExact = micros(charge.amount) === costMicros(answered.input, answered.output)
  const found = `${status}, ${charge.outcome}, ${charge.amount} ${charge.usageSource} ${charge.flags.join()}`
  if (fate === 'none' || fate === 'client-reads-slowly') {
    const isSame = usage?.input === answered.input && usage.output === answered.output
    return status === 200 && isWhole && isSame && isExact && charge.outcome === 'completed'
      ? undefined
      : found
  }
  // A busy gateway may notice a cut before anything has left it, and then nothing is owed.
  const isRefused = status === 502 && charge.amount === '0.000000' && charge.flags.includes('ambiguous')
  if (fate === 'upstream-resets-first') return isRefused ? undefined : found
  // A client that leaves late may have received all of it.
  if (fate === 'client-leaves' && charge.outcome === 'completed') return isExact ? undefined : found
  const outcome = fate === 'client-leaves' ? 'aborted' : 'broken'
  const isPaid = charge.usageSource === 'estimated' || isExact
  const isCut = status === 200 && !isWhole && charge.outcome === outcome && isPaid
  return isCut || (fate !== 'client-leaves' && isRefused) ? undefined : found
}

function reportMoney(compared: Compared): boolean {
  const { chargeCount, chargedMicros, requestCount, askedCount, faultCounts, differences } = compared
  const faults = [...faultCounts]
    .filter(([fate]) => fate !== 'none')
    .map(([fate, count]) => `${count} ${fate}`)
  row('requests of clients, at the provider, charged', `${requestCount}, ${askedCount}, ${chargeCount}`)
  row('faults', faults.join(', '))
  row('charged', `${(chargedMicros / 1e6).toFixed(6)} roubles`)
  for (const difference of differences.slice(0, 10)) row('difference', difference, 'does not agree')
  return row(
    'clients, provider, ledger and `verify`',
    `${differences.length} differences`,
    differences.length === 0 ? undefined : 'differ',
  )
}

function reportLatency(load: SoakLoad): void {
  const durations = load.records.filter(({ fate }) => fate === 'none').map(({ durationMs }) => durationMs)
  durations.sort((a, b) => a - b)
  const at = (part: number): string => (durations[Math.floor(durations.length * part)] ?? 0).toFixed(0)
  row('answers without a fault, p50, p99, slowest', `${at(0.5)}, ${at(0.99)}, ${at(0.9999)} ms`)
}

async function soak(gateway: SoakGateway, upstream: SoakUpstream): Promise<boolean> {
  const seconds = option('minutes', 10) * 60
  const load = new SoakLoad(gateway.url, gateway.key, option('faults', 5))
  const socketsBefore = gateway.socketCount()
  const saturation = await load.saturate(64, option('saturation', 5))
  const rate = option('rate', saturation / 3)
  writeSync(1, `| what | value | |\n| --- | --- | --- |\n`)
  row('saturation', `${saturation.toFixed(0)} requests/s`)
  row('load', `${rate.toFixed(0)} requests/s for ${seconds} s`)
  const sampler = new Sampler(gateway)
  await load.keepUp(rate, seconds)
  sampler.stop()
  load.close()
  const isRunning = row('gateway', 'runs', gateway.isRunning() ? undefined : 'has ended')
  const isClosed = await settle(() => {
    upstream.closeIdle()
    return gateway.socketCount() <= socketsBefore
  })
  const sockets = `${socketsBefore} before, ${sampler.socketCountMax} at most, ${gateway.socketCount()} afterwards`
  const areClosed = row('sockets', sockets, isClosed ? undefined : 'leak')
  const isFlat = reportMemory(sampler)
  reportLatency(load)
  const exitCode = await gateway.stop()
  const hasStopped = row('stops', `code ${exitCode}`, exitCode === 0 ? undefined : 'failed')
  const isEqual = reportMoney(await compareMoney(gateway, load.records, upstream.given))
  return isRunning && areClosed && isFlat && hasStopped && isEqual
}

const upstream = await startSoakUpstream()
const gateway = await startSoakGateway(upstream.origin)
try {
  process.exitCode = (await soak(gateway, upstream)) ? 0 : 1
} finally {
  await gateway.stop()
  upstream.close()
  gateway.remove()
}
