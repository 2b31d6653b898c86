import type { AddressInfo } from 'node:net'
import type { AccountArea } from './account-area/account-area.ts'
import { AdminServer } from './admin-server.ts'
import { Bodies } from './bodies/bodies.ts'
import { SpoolFolder } from './bodies/spool-folder.ts'
import { systemClock, type Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import { openControlServer } from './control/control-server.ts'
import { createPipeline } from './create-pipeline.ts'
import { createDemoAccount, demoCommand, isFirstTry } from './demo-account.ts'
import { logEvents } from './log-events.ts'
import type { Log } from './log.ts'
import { Metrics, type MetricSources } from './metrics.ts'
import { memoryLimit, memoryReader } from './overload/memory-limit.ts'
import { Overload } from './overload/overload.ts'
import { PipelineBus } from './pipeline/events.ts'
import type { Pipeline } from './pipeline/pipeline.ts'
import type { PluginContext, PluginRegistry } from './plugin-context.ts'
import { startSandbox, withSandbox } from './sandbox/with-sandbox.ts'
import { GatewayServer } from './server.ts'
import { openStore, storeName } from './stores/open-store.ts'
import type { Store } from './stores/store.ts'
import { UpstreamPools } from './upstream/upstream-pools.ts'

export interface GatewayOptions {
  readonly config: Config
  readonly plugins: PluginRegistry
  readonly log: Log
  readonly clock?: Clock
  /** Lines of the log that were lost; for the metrics. */
  readonly droppedLogLines?: () => number
  /** Told once, when a new store was given a demo account: the command that tries it, on one line. */
  readonly onDemo?: (command: string) => void
  /** Told when nothing can be charged any more: the process should end, to be started anew. */
  readonly onLost?: (error: Error) => void
}

export interface Gateway {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string
  readonly adminUrl: string | undefined
  readonly accountAreaUrl: string | undefined
  /** Acts by another config from the next request on. On a throw the old config stays. */
  reload(config: Config): Promise<void>
  /**
   * Serves on for `waitMs` (0 unless said) while it calls itself not ready, then lets exchanges end for at most
   * `drainMs`, cuts the rest, and resolves when nothing is open. Called again, it brings the end nearer.
   */
  close(drainMs?: number, waitMs?: number): Promise<void>
}

/** How long a shutdown waits for open streams unless told otherwise. */
const drainMsDefault = 600_000
/** How often holds past their expiry are looked for. */
const expireMs = 60_000

/**
 * Starts everything that `gateway serve` runs: store, control socket, pipeline, listeners.
 * @throws StoreLockedError, PipelineOrderError and whatever else must keep it from starting
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { log, clock = systemClock, droppedLogLines = () => 0 } = options
  // What was opened is closed again in reverse order, also when a later step fails.
  const closing: (() => Promise<void> | undefined)[] = []
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).toReversed()) await close()
  }
  try {
    const sandbox = await startSandbox(options.config)
    closing.push(() => sandbox?.close())
    const config = withSandbox(options.config, sandbox)
    const store = await openWatchedStore(config, { ...options, clock })
    closing.push(() => store.close())
    const bus = new PipelineBus((event, error) => log.error({ event, error }, 'a listener failed'))
    logEvents(bus, log, clock)
    const running: { server?: GatewayServer } = {}
    const openExchanges = (): number => running.server?.openExchangeCount ?? 0
    const overload = watchLoad(config, store, log, openExchanges)
    closing.push(() => overload.close())
    const pools = new UpstreamPools(config)
    closing.push(() => pools.close())
    const folder = new SpoolFolder(spoolPath(config))
    closing.push(() => folder.close())
    const bodies = new Bodies({ ...bodyBounds(config), folder, onFileFailed: error => tell(bus, error) })

    const { ledger, keys, reports } = store
    const parts = { ledger, keys, reports, clock, bus, pools, bodies, overload }
    const build = (next: Config): Promise<Pipeline> => startPipeline(next, parts, options.plugins)

    const server = new GatewayServer(
      { config, pipeline: await build(config) },
      { clock, bus, overload, holdBytes: bytes => bodies.holdMessage(bytes) },
    )
    running.server = server
    closing.push(await openControl(config, store, log))
    const admin =
      config.admin === undefined
        ? undefined
        : new AdminServer(metricsOf(store, bus, { overload, openExchanges, droppedLogLines }))
    const adminUrl = config.admin === undefined ? undefined : await admin?.listen(config.admin.listen)
    closing.push(() => admin?.close())
    const accountArea = await openAccountPages(config, store, { log, clock })
    closing.push(() => accountArea?.close())
    const url = urlOf(await server.listen(), config)
    log.info({ url, adminUrl, accountAreaUrl: accountArea?.url, store: storeName(config.store) }, 'listening')
    if (isFirstTry(config, store.isNew))
      options.onDemo?.(demoCommand(url, await createDemoAccount(store.accounts)))

    let closed: Promise<void> | undefined
    return {
      url,
      adminUrl,
      accountAreaUrl: accountArea?.url,
      async reload(next) {
        const own = withSandbox(next, sandbox)
        server.replace({ config: own, pipeline: await build(own) })
        accountArea?.reload(own)
      },
      close(drainMs = drainMsDefault, waitMs = 0) {
        admin?.drain()
        void accountArea?.close(waitMs)
        const drained = server.close({ drainMs, waitMs })
        return (closed ??= drained.then(closeAll))
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** Makes the pipeline of a config, with the prices recorded that it charges by. */
async function startPipeline(
  config: Config,
  parts: Omit<PluginContext, 'config'>,
  plugins: PluginRegistry,
): Promise<Pipeline> {
  await parts.ledger.recordPrices(
    [...config.models.values(), ...config.modelPatterns].flatMap(model => model.prices),
  )
  const pipeline = createPipeline(config, { config, ...parts }, plugins)
  await pipeline.start()
  return pipeline
}

function urlOf({ address, family, port }: AddressInfo, { tls }: Config): string {
  const host = family === 'IPv6' ? `[${address}]` : address
  return `${tls === undefined ? 'http' : 'https'}://${host}:${port}`
}

/** The socket on which the command line asks for changes; answers what closes it. */
async function openControl(
  config: Config,
  { accounts }: Store,
  log: Log,
): Promise<() => Promise<void> | undefined> {
  if (config.store.kind !== 'sqlite') return () => undefined
  const control = await openControlServer({ storeFile: config.store.file, accounts, log })
  return () => control.close()
}

/** In memory a body may stand twice while its pieces are joined, beside all else; what is more goes to files. */
function bodyBounds({ limits }: Config): { readonly bytesMax: number; readonly memoryBytesMax: number } {
  const bytesMax = limits.bodyBytesTotalMax
  return { bytesMax, memoryBytesMax: Math.min(bytesMax, Math.floor(memoryLimit(limits.memoryBytesMax) / 4)) }
}

/** Long bodies stand beside the store, which this process alone writes, or where temporary files do. */
function spoolPath({ store }: Config): string | undefined {
  return store.kind === 'sqlite' ? `${store.file}-bodies` : undefined
}

function tell(bus: PipelineBus, error: Error): void {
  bus.emit('alarm', 'body_file_failed', { error: error.message })
}

function watchLoad({ limits }: Config, store: Store, log: Log, openExchanges: () => number): Overload {
  return new Overload(
    {
      exchangesMax: limits.exchangesMax ?? limits.connectionsMax,
      memoryBytesMax: memoryLimit(limits.memoryBytesMax),
      loopDelayMsMax: limits.loopDelayMsMax,
      writesWaitingMax: limits.writesWaitingMax,
    },
    {
      openExchanges,
      writesWaiting: () => store.writesWaiting(),
      memoryBytes: memoryReader(),
    },
    log,
  )
}

function metricsOf(store: Store, bus: PipelineBus, sources: Omit<MetricSources, 'writesWaiting'>): Metrics {
  return new Metrics(bus, {
    ...sources,
    writesWaiting: () => store.writesWaiting(),
  })
}

/** Opens the store, and ends holds past their expiry every minute until it is closed. */
async function openWatchedStore(
  config: Config,
  options: { readonly log: Log; readonly clock: Clock; readonly onLost?: (error: Error) => void },
): Promise<Store> {
  const { log } = options
  const store = await openStore(config, options)
  for (const hold of store.recovery.releasedHolds)
    log.warn({ hold }, 'released a hold that a crash left open')
  const timer = setInterval(() => {
    store.expireHolds().then(
      count => {
        if (count > 0) log.warn({ count }, 'holds were left open until they expired')
      },
      (error: unknown) => log.error({ error }, 'holds could not be expired'),
    )
  }, expireMs)
  timer.unref()
  return {
    ...store,
    close() {
      clearInterval(timer)
      return store.close()
    },
  }
}

/** The pages for customers; their modules are loaded only where the config has them. */
async function openAccountPages(
  config: Config,
  store: Store,
  options: { readonly log: Log; readonly clock: Clock },
): Promise<AccountArea | undefined> {
  const { accountArea: settings } = config
  if (settings === undefined) return undefined
  const { openAccountArea } = await import('./account-area/account-area.ts')
  return openAccountArea({ config, settings, store, ...options })
}
