import { hash } from 'node:crypto'

/** A unit vector that follows from the text alone: the same text, the same direction. */
export function vector(text: string, dimensions: number): readonly number[] {
  const values: number[] = []
  for (let block = 0; values.length < dimensions; block += 1) {
    const digest = hash('sha256', `${block}:${text}`, 'buffer')
    for (let index = 0; index < digest.length && values.length < dimensions; index += 4) {
      values.push(digest.readInt32LE(index) / 0x80000000)
    }
  }
  const length = Math.hypot(...values) || 1
  return values.map(value => value / length)
}
