/** What a quarter of the turns stay below: compiling, and others on the machine, move it less than the median. */
export function lowerQuartile(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 4)] ?? Number.NaN
}
