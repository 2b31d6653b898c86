export const flacHeaderBytesMax = 16
/** Hertz by the code in a frame's header; 0 means the rate of the stream. */
const rates = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]
const crc8 = Uint8Array.from({ length: 256 }, (_, value) => {
  let crc = value
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) === 0 ? crc << 1 : (crc << 1) ^ 0x107
  return crc
})

/**
 * How long the FLAC frame that starts here plays; undefined where there is none. Like players, it requires that the
 * checksum of the frame's header is right.
 */
export function flacFrameSeconds(bytes: Buffer, at: number, streamRate: number): number | undefined {
  const third = bytes[at + 2] as number
  const fourth = bytes[at + 3] as number
  const isReserved = third >> 4 === 0 || (third & 15) === 15 || fourth >> 4 > 10 || (fourth & 1) !== 0
  if (isReserved) return undefined
  let next = at + 4 + numberBytes(bytes[at + 4] as number)
  const sizeCode = third >> 4
  let samples = sizeCode === 1 ? 192 : sizeCode < 6 ? 576 << (sizeCode - 2) : 256 << (sizeCode - 8)
  if (sizeCode === 6) samples = (bytes[next++] as number) + 1
  if (sizeCode === 7) {
    samples = bytes.readUInt16BE(next) + 1
    next += 2
  }
  const rateCode = third & 15
  let rate = rates[rateCode] ?? 0
  if (rateCode === 12) rate = (bytes[next++] as number) * 1000
  if (rateCode > 12) {
    rate = bytes.readUInt16BE(next) * (rateCode === 13 ? 1 : 10)
    next += 2
  }
  let crc = 0
  for (let index = at; index < next; index++) crc = crc8[crc ^ (bytes[index] as number)] as number
  return crc === bytes[next] ? samples / (rate === 0 ? streamRate : rate) : undefined
}

/** The length of the frame's number, which has UTF-8's encoding. */
function numberBytes(first: number): number {
  return first < 0xc0 ? 1 : Math.min(7, Math.clz32(~(first << 24)))
}

/** How many bytes identify a frame of MPEG audio or of AAC. */
export const frameHeaderBytes = 8
const adtsRates = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350]
const mpegRates = [44100, 48000, 32000]
/** kbit/s by version 1 or 2, then layer 1, 2, 3. */
const bitrates: readonly (readonly (readonly number[])[])[] = [
  [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
]

/** One of a row of frames without a container. */
interface Frame {
  readonly bytes: number
  readonly seconds: number
  readonly isAac: boolean
}

/** How long the consecutive MPEG audio frames that start here play; 0 where there is none. */
export function mpegFramesSeconds(bytes: Buffer, start: number, end: number): number {
  let seconds = 0
  let at = start
  while (at + frameHeaderBytes <= bytes.length && at < end) {
    const frame = frameAt(bytes, at)
    if (frame === undefined) break
    seconds += frame.seconds
    at += frame.bytes
  }
  return at < end && at >= bytes.length ? (seconds * (end - start)) / (at - start) : seconds
}

/** The frame of MPEG audio, or of AAC in ADTS, that starts here; undefined where there is none. */
export function frameAt(bytes: Buffer, at: number): Frame | undefined {
  const second = bytes[at + 1] as number
  if (bytes[at] !== 0xff || (second & 0xe0) !== 0xe0) return undefined
  const third = bytes[at + 2] as number
  const layer = 4 - ((second >> 1) & 3)
  if (layer === 4) return adtsFrame(bytes, at, third)
  const version = (second >> 3) & 3 // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
  const rate = mpegRates[(third >> 2) & 3]
  const bitrate = bitrates[version === 3 ? 0 : 1]?.[layer - 1]?.[third >> 4]
  if (version === 1 || rate === undefined || bitrate === undefined || bitrate === 0) return undefined
  const hertz = version === 3 ? rate : version === 2 ? rate / 2 : rate / 4
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152
  const padding = (third >> 1) & 1
  const length =
    layer === 1
      ? (Math.floor((12_000 * bitrate) / hertz) + padding) * 4
      : Math.floor((samples * 125 * bitrate) / hertz) + padding
  return { bytes: Math.max(frameHeaderBytes, length), seconds: samples / hertz, isAac: false }
}

function adtsFrame(bytes: Buffer, at: number, third: number): Frame | undefined {
  if (((bytes[at + 1] as number) & 0xf0) !== 0xf0) return undefined
  const hertz = adtsRates[(third >> 2) & 15]
  const length =
    (((bytes[at + 3] as number) & 3) << 11) |
    ((bytes[at + 4] as number) << 3) |
    ((bytes[at + 5] as number) >> 5)
  if (hertz === undefined || length < frameHeaderBytes) return undefined
  const blocks = ((bytes[at + 6] as number) & 3) + 1
  return { bytes: length, seconds: (1024 * blocks) / hertz, isAac: true }
}
