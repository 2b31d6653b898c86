/** The audio of a track: each of its samples is one frame. */
export interface AudioFrames {
  readonly samplesPerFrame: number
  readonly rate: number
}

/** Frames of constant length, by the type of the sample entry; a frame of PCM is one sample. */
const frameSamples: Readonly<Record<string, number>> = {
  '.mp3': 1152,
  'ac-3': 1536,
  'ec-3': 1536,
  samr: 160,
  sawb: 320,
  ...Object.fromEntries(
    ['alaw', 'fl32', 'fl64', 'fpcm', 'in24', 'in32', 'ipcm', 'lpcm', 'raw ', 'sowt', 'twos', 'ulaw'].map(
      type => [type, 1],
    ),
  ),
}
/** Hertz by the index in an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.3.4). */
const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
]
/** Profiles whose frames are shorter than 1024 samples: low delay, enhanced low delay, USAC. */
const shortFrames: Readonly<Record<number, number>> = { 23: 480, 39: 480, 42: 768 }
/** Opus is always recorded in frames of 20 ms at 48,000 Hz. */
const opusFrame = { samplesPerFrame: 960, rate: 48_000 }

/** The longest frames that a box `stsd` describes; undefined if none is known. */
export function audioFrames(stsd: Buffer): AudioFrames | undefined {
  let longest: AudioFrames | undefined
  for (let at = 8; at + 36 <= stsd.length;) {
    const size = stsd.readUInt32BE(at)
    if (size < 8) break
    const frames = entryFrames(stsd.subarray(at, at + size))
    if (frames !== undefined && secondsOf(frames) > secondsOf(longest)) longest = frames
    at += size
  }
  return longest
}

function secondsOf(frames: AudioFrames | undefined): number {
  return frames === undefined ? 0 : frames.samplesPerFrame / frames.rate
}

function entryFrames(entry: Buffer): AudioFrames | undefined {
  if (entry.length < 36) return undefined
  const type = entry.toString('latin1', 4, 8)
  const rate = entryRate(entry)
  if (type === 'mp4a') return mpegFrames(entry, rate)
  if (type === 'Opus') return opusFrame
  if (type === 'alac') {
    const cookie = entry.indexOf('alac', 36, 'latin1')
    return framesAt(entry, cookie + 8, cookie + 28)
  }
  if (type === 'fLaC') {
    // The largest block and the rate of STREAMINFO, after the headers of `dfLa` and of its first block.
    const info = entry.indexOf('dfLa', 36, 'latin1') + 12
    if (info < 12 || entry.length < info + 13) return undefined
    return known(entry.readUInt16BE(info + 2), entry.readUIntBE(info + 10, 3) >> 4)
  }
  return known(frameSamples[type] ?? 0, rate)
}

/** QuickTime's second version has its rate as a double, and 1 in the old place. */
function entryRate(entry: Buffer): number {
  const isSecond = entry.readUInt16BE(16) === 2 && entry.length >= 48
  return isSecond ? entry.readDoubleBE(40) : entry.readUInt32BE(32) / 65_536
}

function framesAt(entry: Buffer, samplesAt: number, rateAt: number): AudioFrames | undefined {
  if (samplesAt < 36 || entry.length < rateAt + 4) return undefined
  return known(entry.readUInt32BE(samplesAt), entry.readUInt32BE(rateAt))
}

function known(samplesPerFrame: number, rate: number): AudioFrames | undefined {
  return samplesPerFrame > 0 && rate > 0 && Number.isFinite(rate) ? { samplesPerFrame, rate } : undefined
}

/** AAC by its decoder configuration, since the entry's own rate is not used; MP3 in MP4 by the entry's rate. */
function mpegFrames(entry: Buffer, entryHertz: number): AudioFrames | undefined {
  const box = entry.indexOf('esds', 36, 'latin1')
  if (box === -1) return known(1024, entryHertz)
  const config = descriptor(entry, box + 8, 3, 3)
  const decoder = descriptor(entry, config, 4, 13)
  const objectType = entry[decoder - 13]
  if (objectType === 0x69 || objectType === 0x6b) return known(entryHertz < 32_000 ? 576 : 1152, entryHertz)
  const at = descriptor(entry, decoder, 5, 0)
  if (at === -1 || entry.length < at + 6) return known(1024, entryHertz)
  return aacFrames(entry.readUIntBE(at, 6), entryHertz)
}

/** The position after a descriptor's fixed fields; -1 if another descriptor or none begins there. */
function descriptor(entry: Buffer, start: number, tag: number, fixedBytes: number): number {
  if (start < 0 || entry[start] !== tag) return -1
  let at = start + 1
  for (let byte = 0; byte < 4 && (entry[at] ?? 0) >= 0x80; byte++) at++
  return at + 1 + fixedBytes
}

/** The first 48 bits of an AudioSpecificConfig. */
export function aacFrames(config: number, entryHertz: number): AudioFrames | undefined {
  let left = 48
  const take = (bits: number): number => {
    left -= bits
    return Math.floor(config / 2 ** left) % 2 ** bits
  }
  let profile = take(5)
  if (profile === 31) profile = 32 + take(6)
  const index = take(4)
  const rate = index === 15 ? take(24) : (aacRates[index] ?? entryHertz)
  return known(shortFrames[profile] ?? 1024, rate)
}
