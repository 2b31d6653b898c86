import type { Config, Listen } from './config.ts'
import type { Path } from './config-error.ts'
import type { Problems } from './problems.ts'

/** A setting that conflicts with others. */
interface Misfit {
  readonly path: Path
  readonly message: string
}

const everyAddress = new Set(['0.0.0.0', '::'])

function collide(left: Listen, right: Listen): boolean {
  if (left.port !== right.port || left.port === 0) return false
  return left.host === right.host || everyAddress.has(left.host) || everyAddress.has(right.host)
}

/** Listeners of this gateway that share one port. */
function checkListens({
  listen,
  admin,
  accountArea,
  operatorArea,
}: Pick<Config, 'listen' | 'admin' | 'accountArea' | 'operatorArea'>): readonly Misfit[] {
  const listens = [
    { name: 'listen', path: ['listen'], own: listen },
    { name: 'admin.listen', path: ['admin', 'listen'], own: admin?.listen },
    { name: 'accountArea.listen', path: ['accountArea', 'listen'], own: accountArea?.listen },
    { name: 'operatorArea.listen', path: ['operatorArea', 'listen'], own: operatorArea?.listen },
  ]
  return listens.flatMap(({ path, own }, index) => {
    const other = listens
      .slice(0, index)
      .find(earlier => own !== undefined && earlier.own !== undefined && collide(earlier.own, own))
    if (other === undefined || own === undefined) return []
    return [{ path: [...path, 'port'], message: `${own.port} is the port of ${other.name} already` }]
  })
}

/** `unmetered: true` switches charging off; with usage-tap enabled, one of the two is a mistake. */
function checkUnmetered({ unmetered, plugins }: Config): readonly Misfit[] {
  if (!unmetered || plugins.every(plugin => plugin.name !== 'usage-tap')) return []
  const message =
    'is true and the plugin usage-tap is on: nothing would be charged; take one away (usage-tap: { enabled: false })'
  return [{ path: ['unmetered'], message }]
}

/** Settings that do not work with several workers, with the reason. */
function checkWorkers({ workers, providers }: Config): readonly Misfit[] {
  return [...providers.values()]
    .filter(provider => !provider.isOff && provider.limits.connectionsMax < workers)
    .map(({ name }) => ({
      path: ['providers', name, 'limits', 'connectionsMax'],
      message: `must be at least ${workers}, as many as workers: they share the connections`,
    }))
}

/** The egress of the rate feed must exist. */
function checkRates({ rates, egress }: Config): readonly Misfit[] {
  if (rates?.egress === undefined || rates.egress === 'direct' || egress.has(rates.egress)) return []
  const names = ['direct', ...egress.keys()]
  return [{ path: ['prices', 'usdRub', 'egress'], message: `is no egress; there are ${names.join(', ')}` }]
}

/** @throws ConfigError where settings that are valid alone conflict with each other */
export function checkWhole(config: Config, problems: Problems): void {
  const found = [
    ...checkListens(config),
    ...checkWorkers(config),
    ...checkUnmetered(config),
    ...checkRates(config),
  ]
  for (const { path, message } of found) problems.add(path, message)
  problems.throwIfAny()
}
