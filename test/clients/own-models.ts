import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../lib/config/load-config.ts'
import { ModelDirectory } from '../../lib/models/model-directory.ts'
import type { Client } from './client.ts'

const shipped = join(import.meta.dirname, '../../config/gateway.yaml')
const directory = new ModelDirectory(loadConfig(shipped, { env: {} }).config)

/**
 * The models that an installed client knows by its own source, the newest of each family: its default model is
 * among them.
 */
export function ownModels({ models }: Client, installed: string): readonly string[] {
  if (models === undefined) return []
  const names = new Set<string>()
  for (const file of globSync(join(installed, 'node_modules', models.files))) {
    for (const [, name = ''] of readFileSync(file, 'latin1').matchAll(models.name)) names.add(name)
  }
  return models.isNewestOnly === true ? newest([...names]) : [...names]
}

/** Whether the shipped catalogue has a model with a price. */
export function isShipped(name: string): boolean {
  const price = directory.resolve(name, undefined)?.entry.prices[0]
  return price !== undefined && Object.keys(price.rubPerMillion).length > 0
}

/** `claude-opus-5-5` of those with the prefix `claude-opus`. */
function newest(names: readonly string[]): readonly string[] {
  const families = Map.groupBy(names, name => name.replace(/(?:-\d+)+$/, ''))
  return [...families.values()].map(family => family.toSorted(byNumber).at(-1) ?? '')
}

function byNumber(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
