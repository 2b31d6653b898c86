import type { ServedMetrics } from '../listener/admin-server.ts'
import { Metrics, sumMetrics, type MetricValues } from '../observability/metrics.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { WorkerLink } from './worker-link.ts'

interface WorkerMetricsOptions {
  /** Of the process that started the workers: its alarms count too. */
  readonly bus: PipelineBus
  readonly links: () => Iterable<WorkerLink>
  readonly writesWaiting: () => number
  readonly droppedLogLines: () => number
}

/** The metrics of all workers and of the process that started them, as one. */
export class WorkerMetrics implements ServedMetrics {
  readonly #options: WorkerMetricsOptions
  readonly #own: Metrics
  /** What workers that are gone had counted when they were asked last: a sum must not fall. */
  #past: Promise<MetricValues> = Promise.resolve([])

  constructor(options: WorkerMetricsOptions) {
    const { bus, writesWaiting, droppedLogLines } = options
    this.#options = options
    this.#own = new Metrics(bus, {
      // Exchanges and what is sent to providers are the workers'.
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
    // Both at one moment: whoever is gone is among the one or the other.
    const read = [...this.#options.links()].map(link => link.readMetrics())
    return await sumMetrics(await Promise.all([this.#own.values(), this.#past, ...read])).text()
  }

  /** Keeps what a worker that is gone had counted. */
  keep(link: WorkerLink): void {
    const counts = link.metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
    link.metrics = []
    this.#past = this.#past.then(past => sumMetrics([past, counts]).values())
  }
}
