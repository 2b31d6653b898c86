import type { Source } from './sources.ts'

/** The folder of a path: `lib/x` for every file below it, at any depth. */
export function folderOf(path: string): string {
  const parts = path.split('/')
  return parts.length > 2 ? parts.slice(0, 2).join('/') : path
}

/** The imports between files of the source, with or without type imports. */
export function ownImports(
  sources: readonly Source[],
  isWithTypes: boolean,
): readonly { readonly from: string; readonly to: string; readonly line: number }[] {
  const paths = new Set(sources.map(({ path }) => path))
  return sources.flatMap(source =>
    source.imports
      .filter(({ to, isRelative, isTypeOnly }) => isRelative && (isWithTypes || !isTypeOnly) && paths.has(to))
      .map(({ to, line }) => ({ from: source.path, to, line })),
  )
}

/** Sets of folders that import each other, directly or through others. */
export function folderCycles(
  sources: readonly Source[],
  isWithTypes: boolean,
): readonly (readonly string[])[] {
  const edges = new Map<string, Set<string>>()
  for (const { from, to } of ownImports(sources, isWithTypes)) {
    const own = edges.get(folderOf(from)) ?? new Set()
    edges.set(folderOf(from), own)
    if (folderOf(to) !== folderOf(from)) own.add(folderOf(to))
  }
  return cycles(edges)
}

/** Folders of lib that import each other, types included, as sentences with the imports between them. */
export function folderBreaches(sources: readonly Source[]): readonly string[] {
  const lib = sources.filter(({ path }) => path.startsWith('lib/'))
  return folderCycles(lib, true).map(knot => {
    const between = ownImports(lib, true)
      .filter(({ from, to }) => folderOf(from) !== folderOf(to))
      .filter(({ from, to }) => knot.includes(folderOf(from)) && knot.includes(folderOf(to)))
      .map(({ from, to, line }) => `${from}:${line} imports ${to}`)
    return `${knot.join(', ')} import each other; move what both need below them: ${between.join(', ')}.`
  })
}

/** The strongly connected sets of more than one folder (Tarjan), in any order. */
function cycles(edges: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const knots: string[][] = []
  const visit = (folder: string): void => {
    order.set(folder, order.size)
    low.set(folder, order.get(folder) ?? 0)
    stack.push(folder)
    for (const to of edges.get(folder) ?? []) {
      if (!order.has(to)) visit(to)
      if (stack.includes(to)) low.set(folder, Math.min(low.get(folder) ?? 0, low.get(to) ?? 0))
    }
    if (low.get(folder) !== order.get(folder)) return
    const knot = stack.splice(stack.indexOf(folder))
    if (knot.length > 1) knots.push(knot.toSorted())
  }
  for (const folder of edges.keys()) if (!order.has(folder)) visit(folder)
  return knots
}
