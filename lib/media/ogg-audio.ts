import { MediaUnreadableError, type MediaReader } from './media-reader.ts'
import {
  flacPackets,
  opusPackets,
  packetsSeconds,
  vorbisPackets,
  type AudioPackets,
} from './audio-packets.ts'

const pageHeaderBytes = 27
const capture = Buffer.from('OggS')
const continuedFlag = 1
const firstPageFlag = 2
/** Parallel streams in one link of a chain. */
const streamsMax = 64
const noGranule = 0xffffffffffffffffn
const headBytes = 80

/** The coding that the first packet of a stream declares. */
interface Coding {
  /** Converts its granule position to seconds. */
  readonly ofGranule: (granule: bigint) => number
  readonly packets?: AudioPackets
}

interface OggStream {
  readonly coding: Coding | undefined
  /** By the granule positions of its pages, and by its packets. */
  saidSeconds: number
  heldSeconds: number
}

interface Page {
  readonly flags: number
  readonly granule: bigint
  readonly serial: number
  /** The lengths of its segments; one of less than 255 bytes is the last of its packet. */
  readonly lengths: Buffer
  readonly start: number
  readonly bytes: number
}

/**
 * The length of an Ogg file (Opus, Vorbis, Speex, FLAC, Theora): that of its longest stream, summed over the links if
 * recordings are chained. A stream is as long as its pages state, unless its packets are longer: players ignore the
 * stated position.
 */
export async function oggSeconds(reader: MediaReader): Promise<number | undefined> {
  const streams = new Map<number, OggStream>()
  let earlierSeconds = 0
  let hasContent = false
  for (
    let page = await pageFrom(reader, 0);
    page !== undefined;
    page = await pageFrom(reader, page.start + page.bytes)
  ) {
    const isFirst = (page.flags & firstPageFlag) !== 0
    if (isFirst && hasContent) {
      earlierSeconds += longest(streams)
      streams.clear()
      hasContent = false
    }
    const stream = streams.get(page.serial)
    if (stream === undefined || isFirst) {
      if (streams.size === streamsMax) throw new MediaUnreadableError('It has too many streams.')
      const head = await reader.read(page.start, Math.min(page.bytes, headBytes))
      streams.set(page.serial, { coding: codingOf(head), saidSeconds: 0, heldSeconds: 0 })
    } else {
      hasContent = true
      if (stream.coding !== undefined) await readPage(page, stream, stream.coding, reader)
    }
  }
  const seconds = earlierSeconds + longest(streams)
  return seconds > 0 ? seconds : undefined
}

/** The page that begins here, or the next one, as players search for it; undefined if there is none. */
async function pageFrom(reader: MediaReader, from: number): Promise<Page | undefined> {
  let position = from
  for (;;) {
    const header = await reader.read(position, pageHeaderBytes + 255)
    if (header.length < pageHeaderBytes) return undefined
    const at = header.indexOf(capture)
    if (at === 0) return pageIn(header, position)
    position += at === -1 ? header.length - capture.length + 1 : at
  }
}

function pageIn(header: Buffer, position: number): Page | undefined {
  const start = pageHeaderBytes + (header[26] as number)
  if (header.length < start) return undefined
  const lengths = header.subarray(pageHeaderBytes, start)
  let bytes = 0
  for (const length of lengths) bytes += length
  return {
    flags: header[5] as number,
    granule: header.readBigUInt64LE(6),
    serial: header.readUInt32LE(14),
    lengths,
    start: position + start,
    bytes,
  }
}

async function readPage(
  { flags, granule, lengths, start, bytes }: Page,
  stream: OggStream,
  { ofGranule, packets }: Coding,
  reader: MediaReader,
): Promise<void> {
  const said = granule === noGranule ? 0 : ofGranule(granule)
  if (Number.isFinite(said)) stream.saidSeconds = Math.max(stream.saidSeconds, said)
  if (packets === undefined) return
  // The window that contains the lengths is replaced after this.
  const segments = Buffer.from(lengths)
  const payload = await reader.read(start, bytes)
  let isStart = (flags & continuedFlag) === 0
  let at = 0
  for (const length of segments) {
    if (isStart && at < payload.length) stream.heldSeconds += packets.secondsOf(payload, at, payload.length)
    at += length
    isStart = length < 255
  }
}

function longest(streams: ReadonlyMap<number, OggStream>): number {
  let seconds = 0
  for (const { coding, saidSeconds, heldSeconds } of streams.values())
    seconds = Math.max(seconds, packetsSeconds(saidSeconds, heldSeconds, coding?.packets))
  return seconds
}

function codingOf(packet: Buffer): Coding | undefined {
  const atRate = (hertz: number, skipped = 0): Coding | undefined =>
    hertz === 0 ? undefined : { ofGranule: granule => Math.max(0, Number(granule) - skipped) / hertz }
  if (packet.length >= 19 && packet.toString('latin1', 0, 8) === 'OpusHead') {
    const coding = atRate(48_000, packet.readUInt16LE(10))
    return coding && { ...coding, packets: opusPackets }
  }
  if (packet.length >= 16 && packet.toString('latin1', 0, 7) === '\u0001vorbis') {
    const hertz = packet.readUInt32LE(12)
    const coding = atRate(hertz)
    return coding && { ...coding, packets: vorbisPackets(packet[28] ?? 0, hertz) }
  }
  if (packet.length >= 40 && packet.toString('latin1', 0, 8) === 'Speex   ') {
    const hertz = packet.readUInt32LE(36)
    const coding = atRate(hertz)
    if (coding === undefined || packet.length < 68) return coding
    const packetSeconds = (packet.readUInt32LE(56) * Math.max(1, packet.readUInt32LE(64))) / hertz
    return { ...coding, packets: { secondsOf: () => packetSeconds } }
  }
  if (packet.length >= 30 && packet.toString('latin1', 0, 5) === '\u007fFLAC') {
    const hertz = packet.readUIntBE(27, 3) >> 4
    const coding = atRate(hertz)
    return coding && { ...coding, packets: flacPackets(hertz) }
  }
  const ofGranule =
    packet.length >= 42 && packet.toString('latin1', 0, 7) === '\u0080theora'
      ? theoraReader(packet)
      : undefined
  return ofGranule && { ofGranule }
}

/** The low bits count frames since a key frame, the high bits are the key frame's number. */
function theoraReader(packet: Buffer): Coding['ofGranule'] | undefined {
  const numerator = packet.readUInt32BE(22)
  const denominator = packet.readUInt32BE(26)
  if (numerator === 0) return undefined
  const shift = BigInt((((packet[40] as number) & 3) << 3) | ((packet[41] as number) >> 5))
  return granule => {
    const frames = Number(granule >> shift) + Number(granule & ((1n << shift) - 1n))
    return (frames * denominator) / numerator
  }
}
