import { formatPath, isMapping, type ConfigProblem, type Path } from './config-error.ts'
import { locate, type Layer } from './layers.ts'
import type { Place } from './yaml-document.ts'

/** Where a value of the config is written, and everything in it: plain data, which also reaches worker processes. */
export interface Written {
  readonly file: string
  readonly path: Path
  readonly places: ReadonlyMap<string, Place>
}

/** Notes where the value at a path is written, for problems that are found only after the config is read. */
export function writtenAt(layers: readonly Layer[], path: Path, value: unknown): Written {
  const { file = '' } = locate(layers, path)
  const places = new Map<string, Place>()
  for (const one of pathsIn(path, value)) {
    const { place } = locate(layers, one)
    if (place !== undefined) places.set(formatPath(one), place)
  }
  return { file, path, places }
}

function pathsIn(path: Path, value: unknown): readonly Path[] {
  const parts: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(isMapping(value) ? value : {})
  return [path, ...parts.flatMap(([part, inner]) => pathsIn([...path, part], inner))]
}

/** A problem at a path in the value. Of something that is missing, the place is that of the closest value around it. */
export function problemIn({ file, path, places }: Written, inner: Path, message: string): ConfigProblem {
  const whole = [...path, ...inner]
  let place: Place | undefined
  for (let length = whole.length; length >= path.length && place === undefined; length--)
    place = places.get(formatPath(whole.slice(0, length)))
  return { file, path: formatPath(whole), message, ...place }
}
