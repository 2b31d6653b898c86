import type { Playtime } from './iso-media.ts'
import { blockHeadBytes, MatroskaAudio, audioBlockBytesMax, trackIds } from './matroska-audio.ts'
import { MediaUnreadableError, type MediaReader } from './media-reader.ts'

const ids = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  audio: 0xe1,
  trackType: 0x83,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
  blockDuration: 0x9b,
} as const

/** Elements that are entered: the walk is flat, so nesting cannot make it deep. */
const entered: ReadonlySet<number> = new Set([
  ids.segment,
  ids.info,
  ids.tracks,
  ids.trackEntry,
  ids.audio,
  ids.cluster,
  ids.blockGroup,
])
const blocks: ReadonlySet<number> = new Set([ids.simpleBlock, ids.block])
const trackMembers: ReadonlySet<number> = new Set(Object.values(trackIds))
const read: ReadonlySet<number> = new Set([
  ...trackMembers,
  ids.timestampScale,
  ids.duration,
  ids.trackType,
  ids.timestamp,
  ids.simpleBlock,
  ids.block,
  ids.blockDuration,
])

interface EbmlState {
  /** Nanoseconds a tick. */
  scale: number
  durationTicks: number
  clusterTicks: number
  blockTicks: number
  lastTicks: number
  hasVideo: boolean
  hasAudio: boolean
  readonly audio: MatroskaAudio
}

/**
 * The length of a video or audio in Matroska or WebM: the one in its header or the time of its last block, whichever is
 * later, unless the frames of its audio are longer. Recordings of browsers have no length in their header.
 */
export async function ebmlPlaytime(reader: MediaReader): Promise<Playtime> {
  const state: EbmlState = {
    scale: 1_000_000,
    durationTicks: 0,
    clusterTicks: 0,
    blockTicks: 0,
    lastTicks: 0,
    hasVideo: false,
    hasAudio: false,
    audio: new MatroskaAudio(),
  }
  let position = 0
  for (;;) {
    const header = await reader.read(position, 12)
    const idBytes = lengthOf(header[0], 4)
    const sizeBytes = lengthOf(header[idBytes], 8)
    if (idBytes === 0 || sizeBytes === 0 || header.length < idBytes + sizeBytes) break
    const id = header.readUIntBE(0, idBytes)
    const size = sizeIn(header, idBytes, sizeBytes)
    position += idBytes + sizeBytes
    if (id === ids.trackEntry) state.audio.beginTrack()
    if (entered.has(id)) continue
    // Only entered elements may have an unknown size, such as a live recording's segment and clusters.
    if (size === undefined) break
    if (read.has(id)) {
      const head = await reader.read(position, Math.min(size, blockHeadBytes))
      const isLong = blocks.has(id) && size > blockHeadBytes && isReadWhole(head, state)
      const payload = isLong ? await reader.read(position, Math.min(size, audioBlockBytesMax)) : head
      readElement(id, payload, state, size)
    }
    position += size
  }
  const { unknownCodec } = state.audio
  if (unknownCodec !== undefined && !state.hasVideo)
    throw new MediaUnreadableError(
      `Nobody here knows how long its frames of ${unknownCodec.slice(0, 40)} play.`,
    )
  const saidSeconds = (Math.max(state.durationTicks, state.lastTicks) * state.scale) / 1e9
  const seconds = state.audio.secondsBeside(saidSeconds)
  return {
    ...(seconds > 0 && Number.isFinite(seconds) && { seconds }),
    ...((state.hasVideo || state.hasAudio) && { hasVideo: state.hasVideo }),
  }
}

function isReadWhole(head: Buffer, { audio }: EbmlState): boolean {
  const trackBytes = lengthOf(head[0], 8)
  return trackBytes > 0 && audio.isReadWhole(sizeIn(head, 0, trackBytes) ?? 0, head, trackBytes)
}

function readElement(id: number, payload: Buffer, state: EbmlState, size: number): void {
  switch (id) {
    case ids.timestampScale:
      state.scale = unsigned(payload) || 1_000_000
      break
    case ids.duration:
      state.durationTicks = Math.max(state.durationTicks, durationIn(payload))
      break
    case ids.trackType:
      if (payload[0] === 1) state.hasVideo = true
      if (payload[0] === 2) state.hasAudio = true
      break
    case ids.timestamp:
      state.clusterTicks = unsigned(payload)
      state.lastTicks = Math.max(state.lastTicks, state.clusterTicks)
      break
    case ids.blockDuration:
      state.lastTicks = Math.max(state.lastTicks, state.blockTicks + unsigned(payload))
      break
    default: {
      if (trackMembers.has(id)) {
        state.audio.readMember(id, payload)
        return
      }
      // Track number, then 16 bits: ticks since the beginning of the cluster.
      const trackBytes = lengthOf(payload[0], 8)
      if (trackBytes === 0 || payload.length < trackBytes + 2) return
      state.blockTicks = state.clusterTicks + payload.readInt16BE(trackBytes)
      state.lastTicks = Math.max(state.lastTicks, state.blockTicks)
      state.audio.readBlock(sizeIn(payload, 0, trackBytes) ?? 0, payload, trackBytes, size)
    }
  }
}

/** 0 for an invalid length, such as infinity, which would hide the rest of the file. */
function durationIn(payload: Buffer): number {
  const ticks =
    payload.length === 4 ? payload.readFloatBE(0) : payload.length === 8 ? payload.readDoubleBE(0) : 0
  return Number.isFinite(ticks) ? Math.max(0, ticks) : 0
}

/** The length of a variable-length number, by its first byte; 0 for an invalid one. */
function lengthOf(first: number | undefined, bytesMax: number): number {
  if (first === undefined || first === 0) return 0
  const length = Math.clz32(first) - 23
  return length > bytesMax ? 0 : length
}

/** All bits set: the size is unknown. */
function sizeIn(header: Buffer, start: number, length: number): number | undefined {
  let value = (header[start] as number) & ((1 << (8 - length)) - 1)
  let isUnknown = value === (1 << (8 - length)) - 1
  for (let index = 1; index < length; index++) {
    const byte = header[start + index] as number
    if (byte !== 0xff) isUnknown = false
    value = value * 256 + byte
  }
  return isUnknown ? undefined : value
}

function unsigned(payload: Buffer): number {
  let value = 0
  for (const byte of payload.subarray(0, 8)) value = value * 256 + byte
  return value
}

const transportPacketBytes = 188
const transportTailBytes = 188 * 1000
const clockHz = 90_000
const clockPeriod = 2 ** 33

/** AVI: the main header states the number of frames and the microseconds of each. */
export async function aviSeconds(reader: MediaReader): Promise<number | undefined> {
  const head = await reader.read(0, 56)
  if (head.length < 56 || head.toString('latin1', 24, 28) !== 'avih') return undefined
  return above0((head.readUInt32LE(32) * head.readUInt32LE(48)) / 1e6)
}

/** Flash video: the last tag has its playing time, and is followed by its size. */
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

/** `offset`: the position of the first byte within a packet. */
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
