import type { MediaReader } from './media-reader.ts'

const pageHeaderBytes = 27
const capture = 0x4f676753 // OggS
const firstPageFlag = 2
/** Streams that run side by side in one link of a chain. */
const streamsMax = 64
const noGranule = 0xffffffffffffffffn

/** Turns a stream's count of what was played into seconds. */
type ReadsGranule = (granule: bigint) => number

/**
 * The length of an Ogg file (Opus, Vorbis, Speex, FLAC, Theora): that of its longest stream, summed over
 * the links where one recording was appended to another.
 */
export async function oggSeconds(reader: MediaReader): Promise<number | undefined> {
  const streams = new Map<number, ReadsGranule | undefined>()
  let earlierSeconds = 0
  let linkSeconds = 0
  let hasContent = false
  let position = 0
  for (;;) {
    const header = await reader.read(position, pageHeaderBytes + 255)
    if (header.length < pageHeaderBytes || header.readUInt32BE(0) !== capture) break
    const segments = header[26] as number
    if (header.length < pageHeaderBytes + segments) break
    let payloadBytes = 0
    for (const bytes of header.subarray(pageHeaderBytes, pageHeaderBytes + segments)) payloadBytes += bytes
    const payloadStart = position + pageHeaderBytes + segments
    const serial = header.readUInt32LE(14)
    if (((header[5] as number) & firstPageFlag) !== 0) {
      if (hasContent) {
        earlierSeconds += linkSeconds
        linkSeconds = 0
        streams.clear()
        hasContent = false
      }
      const packet = await reader.read(payloadStart, Math.min(payloadBytes, 64))
      if (streams.size < streamsMax) streams.set(serial, granuleReader(packet))
    } else {
      hasContent = true
      const granule = header.readBigUInt64LE(6)
      if (granule !== noGranule) {
        const seconds = streams.get(serial)?.(granule) ?? 0
        if (Number.isFinite(seconds)) linkSeconds = Math.max(linkSeconds, seconds)
      }
    }
    position = payloadStart + payloadBytes
  }
  const seconds = earlierSeconds + linkSeconds
  return seconds > 0 ? seconds : undefined
}

/** By the first packet of a stream, which says what it is and at which rate it is counted. */
function granuleReader(packet: Buffer): ReadsGranule | undefined {
  const atRate = (hertz: number, skipped = 0): ReadsGranule | undefined =>
    hertz === 0 ? undefined : granule => Math.max(0, Number(granule) - skipped) / hertz
  if (packet.length >= 19 && packet.toString('latin1', 0, 8) === 'OpusHead') {
    return atRate(48_000, packet.readUInt16LE(10))
  }
  if (packet.length >= 16 && packet.toString('latin1', 0, 7) === '\u0001vorbis') {
    return atRate(packet.readUInt32LE(12))
  }
  if (packet.length >= 40 && packet.toString('latin1', 0, 8) === 'Speex   ') {
    return atRate(packet.readUInt32LE(36))
  }
  if (packet.length >= 30 && packet.toString('latin1', 0, 5) === '\u007fFLAC') {
    return atRate(packet.readUIntBE(27, 3) >> 4)
  }
  if (packet.length >= 42 && packet.toString('latin1', 0, 7) === '\u0080theora') return theoraReader(packet)
  return undefined
}

/** Frames since a key frame stand in the low bits, the key frame's number above them. */
function theoraReader(packet: Buffer): ReadsGranule | undefined {
  const numerator = packet.readUInt32BE(22)
  const denominator = packet.readUInt32BE(26)
  if (numerator === 0) return undefined
  const shift = BigInt((((packet[40] as number) & 3) << 3) | ((packet[41] as number) >> 5))
  return granule => {
    const frames = Number(granule >> shift) + Number(granule & ((1n << shift) - 1n))
    return (frames * denominator) / numerator
  }
}
