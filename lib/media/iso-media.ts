import { believedSeconds, BrokenMediaError, type MediaReader } from './media-reader.ts'
import { audioFrames } from './iso-audio.ts'
import type { AudioFrames } from './iso-audio.ts'

/** The length of a video or audio; whether it contains images, if known. */
export interface Playtime {
  readonly seconds?: number | undefined
  readonly hasVideo?: boolean | undefined
}

/** Boxes that are entered: the walk is flat, so nesting cannot make it deep. */
const entered = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'mvex', 'moof', 'traf'])
const payloadBytesMax = 1_048_576

/** The state of a track, on which its fragments depend, in units of its timescale. */
interface Track {
  timescale: number
  /** The frames of its audio; undefined for video, and for audio of an unknown kind. */
  audio: AudioFrames | undefined
  /** The number of samples in its tables and fragments. */
  samples: number
  /** The default length of a sample, for fragments that state none. */
  sampleUnits: number
  fragmentSampleUnits: number | undefined
  /** The end of the samples seen so far. */
  endUnits: number
}

/** The state of a walk. The current track is that of the last `tkhd` or `tfhd`. */
interface IsoState {
  longestSeconds: number
  movieTimescale: number
  track: number
  hasVideo: boolean
  hasAudio: boolean
  readonly tracks: Map<number, Track>
}

/** The current track. */
function trackOf(state: IsoState): Track {
  let track = state.tracks.get(state.track)
  if (track === undefined) {
    track = {
      timescale: 0,
      audio: undefined,
      samples: 0,
      sampleUnits: 0,
      fragmentSampleUnits: undefined,
      endUnits: 0,
    }
    // Ids are 32 bits wide: a file that consists of ids must not be kept in memory.
    if (state.tracks.size < 1000) state.tracks.set(state.track, track)
  }
  return track
}

/**
 * The length of a video in the ISO base media format (MP4, MOV, M4A), fragmented or not: the longest in any of its
 * headers and fragments, unless the frames of its audio are longer.
 * @throws BrokenMediaError without an index, which every player needs
 */
export async function isoPlaytime(reader: MediaReader): Promise<Playtime> {
  const state: IsoState = {
    longestSeconds: 0,
    movieTimescale: 0,
    track: 0,
    hasVideo: false,
    hasAudio: false,
    tracks: new Map(),
  }
  let hasIndex = false
  let position = 0
  for (;;) {
    const header = await reader.read(position, 16)
    if (header.length < 8) break
    const type = header.toString('latin1', 4, 8)
    const { size, headerBytes } = boxSize(header)
    if (type === 'moov' || type === 'moof') hasIndex = true
    if (entered.has(type)) {
      position += headerBytes
      continue
    }
    if (readBoxes.has(type)) {
      const payload = await reader.read(position + headerBytes, Math.min(size - headerBytes, payloadBytesMax))
      readBox(type, payload, state)
    }
    // A box that extends to the end is the last.
    if (size === Infinity) break
    position += size
  }
  if (!hasIndex) throw new BrokenMediaError('it has no index (moov), so it is cut off or no video')
  return {
    seconds: believedSeconds(state.longestSeconds, audioSeconds(state)),
    ...((state.hasVideo || state.hasAudio) && { hasVideo: state.hasVideo }),
  }
}

function boxSize(header: Buffer): { readonly size: number; readonly headerBytes: number } {
  const size = header.readUInt32BE(0)
  if (size === 0) return { size: Infinity, headerBytes: 8 }
  if (size === 1 && header.length === 16) {
    const long = Number(header.readBigUInt64BE(8))
    if (long >= 16) return { size: long, headerBytes: 16 }
  }
  if (size < 8) throw new BrokenMediaError('a box in it is smaller than its own header')
  return { size, headerBytes: 8 }
}

const readBoxes: ReadonlySet<string> = new Set(
  'mvhd tkhd mdhd hdlr stsd stts stsz stz2 mehd trex tfhd tfdt trun'.split(' '),
)

/** The length of the frames of the longest audio track. */
function audioSeconds(state: IsoState): number {
  let seconds = 0
  for (const { audio, samples } of state.tracks.values()) {
    if (audio !== undefined) seconds = Math.max(seconds, (samples * audio.samplesPerFrame) / audio.rate)
  }
  return seconds
}

