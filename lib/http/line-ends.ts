const lineFeed = 0x0a
const carriageReturn = 0x0d

interface LineEnd {
  readonly end: number
  /** Where the next line begins. */
  readonly next: number
}

/** The ends of lines: CR, LF or both. Each is searched for once. */
export function* lineEnds(bytes: Buffer, from = 0): Generator<LineEnd, void> {
  let feed = bytes.indexOf(lineFeed, from)
  let carriage = bytes.indexOf(carriageReturn, from)
  while (feed !== -1 || carriage !== -1) {
    const end = carriage === -1 || (feed !== -1 && feed < carriage) ? feed : carriage
    const isPair = end === carriage && feed === end + 1
    const next = end + (isPair ? 2 : 1)
    yield { end, next }
    if (feed !== -1 && feed < next) feed = bytes.indexOf(lineFeed, next)
    if (carriage !== -1 && carriage < next) carriage = bytes.indexOf(carriageReturn, next)
  }
}
