import type { ServedMetrics } from '../listener/admin-server.ts'
import { Metrics, sumMetrics, type MetricValues } from '../observability/metrics.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { WorkerLink } from './worker-link.ts'

interface WorkerMetricsOptions {
  /** Of the process that started the workers, whose alarms count too. */
  readonly bus: PipelineBus
  readonly links: () => Iterable<WorkerLink>
  readonly writesWaiting: () => number
  readonly droppedLogLines: () => number
}

/** The metrics of all workers and of the process that started them, merged. */
export class WorkerMetrics implements ServedMetrics {
  readonly #options: WorkerMetricsOptions
  readonly #own: Metrics
  /** The last known counts of workers that are gone: a sum must not fall. */
  #past: Promise<MetricValues> = Promise.resolve([])

  constructor(options: WorkerMetricsOptions) {
    const { bus, writesWaiting, droppedLogLines } = options
    this.#options = options
    this.#own = new Metrics(bus, {
      // Exchanges and requests to providers are counted by the workers.
      providers: () => [],
      openExchanges: () => 0,
      overload: { level: 0, loopDelayMs: 0, shedCounts: { unknown: 0, new: 0 } },
      writesWaiting,
      droppedLogLines,
    })
  }

  get contentType(): string {
    return this.#own.contentType
  }

  async text(): Promise<string> {
    // Read in one go: a worker that is gone is either among the links or in the past.
    const read = [...this.#options.links()].map(link => link.readMetrics())
    return await sumMetrics(await Promise.all([this.#own.values(), this.#past, ...read])).text()
  }

  /** Adds the counts of a worker that is gone to the past. */
  keep(link: WorkerLink): void {
    const counts = link.metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
    link.metrics = []
    this.#past = this.#past.then(past => sumMetrics([past, counts]).values())
  }
}