/** The end of a fragment's samples, once its boxes `tfhd`, `tfdt` and `trun` are read. */
function fragmentSeconds(type: string, payload: Buffer, state: IsoState): number | undefined {
  if (payload.length < 8) return undefined
  const flags = payload.readUInt32BE(0) & 0xffffff
  switch (type) {
    case 'trex':
      if (payload.length >= 16) {
        state.track = payload.readUInt32BE(4)
        trackOf(state).sampleUnits = payload.readUInt32BE(12)
      }
      return undefined
    case 'tfhd': {
      state.track = payload.readUInt32BE(4)
      const at = 8 + ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4)
      const isSet = (flags & 8) !== 0 && payload.length >= at + 4
      trackOf(state).fragmentSampleUnits = isSet ? payload.readUInt32BE(at) : undefined
      return undefined
    }
    case 'tfdt': {
      const isLong = payload[0] === 1 && payload.length >= 12
      trackOf(state).endUnits = isLong ? Number(payload.readBigUInt64BE(4)) : payload.readUInt32BE(4)
      return undefined
    }
    default: {
      const track = trackOf(state)
      track.samples += payload.readUInt32BE(4)
      track.endUnits += runUnits(payload, flags, track)
      return track.timescale === 0 ? undefined : track.endUnits / track.timescale
    }
  }
}

/** A run of samples: each with its own length, or all with the default. */
function runUnits(payload: Buffer, flags: number, track: Track): number {
  const samples = payload.readUInt32BE(4)
  if ((flags & 0x100) === 0) return samples * (track.fragmentSampleUnits ?? track.sampleUnits)
  let at = 8 + ((flags & 1) === 0 ? 0 : 4) + ((flags & 4) === 0 ? 0 : 4)
  const others = [0x200, 0x400, 0x800].filter(flag => (flags & flag) !== 0).length
  let units = 0
  for (let index = 0; index < samples && at + 4 <= payload.length; index++) {
    units += payload.readUInt32BE(at)
    at += 4 + others * 4
  }
  return units
}

/** Boxes that are too short for their type are ignored. */
function readBox(type: string, payload: Buffer, state: IsoState): void {
  const isLong = payload[0] === 1
  const times = payload.subarray(isLong ? 20 : 12)
  switch (type) {
    case 'mvhd':
      if (times.length >= (isLong ? 12 : 8)) state.movieTimescale = times.readUInt32BE(0)
      lengthen(state, durationIn(times, isLong))
      break
    case 'mdhd':
      if (times.length >= 4) trackOf(state).timescale = times.readUInt32BE(0)
      lengthen(state, durationIn(times, isLong))
      break
    case 'tkhd':
      if (times.length >= 4) state.track = times.readUInt32BE(0)
      break
    case 'hdlr': {
      const handler = payload.toString('latin1', 8, 12)
      if (handler === 'vide') state.hasVideo = true
      if (handler === 'soun') state.hasAudio = true
      break
    }
    case 'stsd':
      trackOf(state).audio = audioFrames(payload)
      break
    case 'stts': {
      const { timescale } = trackOf(state)
      if (timescale > 0) lengthen(state, tableUnits(payload) / timescale)
      break
    }
    case 'stsz':
    case 'stz2':
      if (payload.length >= 12) trackOf(state).samples += payload.readUInt32BE(8)
      break
    case 'mehd':
      if (payload.length >= (isLong ? 12 : 8) && state.movieTimescale > 0) {
        const units = isLong ? Number(payload.readBigUInt64BE(4)) : payload.readUInt32BE(4)
        lengthen(state, units / state.movieTimescale)
      }
      break
    default:
      lengthen(state, fragmentSeconds(type, payload, state))
  }
}

/** The length of the samples in a box `stts`: rows of a number of samples and the length of each. */
function tableUnits(payload: Buffer): number {
  let units = 0
  for (let at = 8; at + 8 <= payload.length; at += 8)
    units += payload.readUInt32BE(at) * payload.readUInt32BE(at + 4)
  return units
}

function lengthen(state: IsoState, seconds: number | undefined): void {
  if (seconds !== undefined && Number.isFinite(seconds))
    state.longestSeconds = Math.max(state.longestSeconds, seconds)
}

/** All bits set mean an unknown length. */
function durationIn(times: Buffer, isLong: boolean): number | undefined {
  if (times.length < (isLong ? 12 : 8)) return undefined
  const timescale = times.readUInt32BE(0)
  const isUnknown = isLong
    ? times.readBigUInt64BE(4) === 0xffffffffffffffffn
    : times.readUInt32BE(4) === 0xffffffff
  if (isUnknown || timescale === 0) return undefined
  return (isLong ? Number(times.readBigUInt64BE(4)) : times.readUInt32BE(4)) / timescale
}
