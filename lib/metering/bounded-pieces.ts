/** The longest run of one kind that the tokeniser is given: its time grows with the square of a run. */
const runUnitsMax = 128
/** Long enough that calls cost nothing beside the work, short enough to keep each of them short. */
const pieceUnitsMax = 8192

/**
 * Cuts a text into pieces that a byte-pair tokeniser gets through in proportionate time. Words longer than
 * 128 characters, and as long runs of blanks, are cut, which adds a token at most at each cut; elsewhere a
 * piece ends before a blank, where tokens end anyway.
 */
export function boundedPieces(text: string): string[] {
  const pieces: string[] = []
  let start = 0
  let run = 0
  let wasBlank = false
  for (let index = 0; index < text.length; index += 1) {
    const isBlank = isBlankUnit(text.charCodeAt(index))
    run = isBlank === wasBlank ? run + 1 : 1
    const isFull = index - start >= pieceUnitsMax && isBlank && !wasBlank
    wasBlank = isBlank
    if (run <= runUnitsMax && !isFull) continue
    pieces.push(text.slice(start, index))
    start = index
    run = 1
  }
  if (start < text.length) pieces.push(text.slice(start))
  return pieces
}

function isBlankUnit(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || unit === 0xa0 || unit === 0x3000
}
