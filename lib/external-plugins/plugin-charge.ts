import type { JobEnd } from '../jobs/end-job.ts'
import { addMeters, type Meters } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Facts } from '../pipeline/facts.ts'
import type { PluginCharge } from '../plugin-api/plugin-api.ts'

type Charged = Facts['charged']

/** The charge of an exchange, or of a turn of its session. */
export function exchangeCharge(exchange: Exchange, sequence: number, charged: Charged): PluginCharge {
  const { id, accountId } = exchange.get('key')
  return { requestId: exchange.id, sequence, accountId, keyId: id, ...shared(charged) }
}

/** The charge of a job; undefined for one that costs nothing. */
export function jobCharge({ job, charged }: JobEnd): PluginCharge | undefined {
  if (charged === undefined) return undefined
  const { exchangeId, sequence, accountId, keyId } = job
  return { requestId: exchangeId, sequence, accountId, keyId, ...shared(charged) }
}

const tellers = new WeakMap<JobEnd, Set<string>>()

/** A job belongs to no pipeline: while a reload's pipelines run beside each other, the first plugin tells of it. */
export function isFirstToTell(end: JobEnd, plugin: string): boolean {
  const told = tellers.get(end) ?? new Set()
  tellers.set(end, told)
  const isFirst = !told.has(plugin)
  told.add(plugin)
  return isFirst
}

function shared({ charge, result }: Charged) {
  const { provider, model, dialect, operation, lines } = charge
  const usage = lines.reduce<Meters>((sum, line) => addMeters(sum, line.usage.meters), {})
  const { amountMicros, flags } = result
  return { provider, model, dialect, operation, usage: { ...usage }, amountMicros, flags }
}
