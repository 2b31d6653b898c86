import { readCertificate } from '../listener/certificate.ts'
import { checkPorts } from './check-ports.ts'
import { systemClock, type Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { ErrorCounts } from '../observability/error-counts.ts'
import { logEvents } from '../observability/log-events.ts'
import { RatedPrices } from '../prices/rated-prices.ts'
import { createDemoAccount, isFirstTry, type Demo } from './demo-account.ts'
import { LocalFront, spoolPath, type Front } from '../front/front.ts'
import type { Log } from '../platform/log.ts'
import { startDocumentWork } from '../documents/open-documents.ts'
import { openAdmin } from './open-admin.ts'
import { openAlarms, type Alarms } from './open-alarms.ts'
import { openPages, type Pages } from './open-pages.ts'
import type { OpenPayments } from '../payments/open-payments.ts'
import { PipelineBus } from '../pipeline/events.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'
import { SwitchWatch } from './switch-watch.ts'
import { startSandbox, withSandbox } from '../sandbox/sandbox-provider.ts'
import { storeName } from '../stores/open-store.ts'
import { addErrorCounts, type ErrorCount } from '../stores/records/error-count-table.ts'
import { openWatchedStore } from './open-watched-store.ts'
import type { Store } from '../stores/store.ts'
import type { PasswordCost } from '../web/sign-in/password-hash.ts'
import { openControlServer, type ControlServerOptions } from '../control/control-server.ts'

export interface GatewayOptions {
  readonly config: Config
  readonly plugins: PluginRegistry
  readonly log: Log
  readonly clock?: Clock
  /** The steady clock; the system's by default, and always in workers. */
  readonly steadyClock?: Clock
  /** The cost of hashing a password; OWASP's recommendation by default. */
  readonly passwordCost?: PasswordCost
  /** The number of lost log lines; for the metrics. */
  readonly droppedLogLines?: () => number
  /** The program that each of several workers runs, and the receiver of the lines that they log. */
  readonly workerFile?: string
  readonly passLogLines?: (lines: string) => void
  /** Reads the configuration again, for the command line; returns what is wrong with it. */
  readonly onReload?: () => Promise<readonly string[]>
  /** Called once, when a new store was given a demo account. */
  readonly onDemo?: (demo: Demo) => void
  /** Called when charging has become impossible: the process should end and be restarted. */
  readonly onLost?: (error: Error) => void
}

export interface Gateway {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string
  readonly adminUrl: string | undefined
  readonly accountAreaUrl: string | undefined
  /** Undefined where the operators' pages are off. */
  readonly operatorAreaUrl: string | undefined
  /** Applies another config from the next request on. When it throws, the old config stays. */
  reload(config: Config): Promise<void>
  /** Reports in the metrics that a config was invalid, or could not be applied. */
  noteFailedReload(): void
  /**
   * Serves for `waitMs` (0 by default) while it reports that it is not ready, then lets exchanges end for at most
   * `drainMs`, cuts the rest, and resolves when nothing is open. Called again, it brings the end nearer.
   */
  close(drainMs?: number, waitMs?: number): Promise<void>
}

/** How long a shutdown waits for open streams by default. */
const drainMsDefault = 600_000

interface ControlOptions extends Pick<ControlServerOptions, 'log' | 'payments' | 'providers'> {
  readonly onReload?: ControlServerOptions['reload']
}

/** Opens the socket on which the command line requests changes; returns a function that closes it. */
async function openControl(
  { store: setting }: Pick<Config, 'store'>,
  store: Pick<Store, 'accounts' | 'records'>,
  { log, payments, providers, onReload }: ControlOptions,
): Promise<() => Promise<void> | undefined> {
  if (setting.kind !== 'sqlite') return () => undefined
  const control = await openControlServer({
    storeFile: setting.file,
    accounts: store.accounts,
    payments,
    providers,
    records: () => store.records(),
    reload: onReload,
    log,
  })
  return () => control.close()
}

/**
 * Starts everything that `gateway serve` runs: store, control socket, pipeline, listeners.
 * @throws StoreLockedError, PipelineOrderError and anything else that must prevent the start
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { log, clock = systemClock } = options
  // What was opened is closed in reverse order, also when a later step fails.
  const opened = new AsyncDisposableStack()
  try {
    await checkPorts(options.config)
    const sandbox = await startSandbox(options.config)
    opened.defer(() => sandbox?.close())
    const unpriced = withSandbox(options.config, sandbox)
    let running = unpriced
    const bus = openBus(log, clock, () => running)
    const parts = { ...options, clock, bus }
    const reloaded = { isSuccessful: true, succeededAt: clock.now() }
    const store = await openWatchedStore(unpriced, { ...parts, riskRule: () => running.hold.risk })
    opened.defer(() => store.close())
    const { alarms, ...notes } = await openNotes(unpriced, store, opened, parts)
    const prices = new RatedPrices({ records: () => store.records(), clock, log, bus })
    opened.defer(() => prices.close())
    const config = await prices.priced(unpriced)
    const { front, accounts } = await openFront(config, store, { ...parts, ...notes })
    opened.defer(() => front.close())
    const shared = { ...store, accounts }
    const providers = await SwitchWatch.open(store, { front, log, setting: config.store })
    opened.defer(() => providers.close())
    const desk = await openDesk(config, shared, opened, { ...parts, front, providers, reloaded })
    const { payments, documents, admin, adminUrl, pages } = desk
    const url = await front.listen()
    const { accountAreaUrl, operatorAreaUrl } = pages
    const listens = { url, adminUrl, accountAreaUrl, operatorAreaUrl }
    log.info({ ...listens, store: storeName(config.store) }, 'listening')
    if (isFirstTry(config, store.isNew)) await showDemo(shared, listens, parts)
    const applyTo = applierOf({ front, pages, payments, documents, alarms })
    const apply = async (own: Config): Promise<void> => {
      await applyTo(own)
      running = own
    }
    prices.watch(unpriced, apply)
    let closed: Promise<void> | undefined
    return {
      ...listens,
      async reload(next) {
        await prices.take(withSandbox(next, sandbox), apply)
        Object.assign(reloaded, { isSuccessful: true, succeededAt: clock.now() })
      },
      noteFailedReload: () => void (reloaded.isSuccessful = false),
      close(drainMs = drainMsDefault, waitMs = 0) {
        admin?.drain()
        void pages.close(waitMs)
        const drained = front.drain({ drainMs, waitMs })
        return (closed ??= drained.then(() => opened.disposeAsync()))
      },
    }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

interface DeskParts extends GatewayOptions {
  readonly clock: Clock
  readonly bus: PipelineBus
  readonly front: Front
  readonly providers: SwitchWatch
  readonly reloaded: { readonly isSuccessful: boolean; readonly succeededAt: number }
}

/** Opens everything beside the API: payments, documents, the control socket, metrics and pages. */
async function openDesk(config: Config, store: Store, opened: AsyncDisposableStack, parts: DeskParts) {
  const { log, clock, bus, front, providers, reloaded, passwordCost } = parts
  const payments = await openShop(config, store, { log, clock, bus })
  opened.defer(() => payments?.close())
  const documents = await startDocumentWork(config.seller, store, { log, clock })
  opened.defer(() => documents.close())
  opened.defer(await openControl(config, store, { ...parts, payments: payments?.actions, providers }))
  const { admin, adminUrl } = await openAdmin(config, store, { front, payments, reloaded })
  opened.defer(() => admin?.close())
  const pages = await openPages(config, store, { log, clock, payments, providers, passwordCost })
  opened.defer(() => pages.close())
  return { payments, documents, admin, adminUrl, pages }
}

/** Creates an account to try out the gateway. */
async function showDemo(
  store: Store,
  listens: Pick<Gateway, 'url' | 'adminUrl' | 'accountAreaUrl'>,
  { clock, onDemo }: { readonly clock: Clock; readonly onDemo?: (demo: Demo) => void },
): Promise<void> {
  const { url, adminUrl, accountAreaUrl } = listens
  const made = await createDemoAccount(store, clock, accountAreaUrl !== undefined)
  onDemo?.({ url, adminUrl, accountAreaUrl, ...made })
}

/** Returns a function that applies another config everywhere; steps that can fail come first. */
function applierOf({
  front,
  pages,
  payments,
  documents,
  alarms,
}: {
  readonly front: Front
  readonly pages: Pages
  readonly payments: OpenPayments | undefined
  readonly documents: Awaited<ReturnType<typeof startDocumentWork>>
  readonly alarms: Alarms
}): (config: Config) => Promise<void> {
  return async config => {
    // Before anything changes; workers read the certificate themselves.
    const certificate = readCertificate(config)
    await front.reload(config)
    pages.reload(config, certificate)
    payments?.reload(config)
    await documents.reload(config.seller)
    await alarms.reload(config)
  }
}

/** The bus of events, with its log attached before the first event. */
function openBus(log: Log, clock: Clock, running: () => Config): PipelineBus {
  const bus = new PipelineBus((event, error) => log.error({ event, error }, 'a listener failed'))
  logEvents(bus, log, clock, running)
  return bus
}

/** Records alarms, and errors by code for the operators' pages where there are any. */
async function openNotes(
  config: Config,
  store: Store,
  opened: AsyncDisposableStack,
  options: { readonly bus: PipelineBus; readonly clock: Clock; readonly log: Log },
) {
  const alarms = await openAlarms(config, store, options)
  opened.defer(() => alarms.close())
  const write = async (counts: readonly ErrorCount[]) => addErrorCounts(await store.records(), counts)
  const errors = new ErrorCounts({ ...options, write })
  opened.defer(() => errors.close())
  if (config.operatorArea !== undefined) errors.watch(options.bus)
  return { alarms, noteAlarm: alarms.note, noteErrors: errors.note }
}

/** Opens what serves requests, and the accounts interface through which changes reach it. */
async function openFront(
  config: Config,
  store: Store,
  options: GatewayOptions & {
    readonly clock: Clock
    readonly bus: PipelineBus
    readonly noteAlarm: Alarms['note']
    readonly noteErrors: ErrorCounts['note']
  },
): Promise<{ readonly front: Front; readonly accounts: Store['accounts'] }> {
  const { log, clock, bus, plugins, droppedLogLines = () => 0 } = options
  if (config.workers > 1) {
    // Loaded only where it is used, like several modules below.
    const { openWorkerFront } = await import('../workers/worker-front.ts')
    return openWorkerFront({ ...options, config, store, droppedLogLines })
  }
  const { ledger, keys, reports, accounts } = store
  const front = await LocalFront.open({
    ...(options.steadyClock !== undefined && { steadyClock: options.steadyClock }),
    config,
    plugins,
    log,
    clock,
    bus,
    ledger,
    keys,
    reports,
    writesWaiting: () => store.writesWaiting(),
    droppedLogLines,
    spoolPath: spoolPath(config),
  })
  return { front, accounts }
}

/** Opens payments; their modules are loaded only where the config has them. */
async function openShop(
  config: Config,
  store: Store,
  { bus, ...options }: { readonly log: Log; readonly clock: Clock; readonly bus: PipelineBus },
): Promise<OpenPayments | undefined> {
  if (config.payments === undefined) return undefined
  const { openPayments: open } = await import('../payments/open-payments.ts')
  return open({
    config,
    store,
    ...options,
    alarm: (code, details) => bus.emit('alarm', code, { ...details }),
  })
}
