import { isDeepStrictEqual } from 'node:util'
import type { Config } from './config.ts'
import type { ConfigProblem } from './config-error.ts'

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
export function needsRestart(running: Config, next: Config): readonly ConfigProblem[] {
  return Object.entries(fixed)
    .filter(([, read]) => !isDeepStrictEqual(read(running), read(next)))
    .map(([path]) => ({ file: next.file, path, message: 'differs, and a reload cannot change it: restart' }))
}
