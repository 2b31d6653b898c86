import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import { errorTable } from '../pipeline/errors.ts'
import type { ShedClass } from '../overload/overload.ts'
import {
  alarmLabels,
  countAlarm,
  declareAlarms,
  registerProviderMetrics,
  type AlarmCounter,
} from './provider-metrics.ts'
import { errorCode } from './error-counts.ts'
import type { ProviderReading } from '../upstream/provider-state.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange, Facts, Outcome } from '../pipeline/exchange.ts'

/** Values that are read when the metrics are requested. */
interface MetricSources {
  openExchanges(): number
  writesWaiting(): number
  droppedLogLines(): number
  /** Providers as this process sees them. */
  providers(): readonly ProviderReading[]
  /** The plugins created so far, whose failures are counted from 0. */
  readonly pluginNames?: () => Iterable<string>
  /** Account ids by the group under which they are counted. */
  accountGroups?: Readonly<Record<string, readonly string[]>> | undefined
  readonly overload: {
    readonly level: number
    readonly loopDelayMs: number
    readonly shedCounts: Readonly<Record<ShedClass, number>>
  }
}

/** The metrics of one process. */
export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[]

const durationBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const microsPerRouble = 1_000_000

/**
 * Counts the bus's events, in Prometheus' format. Labels are names from the config and the program, never text of a
 * client: a model is labeled by the entry of the config that set its price.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #others: Registry
  readonly #exchanges = this.#counter('exchanges_total', 'Exchanges that have ended.', [
    'dialect',
    'operation',
    'outcome',
    'status',
  ])
  readonly #refusals = this.#counter('refusals_total', 'Exchanges the gateway refused, by its error code.', [
    'code',
  ])
  readonly #durations = this.#histogram(
    'exchange_duration_seconds',
    'From a request to the end of its answer.',
    ['dialect', 'operation'],
  )
  readonly #firstBytes = this.#histogram('first_byte_seconds', 'From a request to the head of its answer.', [
    'provider',
  ])
  readonly #attempts = this.#counter(
    'upstream_attempts_total',
    'Requests sent to providers, by what came of them.',
    ['provider', 'result'],
  )
  readonly #units = this.#counter('units_total', 'Units charged: tokens, images, seconds.', [
    'provider',
    'model',
    'meter',
  ])
  readonly #roubles = this.#counter('charged_roubles_total', 'What accounts paid.', ['provider', 'model'])
  readonly #overrun = this.#counter(
    'overrun_roubles_total',
    'What usage cost beyond the money there was.',
    [],
  )
  readonly #charges = this.#counter('charges_total', 'Charges, by where their usage is from.', ['source'])
  readonly #accountRequests = this.#counter('account_requests_total', 'Requests by group of accounts.', [
    'group',
    'outcome',
  ])
  readonly #groups: ReadonlyMap<string, string>
  readonly #alarms: AlarmCounter
  readonly #pluginErrors: Counter<'plugin' | 'hook'>

  /** @param others metrics to show with its own, for instance those of plugins */
  constructor(bus: PipelineBus, sources: MetricSources, others = new Registry()) {
    this.#others = others
    collectDefaultMetrics({ register: this.#registry })
    // These gauges are named like counters, and the gauges by type report the same.
    for (const kind of ['handles', 'requests', 'resources'])
      this.#registry.removeSingleMetric(`nodejs_active_${kind}_total`)
    const { accountGroups = {} } = sources
    this.#groups = new Map(
      Object.entries(accountGroups).flatMap(([group, accounts]) =>
        accounts.map(account => [account, group] as const),
      ),
    )
    for (const group of Object.keys(accountGroups))
      this.#accountRequests.inc({ group, outcome: 'completed' }, 0)
    this.#readSources(sources)
    this.#alarms = this.#counter('alarms_total', 'What an operator should look at.', [...alarmLabels], () =>
      declareAlarms(this.#alarms, sources.providers()),
    )
    declareAlarms(this.#alarms, sources.providers())
    this.#listen(bus)
    this.#pluginErrors = this.#countPluginErrors(sources)
    bus.on('plugin-error', (plugin, hook) => this.#pluginErrors.inc({ plugin, hook }))
  }

  /** Registers the metrics whose values are read on request. */
  #readSources(sources: MetricSources): void {
    registerProviderMetrics(this.#registry, () => sources.providers())
    this.#gauge('open_exchanges', 'Exchanges that run.', () => sources.openExchanges())
    this.#gauge('writes_waiting', 'Operations the writer has not been sent yet.', () =>
      sources.writesWaiting(),
    )
    const { overload } = sources
    this.#gauge('event_loop_delay_seconds', 'How late timers are.', () => overload.loopDelayMs / 1000, 'max')
    this.#gauge(
      'overload_level',
      '1: unknown keys are shed. 2: all new requests are.',
      () => overload.level,
      'max',
    )
    this.#total('log_lines_dropped_total', "Lines that the log's reader did not take.", () =>
      sources.droppedLogLines(),
    )
    const shed = this.#counter(
      'shed_requests_total',
      'Requests turned away under overload.',
      ['class'],
      () => {
        shed.reset()
        for (const [group, count] of Object.entries(overload.shedCounts)) shed.inc({ class: group }, count)
      },
    )
  }

  /** Registers the metrics that count events. */
  #listen(bus: PipelineBus): void {
    bus.on('exchange-end', (exchange, outcome) => this.#onEnd(exchange, outcome))
    bus.on('upstream-attempt', (_exchange, { provider, status, result }) => {
      // The relayed attempt is counted when the exchange ends.
      if (result !== 'relayed')
        this.#attempts.inc({ provider: String(provider), result: resultName(status, result) })
    })
    bus.on('alarm', (code, details) => countAlarm(this.#alarms, code, details))
    bus.on('job-end', ({ job, charged }, modelEntry = 'none') => {
      this.#onCharged(charged, job.provider, modelEntry)
    })
    bus.on('session-charge', (exchange, _sequence, charged) => {
      const { provider, model } = exchange.get('target')
      this.#onCharged(charged, provider.name, model?.name ?? 'none')
    })
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE

  async text(): Promise<string> {
    const texts = await Promise.all([this.#registry.metrics(), this.#others.metrics()])
    return texts.join('')
  }

  /** The same as values, to be merged with those of other processes. */
  async values(): Promise<MetricValues> {
    const values = await Promise.all([this.#registry.getMetricsAsJSON(), this.#others.getMetricsAsJSON()])
    return values.flat()
  }

  #onEnd(exchange: Exchange, outcome: Outcome): void {
    const route = exchange.find('route')
    const labels = {
      dialect: route?.dialect.name ?? 'none',
      operation: route?.match.operation.name ?? 'none',
    }
    const { begunMs, firstByteMs, endedMs } = exchange.moments
    const status = String(exchange.response.statusCode)
    this.#exchanges.inc({ ...labels, outcome: outcome.kind, status })
    const account = exchange.find('key')?.accountId
    if (account !== undefined) {
      const group = this.#groups.get(account) ?? 'others'
      this.#accountRequests.inc({ group, outcome: outcome.kind })
    }
    if (outcome.kind === 'refused') this.#refusals.inc({ code: errorCode(outcome.error) })
    if (endedMs !== undefined) this.#durations.observe(labels, (endedMs - begunMs) / 1000)
    const provider = exchange.find('target')?.provider.name
    if (provider === undefined) return
    if (firstByteMs !== undefined) this.#firstBytes.observe({ provider }, (firstByteMs - begunMs) / 1000)
    if ((exchange.find('upstream')?.attemptCount ?? 0) > 0) {
      const code = 'error' in outcome ? errorCode(outcome.error) : outcome.kind
      this.#attempts.inc({ provider, result: resultName(exchange.responseStatus, code) })
    }
    const charged = exchange.find('charged')
    if (charged === undefined) return
    this.#onCharged(charged, provider, exchange.find('target')?.model?.name ?? 'none')
  }

  #onCharged({ charge, result }: Facts['charged'], provider: string, model: string): void {
    this.#charges.inc({ source: charge.usageSource })
    this.#roubles.inc({ provider, model }, result.amountMicros / microsPerRouble)
    if (result.overrunMicros > 0) this.#overrun.inc({}, result.overrunMicros / microsPerRouble)
    for (const { usage } of charge.lines) {
      for (const [meter, units] of Object.entries(usage.meters)) {
        if (units > 0) this.#units.inc({ provider, model, meter: meterName(meter) }, units)
      }
    }
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[], collect?: () => void): Counter<L> {
    return new Counter({
      name: `gateway_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      ...(collect !== undefined && { collect }),
    })
  }

  #countPluginErrors({ pluginNames }: MetricSources): Counter<'plugin' | 'hook'> {
    const counter: Counter<'plugin' | 'hook'> = this.#counter(
      'plugin_errors_total',
      'Hooks of plugins that failed.',
      ['plugin', 'hook'],
      () => declarePluginErrors(counter, pluginNames?.() ?? []),
    )
    return counter
  }

  #histogram<L extends string>(name: string, help: string, labelNames: L[]): Histogram<L> {
    return new Histogram({
      name: `gateway_${name}`,
      help,
      labelNames,
      buckets: durationBuckets,
      registers: [this.#registry],
    })
  }

  /** @param aggregator how the values of several processes are merged */
  #gauge(name: string, help: string, read: () => number, aggregator: 'sum' | 'max' = 'sum'): void {
    const gauge: Gauge = new Gauge({
      name: `gateway_${name}`,
      help,
      aggregator,
      registers: [this.#registry],
      collect: () => gauge.set(read()),
    })
  }

  #total(name: string, help: string, read: () => number): void {
    const total = this.#counter(name, help, [], () => {
      total.reset()
      total.inc(read())
    })
  }
}

/** Hooks whose failures end no request, so that only this counter shows them. */
const countedHooks = [
  'onUpstreamRequest',
  'onResponse',
  'tap',
  'onData',
  'onSettle',
  'onCharge',
  'onEnd',
] as const

/** Starts the series at 0: a rule sees no increase in a series that begins at 1. */
function declarePluginErrors(counter: Counter<'plugin' | 'hook'>, plugins: Iterable<string>): void {
  for (const plugin of plugins) for (const hook of countedHooks) counter.inc({ plugin, hook }, 0)
  // Reported by the pipeline when it cannot tell which plugin a tap belongs to.
  counter.inc({ plugin: 'tap', hook: 'onData' }, 0)
}

/** A response's status where there is one, else the reason why there is none. */
function resultName(status: unknown, result: unknown): string {
  if (typeof status === 'number') return String(status)
  return typeof result === 'string' && (result in errorTable || result === 'aborted') ? result : 'other'
}

/** Meters with variants, such as `images/1024x1024/high`, count as one. */
function meterName(meter: string): string {
  return meter.split('/', 1)[0] as string
}

/** The metrics of several processes merged: counters are summed, and gauges use their own aggregator. */
export function sumMetrics(ofEach: readonly MetricValues[]): Pick<Metrics, 'text' | 'values'> {
  const registry = AggregatorRegistry.aggregate([...ofEach])
  return { text: () => registry.metrics(), values: () => registry.getMetricsAsJSON() }
}
