import type { BlockList } from 'node:net'
import type { Config } from '../config/config.ts'
import { addressList, addressOf, truncatedAddress } from '../http/client-address.ts'
import { alarmSentence } from '../pipeline/alarm-sentences.ts'
import type { Clock } from '../platform/clock.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Log } from '../platform/log.ts'
import { formatRoubles } from '../money/amount.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange, Outcome } from '../pipeline/exchange.ts'
import { versionlessBases } from '../config/versionless-bases.ts'

/** The settings of the config in force that decide how lines are written. */
type LogSettings = Pick<Config, 'log' | 'trustedProxies'>

/** Logs one line for each exchange, and one for each alarm. No bodies, no keys. */
export function logEvents(bus: PipelineBus, log: Log, clock: Clock, settings: () => LogSettings): void {
  /** The attempts before the last one; when the client has left, one may be reported after its exchange has ended. */
  const tried = new WeakMap<Exchange, Readonly<Record<string, unknown>>[]>()
  bus.on('exchange-end', (exchange, outcome) => {
    const attempts = tried.get(exchange)
    const facts = {
      ...exchangeFacts(exchange, outcome, clock.now()),
      client: clientOf(exchange, settings()),
      ...(attempts !== undefined && { tried: attempts }),
    }
    if (outcome.kind === 'broken' || isInternal(outcome)) log.warn(facts, 'exchange')
    // Under overload this line is part of the work that is saved.
    else if (isShed(exchange, outcome) || isGreeting(exchange, outcome)) log.debug(facts, 'exchange')
    else log.info(facts, 'exchange')
  })
  bus.on('upstream-attempt', (exchange, attempt) => {
    // The attempt that is relayed is described by the exchange's own line.
    if (exchange !== undefined && attempt['result'] !== 'relayed')
      tried.set(exchange, [...(tried.get(exchange) ?? []), attempt])
    log.info({ requestId: exchange?.id, ...attempt }, 'attempt')
  })
  bus.on('session-charge', (exchange, sequence, { charge, result }) => {
    const { usageSource, flags } = charge
    const amount = formatRoubles(result.amountMicros)
    log.info({ requestId: exchange.id, sequence, amount, usageSource, flags }, 'turn')
  })
  bus.on('job-end', ({ job, charged }) => {
    const { exchangeId: requestId, keyId: key, provider, kind, operation, model, polls } = job
    const amount = formatRoubles(charged.result.amountMicros)
    log.info({ requestId, key, provider, kind, operation, model, polls, amount }, 'job')
  })
  bus.on('job-store-failure', (job, error) => {
    log.warn(
      { error, requestId: job?.exchangeId },
      'the store could not be asked about jobs; it is tried again',
    )
  })
  bus.on('plugin-error', (plugin, hook, error, exchange) => {
    log.error({ plugin, hook, error, requestId: exchange.id }, 'a plugin failed')
  })
  const hinted = new Set<string>()
  bus.on('response-start', (exchange, { status }) => {
    const provider = status === 404 ? exchange.find('target')?.provider : undefined
    if (provider === undefined || hinted.has(provider.name)) return
    hinted.add(provider.name)
    for (const [, { href }] of versionlessBases(provider)) {
      const facts = { requestId: exchange.id, provider: provider.name, baseUrl: href }
      log.warn(facts, 'the provider answered 404 below a base URL without a version such as /v1')
    }
  })
  bus.on('alarm', (code, details) => {
    const facts = { alarm: code, says: alarmSentence(code), ...details }
    if (endings.includes(code)) log.info(facts, 'alarm')
    else log.warn(facts, 'alarm')
  })
}

/** The model's name comes from the provider, so its length is limited. */
const answeredModelMax = 100
/** Compiled lists of trusted proxies, by the setting. */
const proxies = new WeakMap<readonly string[], BlockList>()

/** The client's address, as exactly as the config allows in the log. */
function clientOf({ request }: Exchange, { log, trustedProxies }: LogSettings): string | undefined {
  if (log.clientAddress === 'none') return undefined
  let trusted = proxies.get(trustedProxies)
  if (trusted === undefined) {
    trusted = addressList(trustedProxies)
    proxies.set(trustedProxies, trusted)
  }
  const address = addressOf(request, trusted)
  return log.clientAddress === 'full' ? address : truncatedAddress(address)
}

/** Alarms that report a recovery. */
const endings: readonly string[] = ['credential_restored', 'egress_up', 'store_available']

function exchangeFacts(exchange: Exchange, outcome: Outcome, nowMs: number): object {
  const route = exchange.find('route')
  const target = exchange.find('target')
  const charged = exchange.find('charged')
  return {
    requestId: exchange.id,
    connection: exchange.find('connection')?.id,
    outcome: outcome.kind,
    ...('error' in outcome && errorFacts(outcome.error)),
    status: exchange.response.statusCode,
    dialect: route?.dialect.name,
    operation: route?.match.operation.name,
    account: exchange.find('key')?.accountId,
    key: exchange.find('key')?.id,
    provider: target?.provider.name,
    credentialName: target?.credential.name,
    egress: exchange.find('upstream')?.egressName,
    attempts: exchange.find('upstream')?.attemptCount,
    model: target?.modelName,
    answeredModel: charged?.charge.answeredModel?.slice(0, answeredModelMax),
    ...unmeasuredFacts(exchange),
    ...(charged !== undefined && { amount: formatRoubles(charged.result.amountMicros) }),
    durationMs: nowMs - exchange.startedAt,
    timings: timingsOf(exchange),
  }
}

/** Media that were let through although their length is unknown. */
function unmeasuredFacts(exchange: Exchange): object {
  const parts = exchange.find('unmeasured')
  if (parts === undefined) return {}
  const shown = parts.slice(0, 10).map(({ path, unmeasuredBecause }) => `${path}: ${unmeasuredBecause}`)
  return { mediaUnmeasured: parts.length, mediaUnmeasuredBecause: shown }
}

/** A refusal's code and message are enough; only its cause, or an unexpected error, is logged with a stack. */
function errorFacts(error: Error): object {
  if (!(error instanceof GatewayError)) return { code: codeOf(error), error }
  const { code, message, cause } = error
  return { code, reason: message, ...(cause !== undefined && { error: cause }) }
}

/** A request that was shed before its caller was identified. */
function isShed(exchange: Exchange, outcome: Outcome): boolean {
  return (
    outcome.kind === 'refused' &&
    outcome.error instanceof GatewayError &&
    outcome.error.code === 'overloaded' &&
    exchange.find('key') === undefined
  )
}

/** Claude Code probes the address before it has a key to send. */
function isGreeting(exchange: Exchange, outcome: Outcome): boolean {
  return (
    outcome.kind === 'refused' &&
    outcome.error instanceof GatewayError &&
    outcome.error.code === 'key_missing' &&
    exchange.find('route')?.match.operation.name === 'hello'
  )
}

/** A request on which the gateway itself failed. */
function isInternal(outcome: Outcome): boolean {
  if (outcome.kind !== 'refused') return false
  return !(outcome.error instanceof GatewayError) || outcome.error.code === 'internal'
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : error.name
}

/** Milliseconds from the start of the exchange to each of its moments that was reached. */
function timingsOf({ moments }: Exchange): object {
  const since = (moment: number | undefined): number | undefined =>
    moment === undefined ? undefined : Math.round((moment - moments.begunMs) * 100) / 100
  return {
    queueMs: since(moments.admittedMs),
    holdMs: since(moments.heldMs),
    connectMs: since(moments.connectedMs),
    firstByteMs: since(moments.firstByteMs),
    endMs: since(moments.endedMs),
  }
}
