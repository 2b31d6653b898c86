import type { Command } from 'commander'
import { ConfigError, formatProblem } from '../config/config-error.ts'
import { findConfig } from '../config/find-config.ts'
import { loadConfig } from '../config/load-config.ts'
import type { Log } from '../log.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import type { CliContext, RunningGateway } from './context.ts'
import { openConfig } from './open-config.ts'

export function addServeCommand(program: Command, context: CliContext): void {
  addCommand(
    program,
    'serve',
    'run the gateway; SIGTERM drains it, SIGHUP reads the configuration again',
  ).action(async (options: SharedOptions) => {
    const { config, notices } = openConfig(options)
    const { createLog } = await import('../log.ts')
    const log = createLog({ level: config.log.level })
    for (const notice of notices) log.info(notice)
    if (config.file.includes('/node_modules/')) {
      const { file } = config
      log.warn({ file }, 'this configuration, and the store beside it, go with the next install: copy them')
    }
    const stopped = stopSignal(log)
    // Plain text among the log's lines, to be copied into a terminal.
    const onDemo = (command: string): void => void context.stderr.write(`${command}\n`)
    const gateway = await context.startGateway({ config, log, onDemo })
    const onReload = (): void => {
      reload(options, gateway, log).catch((error: unknown) => {
        log.error({ error }, 'the configuration was not taken; the old one stays')
      })
    }
    process.on('SIGHUP', onReload)
    await stopped
    await gateway.close()
    process.off('SIGHUP', onReload)
    log.info('stopped')
  })
}

/** Fulfilled by the first signal to stop. The second one ends the process as if nobody listened. */
function stopSignal(log: Log): Promise<void> {
  return new Promise(resolve => {
    const stop = (signal: NodeJS.Signals): void => {
      process.off('SIGTERM', stop)
      process.off('SIGINT', stop)
      log.info({ signal }, 'stopping when what runs has ended; once more stops at once')
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}

/** A configuration that is wrong changes nothing. */
async function reload(options: SharedOptions, gateway: RunningGateway, log: Log): Promise<void> {
  const file = findConfig(options.config)
  try {
    const { config, notices } = loadConfig(file)
    await gateway.reload(config)
    for (const notice of notices) log.info(notice)
    log.info({ file }, 'the configuration was read again')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const problems = error.problems.map(formatProblem)
    log.error({ problems }, 'the configuration is wrong; the old one stays')
  }
}
