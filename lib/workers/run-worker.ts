import { alarmDetails } from '../alarms/alarms.ts'
import { MemoryKeyDirectory } from '../accounts/memory-key-directory.ts'
import { systemClock } from '../platform/clock.ts'
import { releaseMemory } from '../platform/collect-garbage.ts'
import type { Config } from '../config/config.ts'
import { LocalFront, spoolPath, type FrontOptions } from '../front/front.ts'
import { ErrorCounts } from '../observability/error-counts.ts'
import { createLog, type OwnedLog } from '../observability/log.ts'
import { logEvents } from '../observability/log-events.ts'
import type { Metrics } from '../observability/metrics.ts'
import { PipelineBus } from '../pipeline/events.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'
import { lendRateLimits } from '../rate-limits/shared-rate-limits.ts'
import { openReports, openStore } from '../stores/open-store.ts'
import { processChannel, Peer, type Operations } from './peer.ts'
import { RemoteLedger } from './remote-ledger.ts'
import {
  type PrimaryOperations,
  type WorkerOperations,
  configOf,
  type LimitOperations,
} from './worker-operations.ts'
import type { Admission, Limits, RateLimiting, LimitUsage } from '../rate-limits/rate-limits.ts'

/** How long exchanges may continue after an uncaught failure, which may have left the memory inconsistent. */
const failureMs = 10_000

/** A worker's access to the store. */
interface WorkerStore extends Pick<FrontOptions, 'ledger' | 'keys' | 'reports' | 'writesWaiting'> {
  close(): Promise<void>
}

interface RunningWorker {
  readonly front: LocalFront
  readonly log: OwnedLog
  readonly metrics: Metrics | undefined
  readonly errors: ErrorCounts
  readonly store: WorkerStore
}

/** What the surrounding program provides to a worker. */
interface WorkerProgram {
  readonly plugins: PluginRegistry
  /** Ends the process at once. */
  readonly exit: (code: number) => void
}

/** Serves requests for the process that started this one, and ends with it. */
export function runWorker({ plugins, exit }: WorkerProgram): void {
  // A terminal signals the whole process group; the process that started this one decides what happens.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const keys = new MemoryKeyDirectory()
  let running: RunningWorker | undefined
  let prepared: { readonly config: Config; commit(): void; abandon(): Promise<void> } | undefined
  let ended: Promise<void> | undefined
  let acting: Config | undefined
  const started = (): RunningWorker => {
    if (running === undefined) throw new Error('the worker was not started')
    return running
  }
  const channel = processChannel(process)
  const peer: Peer<PrimaryOperations, WorkerOperations> = new Peer(channel, {
    holdDurable: id => ledger.news.holdDurable(id),
    holdFailed: (id, error) => ledger.news.holdFailed(id, error),
    putKey: (digest, key) => keys.put(digest, key),
    editKey: key => void keys.edit(key),
    revokeKey: (id, at) => keys.revoke(id, at),
    blockKeys: (accountId, at) => keys.block(accountId, at),
    async start(worker, message) {
      const config = configOf(message)
      acting = config
      const configInForce = (): Config => acting ?? config
      const parts = { plugins, exit, peer, ledger, keys, configInForce }
      running = await startWorker(worker, config, parts)
      watchFailures(running, exit)
    },
    listen: () => started().front.listen(),
    async prepareConfig(message) {
      const config = configOf(message)
      prepared = { config, ...(await started().front.prepare(config)) }
    },
    takeConfig() {
      prepared?.commit()
      if (prepared !== undefined) {
        started().log.level = prepared.config.log.level
        acting = prepared.config
      }
      prepared = undefined
    },
    async dropConfig() {
      await prepared?.abandon()
      prepared = undefined
    },
    metrics: async () => (await started().metrics?.values()) ?? [],
    switchProviders: switches => started().front.switchProviders(switches),
    providerHealth: async () => (await started().front.providerHealth()).flat(),
    async drain(drainMs, waitMs) {
      if (running === undefined) return
      const drained = running.front.drain({ drainMs, waitMs })
      await (ended ??= end(running, drained))
    },
  })
  const ledger = new RemoteLedger(peer)
  // The process that has the ledger is gone: nothing can be charged, so no response may end as complete.
  channel.onClose(() => exit(0))
}

