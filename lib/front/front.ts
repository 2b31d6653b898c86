import type { AddressInfo } from 'node:net'
import { Bodies } from '../bodies/bodies.ts'
import { SpoolFolder } from '../bodies/body-store.ts'
import type { ServedMetrics } from '../listener/admin-server.ts'
import { readCertificate } from '../listener/certificate.ts'
import type { Config } from '../config/config.ts'
import { createPipeline } from './create-pipeline.ts'
import type { DrainOptions } from '../listener/drain.ts'
import type { Log } from '../platform/log.ts'
import { Metrics } from '../observability/metrics.ts'
import { UsualOutputs } from '../metering/usual-outputs.ts'
import { Overload, memoryLimit, memoryReader } from '../overload/overload.ts'
import { steadyClock, type Clock } from '../platform/clock.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { PluginContext, PluginRegistry } from './plugin-context.ts'
import { PluginMetrics } from '../observability/plugin-metrics.ts'
import { GatewayServer } from '../listener/server.ts'
import type { ProviderHealth, ProviderSwitch } from '../upstream/provider-health.ts'
import { Upstreams } from '../upstream/upstreams.ts'
import { UpstreamPools } from '../upstream/upstream-pools.ts'

/** The part of a gateway that serves requests: in the process of the store, or in workers beside it. */
export interface Front {
  /** Accepts requests from now on; returns the address: `http://127.0.0.1:8080`. */
  listen(): Promise<string>
  /** Applies another config from the next request on. When it throws, the old config stays. */
  reload(config: Config): Promise<void>
  /** Ends open exchanges, as `Drain` says. Called again, it brings the end nearer. */
  drain(options: DrainOptions): Promise<void>
  /** Releases its resources; after `drain`, or when it never listened. */
  close(): Promise<void>
  /** Counts from now on. */
  openMetrics(): ServedMetrics
  /** Whether any process accepts requests. */
  isServing(): boolean
  /** Applies the operators' switches, from the next request on. */
  switchProviders(switches: readonly ProviderSwitch[]): Promise<void>
  /** What each process that serves requests knows about every provider. */
  providerHealth(): Promise<readonly (readonly ProviderHealth[])[]>
}

export interface FrontOptions extends Pick<PluginContext, 'ledger' | 'keys' | 'reports' | 'clock'> {
  /** The system's by default. */
  readonly steadyClock?: Clock
  readonly config: Config
  readonly plugins: PluginRegistry
  readonly log: Log
  readonly bus: PipelineBus
  /** Operations that have not been sent to the ledger's writer yet. */
  readonly writesWaiting: () => number
  readonly droppedLogLines: () => number
  /** A folder for long bodies, used by this process alone; undefined: the folder for temporary files. */
  readonly spoolPath: string | undefined
}

/** A config that is ready to be applied. */
interface PreparedConfig {
  commit(): void
  abandon(): Promise<void>
}

type Parts = Omit<PluginContext, 'config'>

/** Serves requests in this process. */
export class LocalFront implements Front {
  readonly #options: FrontOptions
  #hasListened = false
  readonly #parts: Parts
  readonly #overload: Overload
  readonly #closing: readonly (() => Promise<void> | undefined)[]
  /** The config in force. */
  #config: Config
  #server: GatewayServer | undefined

  /** @throws PipelineOrderError, and any other error that keeps the config's pipeline from starting */
  static async open(options: FrontOptions): Promise<LocalFront> {
    const front = new LocalFront(options)
    try {
      await front.#start()
      return front
    } catch (error) {
      await front.close()
      throw error
    }
  }

