import { trackOf, type IsoState, type Track } from './iso-state.ts'

/** Where a fragment's samples end, once its boxes `tfhd`, `tfdt` and `trun` have told. */
export function fragmentSeconds(type: string, payload: Buffer, state: IsoState): number | undefined {
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
