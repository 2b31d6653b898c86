import type { Command } from 'commander'
import { giveBackMemory } from '../platform/collect-garbage.ts'
import { ConfigError, formatProblem } from '../config/config-error.ts'
import { findConfig } from '../config/find-config.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load-config.ts'
import { needsRestart } from '../config/needs-restart.ts'
import { demoScreen } from '../gateway/demo-account.ts'
import type { Demo } from '../gateway/demo-account.ts'
import type { OwnedLog } from '../observability/log.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import type { CliContext, RunningGateway } from './context.ts'
import { CommandError } from './context.ts'
import { Ending } from './ending.ts'
import { openConfig } from './open-config.ts'

/** How long requests are served after SIGTERM, so that balancers which ask /readyz stop sending them. */
const waitMs = 2000
/** How long streams may go on after that. */
const drainMs = 600_000
/** The same after a failure, in which not everything may be as it should. */
const failureMs = 10_000
/** What is left of either after a second signal. */
const hastyMs = 1000

/** `serve`: runs the gateway until it is told to end. */
export function addServeCommand(program: Command, context: CliContext): void {
  addCommand(
    program,
    'serve',
    'run the gateway; SIGTERM drains it, SIGHUP reads the configuration again',
  ).action(async (options: SharedOptions) => {
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
    const running: { current?: Reloading } = {}
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
    const onHangUp = (): void => void onReload()
    process.on('SIGHUP', onHangUp)
    const reason = await ending.reason
    ending.onHasten = () => void gateway.close(hastyMs)
    await gateway.close(
      reason === 'failure' ? failureMs : drainMs,
      reason === 'SIGTERM' && config.admin !== undefined ? waitMs : 0,
    )
    process.off('SIGHUP', onHangUp)
    log.info('stopped')
    await log.close()
    if (reason === 'failure') throw new CommandError('ended after a failure; the log says which')
  })
}

interface Reloading {
  readonly gateway: RunningGateway
  readonly log: OwnedLog
  readonly running: Config
  readonly plugins: PluginRegistry
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
