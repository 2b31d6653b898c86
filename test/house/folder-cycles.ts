/** The sets of folders that can all be reached from each other (Tarjan), in any order; folders of their own are left out. */
export function folderCycles(
  edges: ReadonlyMap<string, ReadonlySet<string>>,
): readonly (readonly string[])[] {
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
