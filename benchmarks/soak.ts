import { writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { compareMoney, type Compared } from './soak/compare-money.ts'
import { Sampler } from './soak/sampler.ts'
import { startSoakGateway, type SoakGateway } from './soak/soak-gateway.ts'
import { SoakLoad } from './soak/soak-load.ts'
import { startSoakUpstream, type SoakUpstream } from './soak/soak-upstream.ts'

// A third of what the gateway can do, for `--minutes 10`, while `--faults 5` percent of the requests go wrong:
// clients leave or read slowly, the provider resets and cuts, requests are no JSON. Memory and sockets have to
// stay what they are, and clients, provider and ledger have to agree to the micro-rouble. `--rate 200` sets
// the requests a second, `--saturation 5` for how many seconds the most is looked for.

const mebibyte = 1_048_576
/** Memory counts from here: what is compiled, cached and allocated once is there by then. */
const warmUpPart = 0.4
/** What the slope may come to over the time that was measured: a garbage collector's tide. */
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

function reportMemory(sampler: Sampler): boolean {
  const { medianBytes, bytesPerHour, hours } = sampler.memory(warmUpPart)
  const growth = bytesPerHour * hours
  const isFlat = growth <= medianBytes * growthPartMax
  const text = `${(medianBytes / mebibyte).toFixed(0)} MB, ${(growth / mebibyte).toFixed(1)} MB more in ${(hours * 60).toFixed(1)} min (${(bytesPerHour / mebibyte).toFixed(0)} MB/h)`
  return row('memory after warm-up', text, isFlat ? undefined : 'grows')
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
