import type { Config } from './config.ts'
import type { Path } from './config-error.ts'

interface NotYet {
  readonly path: Path
  readonly message: string
  isAsked(config: Config): boolean
}

/**
 * What the config can say and this version cannot do. It is refused, since a setting that is silently
 * ignored is worse than none. Whoever builds one of these deletes its line.
 */
const notYet: readonly NotYet[] = [
  {
    path: ['workers'],
    message: 'more than one process is not built yet; use workers: 1',
    isAsked: config => config.workers !== 1,
  },
]

/** What the config asks for that is not built, with the reason to give. */
export function findNotYet(config: Config): readonly { readonly path: Path; readonly message: string }[] {
  return notYet.filter(feature => feature.isAsked(config))
}
