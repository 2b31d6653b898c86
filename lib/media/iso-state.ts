import type { SoundFrames } from './iso-sound.ts'

/** What is known of a track; its fragments go by it, in units of its timescale. */
export interface Track {
  timescale: number
  /** Its sound's frames; undefined for pictures, and for sound of an unknown kind. */
  sound: SoundFrames | undefined
  /** How many samples its tables and fragments have named. */
  samples: number
  /** How long a sample is unless its fragment says otherwise. */
  sampleUnits: number
  fragmentSampleUnits: number | undefined
  /** Where the samples seen so far end. */
  endUnits: number
}

/** What a walk gathers. The current track is that of the last `tkhd` or `tfhd`. */
export interface IsoState {
  longestSeconds: number
  movieTimescale: number
  track: number
  hasVideo: boolean
  hasSound: boolean
  readonly tracks: Map<number, Track>
}

/** The current track. */
export function trackOf(state: IsoState): Track {
  let track = state.tracks.get(state.track)
  if (track === undefined) {
    track = {
      timescale: 0,
      sound: undefined,
      samples: 0,
      sampleUnits: 0,
      fragmentSampleUnits: undefined,
      endUnits: 0,
    }
    // Ids are 32 bits wide: a file of nothing but ids is not kept whole.
    if (state.tracks.size < 1000) state.tracks.set(state.track, track)
  }
  return track
}
