import { isDeepStrictEqual } from 'node:util'
import type { Command } from 'commander'
import { releaseMemory } from '../platform/collect-garbage.ts'
import { ConfigError, formatProblem, type ConfigProblem } from '../config/config-error.ts'
import { findConfig } from '../config/environment.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load-config.ts'
import { demoScreen, type Demo } from '../gateway/demo-account.ts'
import type { OwnedLog } from '../observability/log.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'
import { CommandError } from './command.ts'
import type { SharedOptions, CliContext, RunningGateway } from './command.ts'
import { openConfig } from './open-config.ts'
import type { Log } from '../platform/log.ts'

/** How long requests are served after SIGTERM, until load balancers that poll /readyz stop sending them. */
const waitMs = 2000
/** How long running requests may take after that. */
const drainMs = 600_000
/** The same after a failure, when the process state may be damaged. */
const failureMs = 10_000
/** The rest of either period after a second signal. */
const secondSignalMs = 1000

/** What ends a server: a signal, or an uncaught failure. */
type EndReason = 'SIGTERM' | 'SIGINT' | 'failure'

/** How long a failed process may take to exit by itself. */
const stuckMs = 90_000

/**
 * Waits for the end of the process. The first signal starts the drain, each further one shortens it. An uncaught
 * failure ends the process too: its memory may be inconsistent, and a supervisor restarts it.
 */
class Ending {
  readonly reason: Promise<EndReason>
  /** Called by each signal after the first. */
  onNextSignal: (() => void) | undefined
  readonly #log: Log
  readonly #resolve: (reason: EndReason) => void
  hasBegun = false

  constructor(log: Log) {
    const { promise, resolve } = Promise.withResolvers<EndReason>()
    this.reason = promise
    this.#log = log
    this.#resolve = resolve
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.hasBegun) {
        log.info({ signal }, 'stopping now')
        this.onNextSignal?.()
        return
      }
      this.hasBegun = true
      log.info({ signal }, 'stopping once running requests have ended; another signal stops in a second')
      resolve(signal === 'SIGINT' ? 'SIGINT' : 'SIGTERM')
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  }

  /** From now on an uncaught failure drains and ends the process. */
  watchFailures(): void {
    process.on('uncaughtException', error => this.fail(error, 'an uncaught failure'))
  }

  /** Drains, then exits with code 1, so that a supervisor restarts the process. */
  fail(error: Error, what: string): void {
    this.#log.fatal({ error }, `${what}: stopping, so that a supervisor can restart it`)
    if (this.hasBegun) return
    this.hasBegun = true
    // The next start recovers from a killed process.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), stuckMs).unref()
    this.#resolve('failure')
  }
}

/** `serve`: runs the gateway until a signal or a failure ends it. */
export function fillServe(serve: Command, context: CliContext): void {
  serve.action(async (options: SharedOptions) => {
    const running: { current?: Reloading; isBehind?: boolean } = {}
    const onHangUp = (): void => {
      // A configuration that is written during the start may have been read before that.
      if (running.current === undefined) running.isBehind = true
      else void onReload()
    }
    process.on('SIGHUP', onHangUp)
    const plugins = await context.loadPlugins()
    const { config, notices } = openConfig(options, plugins)
    const { createLog } = await import('../observability/log.ts')
    const log = createLog({ level: config.log.level })
    for (const notice of notices) log.info(notice)
    if (config.file.includes('/node_modules/')) {
      const { file } = config
      log.warn({ file }, 'this configuration, and the store beside it, go with the next install: copy them')
    }
    const ending = new Ending(log)
    // Plain text among the log lines, for copying into a terminal.
    const onDemo = (demo: Demo): void => void context.stderr.write(demoScreen(demo))
    const onReload = async (): Promise<readonly string[]> => {
      const { current } = running
      if (current === undefined || ending.hasBegun) return ['the gateway is starting or ending']
      return reload(options, current)
    }
    const gateway = await context.startGateway({
      config,
      log,
      onDemo,
      onReload,
      onLost: error => ending.fail(error, 'nothing can be charged any more'),
      droppedLogLines: () => log.droppedLines(),
      passLogLines: lines => log.pass(lines),
    })
    // Garbage from reading the config and compiling the modules is a sixth of an idle gateway's memory. No request
    // has been read yet.
    releaseMemory()
    ending.watchFailures()
    running.current = { gateway, log, running: config, plugins }
    if (running.isBehind === true) await onReload()
    const reason = await ending.reason
    ending.onNextSignal = () => void gateway.close(secondSignalMs)
    await gateway.close(
      reason === 'failure' ? failureMs : drainMs,
      reason === 'SIGTERM' && config.admin !== undefined ? waitMs : 0,
    )
    log.info('stopped')
    await log.close()
    process.off('SIGHUP', onHangUp)
    if (reason === 'failure') throw new CommandError('ended after a failure; the log says which')
  })
}

interface Reloading {
  readonly gateway: RunningGateway
  readonly log: OwnedLog
  readonly running: Config
  readonly plugins: PluginRegistry
}

/** Settings that are fixed while the process runs, by their path in the config. */
const fixed: Readonly<Record<string, (config: Config) => unknown>> = {
  listen: config => config.listen,
  admin: config => config.admin,
  accountArea: config => config.accountArea,
  operatorArea: config => config.operatorArea,
  'payments.provider': config => config.payments?.provider,
  'payments.yookassa': config => config.payments?.yookassa,
  store: config => config.store,
  durability: config => config.durability,
  workers: config => config.workers,
  tls: config => config.tls,
  dns: config => config.dns,
  'limits.connectionsMax': config => config.limits.connectionsMax,
  'limits.exchangesMax': config => config.limits.exchangesMax,
  'limits.memoryBytesMax': config => config.limits.memoryBytesMax,
  'limits.loopDelayMsMax': config => config.limits.loopDelayMsMax,
  'limits.writesWaitingMax': config => config.limits.writesWaitingMax,
  'limits.bodyBytesTotalMax': config => config.limits.bodyBytesTotalMax,
  'limits.headersMs': config => config.limits.headersMs,
  'limits.bodyMs': config => config.limits.bodyMs,
}

/**
 * Where a new config changes settings that a reload cannot change. It is rejected as a whole: silently ignoring a
 * setting would be worse, and a file that was read half-written or empty mostly differs here.
 */
function needsRestart(running: Config, next: Config): readonly ConfigProblem[] {
  return Object.entries(fixed)
    .filter(([, read]) => !isDeepStrictEqual(read(running), read(next)))
    .map(([path]) => ({ file: next.file, path, message: 'differs, and a reload cannot change it: restart' }))
}

/** Applies a new configuration. An invalid one changes nothing; its problems are logged and returned. */
async function reload(
  options: SharedOptions,
  { gateway, log, running, plugins }: Reloading,
): Promise<readonly string[]> {
  const file = findConfig(options.config)
  try {
    const { config, notices } = loadConfig(file, { plugins })
    const fixed = needsRestart(running, config)
    if (fixed.length > 0) throw new ConfigError(fixed)
    await gateway.reload(config)
    log.level = config.log.level
    for (const notice of notices) log.info(notice)
    log.info({ file }, 'the configuration was read again')
    return []
  } catch (error) {
    gateway.noteFailedReload()
    if (!(error instanceof ConfigError)) {
      log.error({ error }, 'the configuration could not be applied; the old one stays')
      return [error instanceof Error ? error.message : String(error)]
    }
    const problems = error.problems.map(formatProblem)
    log.error({ problems }, 'the configuration is wrong; the old one stays')
    return problems
  }
}
