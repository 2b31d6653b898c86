import type { MediaReader } from './media-reader.ts'

const transportPacketBytes = 188
const transportTailBytes = 188 * 1000
const clockHz = 90_000
const clockPeriod = 2 ** 33

/** AVI: the main header tells the frames and the microseconds of each. */
export async function aviSeconds(reader: MediaReader): Promise<number | undefined> {
  const head = await reader.read(0, 56)
  if (head.length < 56 || head.toString('latin1', 24, 28) !== 'avih') return undefined
  return above0((head.readUInt32LE(32) * head.readUInt32LE(48)) / 1e6)
}

/** Flash video: the last tag has the time at which it plays, and behind it stands its size. */
export async function flvSeconds(reader: MediaReader): Promise<number | undefined> {
  const size = await reader.size()
  const ending = await reader.tail(4)
  if (ending.length < 4) return undefined
  const tag = await reader.read(Math.max(0, size - 4 - ending.readUInt32BE(0)), 8)
  if (tag.length < 8) return undefined
  // The byte above the other three comes last.
  return above0((tag.readUIntBE(4, 3) + (tag[7] as number) * 2 ** 24) / 1000)
}

/** An MPEG transport stream: from the first clock reference to the last, of one program. */
export async function transportSeconds(reader: MediaReader): Promise<number | undefined> {
  const first = firstClock(await reader.read(0, transportTailBytes))
  const tail = await reader.tail(transportTailBytes)
  const size = await reader.size()
  const last = lastClock(tail, (size - tail.length) % transportPacketBytes)
  if (first === undefined || last === undefined) return undefined
  return above0(((last - first + clockPeriod) % clockPeriod) / clockHz)
}

function firstClock(bytes: Buffer): number | undefined {
  for (let at = 0; at + transportPacketBytes <= bytes.length; at += transportPacketBytes) {
    const clock = clockAt(bytes, at)
    if (clock !== undefined) return clock
  }
  return undefined
}

/** `offset`: how far the first byte is inside of a packet. */
function lastClock(bytes: Buffer, offset: number): number | undefined {
  const start = (transportPacketBytes - offset) % transportPacketBytes
  const packets = Math.floor((bytes.length - start) / transportPacketBytes)
  for (let packet = packets - 1; packet >= 0; packet--) {
    const clock = clockAt(bytes, start + packet * transportPacketBytes)
    if (clock !== undefined) return clock
  }
  return undefined
}

/** The clock reference in a packet's adaptation field (ISO 13818-1, 2.4.3.4). */
function clockAt(bytes: Buffer, at: number): number | undefined {
  const hasField = bytes[at] === 0x47 && ((bytes[at + 3] as number) & 0x20) !== 0
  if (!hasField || (bytes[at + 4] as number) < 7 || ((bytes[at + 5] as number) & 0x10) === 0) return undefined
  return bytes.readUInt32BE(at + 6) * 2 + ((bytes[at + 10] as number) >> 7)
}

function above0(seconds: number): number | undefined {
  return seconds > 0 && Number.isFinite(seconds) ? seconds : undefined
}
