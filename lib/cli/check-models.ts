import { findConfig } from '../config/find-config.ts'
import { nearest } from '../platform/nearest.ts'
import { standsForModel } from '../models/stands-for-model.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import { openModelNames } from './open-config.ts'

/**
 * Makes sure that each entry of an allow-list can stand for a model: a key limited to a slip of the pen would be
 * refused everything, and nobody would see why.
 * @throws CommandError that names the others, with the nearest that there are
 */
export function checkModels(options: SharedOptions, entries: readonly string[]): void {
  const config = openModelNames(options)
  const names = [...config.models.keys(), ...config.aliases.keys()]
  const unknown = entries.filter(entry => !standsForModel(config, entry))
  if (unknown.length === 0) return
  const file = findConfig(options.config)
  const lines = unknown.map(entry => {
    const near = nearestEntry(entry, names)
    return `${file} has no model "${entry}"${near === undefined ? '' : `; did you mean "${near}"?`}`
  })
  throw new CommandError(
    `${lines.join('\n')}\ngateway models lists them; --allow-unknown-models takes the names of models to come`,
  )
}

/** A beginning is nearest to beginnings of about its length. */
function nearestEntry(entry: string, names: readonly string[]): string | undefined {
  if (!entry.endsWith('*')) return nearest(entry, names)
  const beginning = entry.slice(0, -1)
  const lengths = [beginning.length, beginning.length + 1, beginning.length - 1]
  const near = nearest(
    beginning,
    names.flatMap(name => lengths.map(length => name.slice(0, length))),
  )
  return near === undefined ? undefined : `${near}*`
}
