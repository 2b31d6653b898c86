import { formatPath } from './config-error.ts'
import type { Path } from './config-error.ts'
import { isMapping } from './layers.ts'
import type { Layer } from './layers.ts'

/** A setting of an included file that the main file says otherwise. */
export interface Overridden {
  readonly path: string
  readonly file: string
}

/** What the strongest layer, the main file, replaces of those below it. */
export function overriddenSettings(layers: readonly Layer[]): readonly Overridden[] {
  const main = layers.at(-1)
  if (main === undefined) return []
  const included = layers.slice(0, -1).toReversed()
  return leaves(main.value, []).flatMap(path => {
    const below = included.find(layer => valueAt(layer.value, path) !== undefined)
    return below === undefined ? [] : [{ path: formatPath(path), file: below.file }]
  })
}

function leaves(value: Readonly<Record<string, unknown>>, path: Path): readonly Path[] {
  return Object.entries(value).flatMap(([key, item]) =>
    isMapping(item) ? leaves(item, [...path, key]) : [[...path, key]],
  )
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value
  for (const part of path) {
    if (!isMapping(current)) return undefined
    current = current[String(part)]
  }
  return current
}
