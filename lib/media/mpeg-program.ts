import type { MediaReader } from './media-reader.ts'

const packStart = Buffer.from('000001ba', 'hex')
const tailBytes = 262_144
const packBytes = 14
const clockHz = 90_000
/** The clock has 33 bits. */
const clockPeriod = 2 ** 33

interface Pack {
  /** In 90 kHz ticks. */
  readonly clock: number
  /** The most bytes a second that the stream may have. */
  readonly bytesPerSecond: number
}

/**
 * The length of an MPEG program stream: from its first clock to its last. A clock that was set anew on the
 * way shows in the rate: so many bytes cannot play in less time.
 */
export async function mpegSeconds(reader: MediaReader): Promise<number | undefined> {
  const first = packAt(await reader.read(0, packBytes), 0)
  if (first === undefined) return undefined
  const tail = await reader.tail(tailBytes)
  let last: Pack | undefined
  for (
    let at = tail.lastIndexOf(packStart);
    at >= 0;
    at = at === 0 ? -1 : tail.lastIndexOf(packStart, at - 1)
  ) {
    last = packAt(tail, at)
    if (last !== undefined) break
  }
  const byRate = first.bytesPerSecond === 0 ? 0 : (await reader.size()) / first.bytesPerSecond
  const ticks = last === undefined ? 0 : (last.clock - first.clock + clockPeriod) % clockPeriod
  const seconds = Math.max(byRate, ticks / clockHz)
  return seconds > 0 ? seconds : undefined
}

function packAt(bytes: Buffer, at: number): Pack | undefined {
  if (at + packBytes > bytes.length || bytes.readUInt32BE(at) !== 0x1ba) return undefined
  const [b4 = 0, b5 = 0, b6 = 0, b7 = 0, b8 = 0, , b10 = 0, b11 = 0, b12 = 0] = bytes.subarray(at + 4)
  // MPEG-2 (ISO 13818-1) begins with 01, MPEG-1 (ISO 11172-1) with 0010.
  if (b4 >> 6 === 1) {
    const high = ((b4 >> 3) & 7) * 2 ** 30
    const middle = (((b4 & 3) << 13) | (b5 << 5) | (b6 >> 3)) * 2 ** 15
    const low = ((b6 & 3) << 13) | (b7 << 5) | (b8 >> 3)
    return { clock: high + middle + low, bytesPerSecond: ((b10 << 14) | (b11 << 6) | (b12 >> 2)) * 50 }
  }
  if (b4 >> 4 !== 2) return undefined
  const b9 = bytes[at + 9] ?? 0
  const clock = ((b4 >> 1) & 7) * 2 ** 30 + ((b5 << 7) | (b6 >> 1)) * 2 ** 15 + ((b7 << 7) | (b8 >> 1))
  return { clock, bytesPerSecond: (((b9 & 0x7f) << 15) | (b10 << 7) | (b11 >> 1)) * 50 }
}
