import type { MediaReader } from './media-reader.ts'

const chunksMax = 1000
/** Formats of WAV whose samples take the bits that the header names: PCM, floats, and either by an extension. */
const plainFormats = new Set([1, 3, 0xfffe])
/** Of AIFF-C, the types that are not compressed; plain AIFF names none. */
const plainTypes = new Set([
  '',
  'NONE',
  'sowt',
  'twos',
  'raw ',
  'in24',
  'in32',
  'fl32',
  'fl64',
  'FL32',
  'FL64',
])

/**
 * How long the samples of a WAV or AIFF play, by the bytes they fill: its other fields (the bytes of a block, the
 * number of frames) may say less than players find. 0 where samples are compressed, or none are found.
 */
export async function pcmSeconds(reader: MediaReader): Promise<number> {
  const isAiff = (await reader.read(0, 4)).toString('latin1') === 'FORM'
  const size = await reader.size()
  let bytesPerSecond = 0
  let soundBytes = 0
  let position = 12
  for (let chunk = 0; chunk < chunksMax; chunk++) {
    const head = await reader.read(position, 48)
    if (head.length < 8) break
    const type = head.toString('latin1', 0, 4)
    const named = isAiff ? head.readUInt32BE(4) : head.readUInt32LE(4)
    if (type === 'fmt ' && head.length >= 24) bytesPerSecond = wavRate(head)
    if (type === 'COMM' && head.length >= 26) bytesPerSecond = aiffRate(head, named)
    // Players of a recording from a pipe, which names no length, play to the end.
    if (type === (isAiff ? 'SSND' : 'data')) soundBytes = Math.min(named, size - position - 8)
    if (bytesPerSecond > 0 && soundBytes > 0) return soundBytes / bytesPerSecond
    position += 8 + named + (named % 2)
  }
  return 0
}

function wavRate(head: Buffer): number {
  if (!plainFormats.has(head.readUInt16LE(8))) return 0
  return (head.readUInt16LE(10) * head.readUInt32LE(12) * head.readUInt16LE(22)) / 8
}

function aiffRate(head: Buffer, named: number): number {
  const type = named > 18 ? head.toString('latin1', 26, 30) : ''
  if (!plainTypes.has(type)) return 0
  // Hertz as an 80-bit float: an exponent, and 64 bits of which the first 32 say enough.
  const hertz = head.readUInt32BE(18) * 2 ** (head.readUInt16BE(16) - 16_383 - 31)
  return Number.isFinite(hertz) ? (head.readUInt16BE(8) * hertz * head.readUInt16BE(14)) / 8 : 0
}