  private constructor(options: FrontOptions) {
    const { config, log, clock, bus, ledger, keys, reports, spoolPath } = options
    this.#options = options
    this.#config = config
    const overload = watchLoad(options, () => this.#openExchanges())
    const pools = new UpstreamPools(config)
    const folder = new SpoolFolder(spoolPath)
    const bodies = new Bodies({ ...bodyBounds(config), folder, onFileFailed: error => tell(bus, error) })
    this.#overload = overload
    const pluginMetrics = new PluginMetrics()
    const usualOutputs = new UsualOutputs()
    const shared = { bus, pools, bodies, overload, log, pluginMetrics, usualOutputs }
    this.#parts = { ledger, keys, reports, clock, steadyClock: options.steadyClock ?? steadyClock, ...shared }
    this.#closing = [() => folder.close(), () => pools.close(), () => overload.close()]
  }

  async listen(): Promise<string> {
    const url = urlOf(await this.#running.listen(), this.#options.config)
    this.#hasListened = true
    return url
  }

  async reload(config: Config): Promise<void> {
    const prepared = await this.prepare(config)
    prepared.commit()
  }

  /** Runs every step of a reload that can fail. */
  async prepare(config: Config): Promise<PreparedConfig> {
    const certificate = readCertificate(config)
    const pipeline = await startPipeline(config, this.#parts, this.#options.plugins)
    return {
      commit: () => {
        this.#running.replace({ config, pipeline }, certificate)
        this.#config = config
      },
      abandon: () => pipeline.stop(),
    }
  }

  drain(options: DrainOptions): Promise<void> {
    return this.#running.close(options)
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close()
  }

  openMetrics(): Metrics {
    const { bus, writesWaiting, droppedLogLines, config } = this.#options
    const { pluginMetrics, pools } = this.#parts
    const sources = {
      overload: this.#overload,
      openExchanges: () => this.#openExchanges(),
      writesWaiting,
      droppedLogLines,
      providers: () => Upstreams.readings(this.#config, pools),
      accountGroups: config.admin?.accountGroups,
      pluginNames: () => pluginMetrics.names,
    }
    return new Metrics(bus, sources, pluginMetrics.registry)
  }

  isServing(): boolean {
    return this.#hasListened
  }

  switchProviders(switches: readonly ProviderSwitch[]): Promise<void> {
    Upstreams.apply(this.#parts.pools, switches)
    return Promise.resolve()
  }

  providerHealth(): Promise<readonly (readonly ProviderHealth[])[]> {
    return Promise.resolve([Upstreams.health(this.#parts.pools)])
  }

  async #start(): Promise<void> {
    const { config, plugins, clock, bus } = this.#options
    const { bodies } = this.#parts
    this.#server = new GatewayServer(
      { config, pipeline: await startPipeline(config, this.#parts, plugins) },
      { clock, bus, overload: this.#overload, holdBytes: bytes => bodies.holdMessage(bytes) },
    )
  }

  get #running(): GatewayServer {
    if (this.#server === undefined) throw new Error('the front was not started')
    return this.#server
  }

  #openExchanges(): number {
    return this.#server?.openExchangeCount ?? 0
  }
}

async function startPipeline(config: Config, parts: Parts, plugins: PluginRegistry): Promise<Pipeline> {
  const pipeline = await createPipeline(config, { config, ...parts }, plugins)
  await pipeline.start()
  return pipeline
}

function urlOf({ address, family, port }: AddressInfo, { tls }: Config): string {
  const host = family === 'IPv6' ? `[${address}]` : address
  return `${tls === undefined ? 'http' : 'https'}://${host}:${port}`
}

/** A body may be in memory twice while its pieces are joined, so only a quarter is used; the rest goes to files. */
function bodyBounds({ limits }: Config): { readonly bytesMax: number; readonly memoryBytesMax: number } {
  const bytesMax = limits.bodyBytesTotalMax
  return { bytesMax, memoryBytesMax: Math.min(bytesMax, Math.floor(memoryLimit(limits.memoryBytesMax) / 4)) }
}

/** Long bodies are beside the store, in a folder of one process, or in the folder for temporary files. */
export function spoolPath({ store }: Pick<Config, 'store'>, worker?: number): string | undefined {
  if (store.kind !== 'sqlite') return undefined
  return `${store.file}-bodies${worker === undefined ? '' : `-${worker}`}`
}

function tell(bus: PipelineBus, error: Error): void {
  bus.emit('alarm', 'body_file_failed', { error })
}

function watchLoad(
  { config: { limits }, writesWaiting, log }: FrontOptions,
  openExchanges: () => number,
): Overload {
  return new Overload(
    {
      exchangesMax: limits.exchangesMax ?? limits.connectionsMax,
      memoryBytesMax: memoryLimit(limits.memoryBytesMax),
      loopDelayMsMax: limits.loopDelayMsMax,
      writesWaitingMax: limits.writesWaitingMax,
    },
    { openExchanges, writesWaiting, memoryBytes: memoryReader() },
    log,
  )
}