async function end({ front, store, log, errors }: RunningWorker, drained: Promise<void>): Promise<void> {
  await drained
  await errors.close()
  await front.close()
  await store.close()
  log.info('stopped')
  await log.close()
}

interface WorkerParts extends WorkerProgram {
  readonly peer: Peer<PrimaryOperations, WorkerOperations>
  readonly ledger: RemoteLedger
  readonly keys: MemoryKeyDirectory
  readonly configInForce: () => Config
}

/** The use of keys' limits over all workers, which another process counts. */
class RemoteRateLimits implements RateLimiting {
  readonly #peer: Peer<LimitOperations, Operations>
  #nextId = 1

  constructor(peer: Peer<LimitOperations, Operations>) {
    this.#peer = peer
  }

  taken(key: string): Promise<LimitUsage> {
    return this.#peer.ask('limitUsage', key)
  }

  async admit(key: string, limits: Limits, tokens: number): Promise<Admission> {
    const id = this.#nextId++
    await this.#peer.ask('admit', id, key, limits, tokens)
    return { end: tokensUsed => this.#peer.ask('endAdmission', id, tokensUsed) }
  }
}

async function startWorker(worker: number, config: Config, parts: WorkerParts): Promise<RunningWorker> {
  const { plugins, peer } = parts
  const log = createLog({ level: config.log.level, facts: { worker } })
  const store = await openWorkerStore(config, log, parts)
  const bus = new PipelineBus((event, error) => log.error({ event, error }, 'a listener failed'))
  logEvents(bus, log, systemClock, parts.configInForce)
  bus.on('alarm', (code, details) => peer.tell('noteAlarm', code, alarmDetails(details)))
  const errors = new ErrorCounts({
    clock: systemClock,
    log,
    write: counts => peer.tell('noteErrors', counts),
  })
  if (config.operatorArea !== undefined) errors.watch(bus)
  lendRateLimits(bus, new RemoteRateLimits(peer))
  const { ledger, keys, reports, writesWaiting } = store
  const front = await LocalFront.open({
    config,
    plugins,
    log,
    clock: systemClock,
    bus,
    ledger,
    keys,
    reports,
    writesWaiting,
    droppedLogLines: () => log.droppedLines(),
    spoolPath: spoolPath(config, worker),
  })
  releaseMemory()
  return { front, log, store, errors, metrics: config.admin === undefined ? undefined : front.openMetrics() }
}

/** On PostgreSQL each worker is a node of its own; a SQLite file is read here and written by the primary process. */
async function openWorkerStore(
  config: Config,
  log: OwnedLog,
  { exit, peer, ledger, keys, configInForce }: WorkerParts,
): Promise<WorkerStore> {
  if (config.store.kind === 'postgres') {
    const onLost = (error: Error): void => {
      log.fatal({ error }, 'nothing can be charged any more')
      exit(1)
    }
    return await openStore(config, {
      clock: systemClock,
      log,
      onLost,
      riskRule: () => configInForce().hold.risk,
    })
  }
  const { readSqliteKeys } = await import('../stores/sqlite/sqlite-queries.ts')
  // Later changes arrive as messages, and the earlier ones are in the file.
  for (const [digest, key] of readSqliteKeys(config.store.file)) keys.put(digest, key)
  const reports = await openReports(config.store, systemClock, {
    riskRule: () => configInForce().hold.risk,
    isServing: true,
  })
  return { ledger, keys, reports, writesWaiting: () => peer.waiting, close: () => reports.close() }
}

/** After a failure the memory may be inconsistent: open exchanges may end, and another worker takes over. */
function watchFailures({ front, log }: RunningWorker, exit: WorkerProgram['exit']): void {
  let hasFailed = false
  const end = async (): Promise<void> => {
    try {
      await front.drain({ drainMs: failureMs, waitMs: 0 })
      await log.close()
    } finally {
      exit(1)
    }
  }
  process.on('uncaughtException', error => {
    log.fatal({ error }, 'an uncaught failure: ending, another worker follows')
    if (!hasFailed) void end()
    hasFailed = true
  })
}
