import { isDeepStrictEqual } from 'node:util'
import type { Command } from 'commander'
import { giveBackMemory } from '../platform/collect-garbage.ts'
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

/** How long requests are served after SIGTERM, so that balancers which ask /readyz stop sending them. */
const waitMs = 2000
/** How long streams may go on after that. */
const drainMs = 600_000
/** The same after a failure, in which not everything may be as it should. */
const failureMs = 10_000
/** What is left of either after a second signal. */
const hastyMs = 1000

/** What ends a server: a signal, or a failure that nobody caught. */
type EndReason = 'SIGTERM' | 'SIGINT' | 'failure'

/** How long a process that has failed may take to end by itself. */
const stuckMs = 90_000

/**
 * Waits for what ends the process. The first signal begins the end, every further one hastens it. A failure
 * that nobody caught ends it too: what is left in memory may be wrong, and a supervisor starts it anew.
 */
class Ending {
  readonly reason: Promise<EndReason>
  /** Called by signals that follow the first. */
  onHasten: (() => void) | undefined
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
        this.onHasten?.()
        return
      }
      this.hasBegun = true
      log.info({ signal }, 'stopping when what runs has ended; once more stops in a second')
      resolve(signal === 'SIGINT' ? 'SIGINT' : 'SIGTERM')
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  }

  /** From now on a failure that nobody caught ends what runs in order. */
  watchFailures(): void {
    process.on('uncaughtException', error => this.fail(error, 'a failure that nobody caught'))
  }

  /** Ends what runs in order, and the process with exit code 1, so that a supervisor starts it anew. */
  fail(error: Error, what: string): void {
    this.#log.fatal({ error }, `${what}: stopping, to be started anew`)
    if (this.hasBegun) return
    this.hasBegun = true
    // What a killed process leaves behind, the next start puts in order.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), stuckMs).unref()
    this.#resolve('failure')
  }
}

/** `serve`: runs the gateway until it is told to end. */
export function fillServe(serve: Command, context: CliContext): void {
  serve.action(async (options: SharedOptions) => {
    const running: { current?: Reloading; isBehind?: boolean } = {}
    const onHangUp = (): void => {
      // A configuration that is written while the gateway starts may have been read before.
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
    // Plain text among the log's lines, to be copied into a terminal.
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
    // What reading the config and compiling the modules has left is a sixth of what an idle gateway takes up. No
    // request was read yet.
    giveBackMemory()
    ending.watchFailures()
    running.current = { gateway, log, running: config, plugins }
    if (running.isBehind === true) await onReload()
    const reason = await ending.reason
    ending.onHasten = () => void gateway.close(hastyMs)
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

/** What is fixed while the process runs, by its path in the config. */
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
 * Where a new config differs in what a reload cannot change. It is refused as a whole: a setting that is
 * silently ignored is worse than none, and a file that was read while it was written, half of it or empty,
 * mostly differs here.
 */
function needsRestart(running: Config, next: Config): readonly ConfigProblem[] {
  return Object.entries(fixed)
    .filter(([, read]) => !isDeepStrictEqual(read(running), read(next)))
    .map(([path]) => ({ file: next.file, path, message: 'differs, and a reload cannot change it: restart' }))
}

/** A configuration that is wrong changes nothing; what is wrong with it is logged and answered. */
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
      log.error({ error }, 'the configuration was not taken; the old one stays')
      return [error instanceof Error ? error.message : String(error)]
    }
    const problems = error.problems.map(formatProblem)
    log.error({ problems }, 'the configuration is wrong; the old one stays')
    return problems
  }
}
