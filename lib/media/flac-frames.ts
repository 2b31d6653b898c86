import { believedSeconds } from './believed-seconds.ts'
import type { MediaReader } from './media-reader.ts'
import { MediaUnreadableError } from './media-source.ts'

/** Beyond so many bytes the rest is taken to be like what came before. */
const walkedBytesMax = 67_108_864
/** The longest header of a frame. */
const headerBytesMax = 16
/** Places that look like the beginning of a frame and are none. Chance makes one in 32 KB. */
const falseStartsMax = 100_000
/** Of frames of a fixed and of a variable size. */
const syncs = [Buffer.from([0xff, 0xf8]), Buffer.from([0xff, 0xf9])]
const blocksMax = 1000
/** Hertz by the code in a frame's header; 0 stands for the rate of the stream. */
const rates = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]
const crc8 = Uint8Array.from({ length: 256 }, (_, value) => {
  let crc = value
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) === 0 ? crc << 1 : (crc << 1) ^ 0x107
  return crc
})

/**
 * The length of a FLAC stream (RFC 9639): what its first block says, unless its frames hold more.
 * @throws MediaUnreadableError
 */
export async function flacSeconds(reader: MediaReader, start: number): Promise<number | undefined> {
  const info = await reader.read(start + 8, 18)
  if (info.length < 18) return undefined
  const rate = info.readUIntBE(10, 3) >> 4
  if (rate === 0) return undefined
  const saidSeconds = (((info[13] as number) & 15) * 2 ** 32 + info.readUInt32BE(14)) / rate
  return believedSeconds(saidSeconds, await framesSeconds(reader, await afterBlocks(reader, start + 4), rate))
}

async function afterBlocks(reader: MediaReader, start: number): Promise<number> {
  let position = start
  for (let block = 0; block < blocksMax; block++) {
    const head = await reader.read(position, 4)
    if (head.length < 4) return position
    position += 4 + head.readUIntBE(1, 3)
    if (((head[0] as number) & 0x80) !== 0) return position
  }
  throw new MediaUnreadableError('It has more blocks of metadata than any recording needs.')
}

async function framesSeconds(reader: MediaReader, start: number, rate: number): Promise<number> {
  let position = start
  let seconds = 0
  let falseStarts = 0
  while (position - start < walkedBytesMax) {
    const window = await reader.window(position, headerBytesMax)
    if (window.length < headerBytesMax) break
    const end = window.length - headerBytesMax + 1
    for (const sync of syncs) {
      for (let at = window.indexOf(sync); at !== -1 && at < end; at = window.indexOf(sync, at + 1)) {
        const length = frameSeconds(window, at, rate)
        if (length === undefined) falseStarts++
        else seconds += length
      }
    }
    if (falseStarts > falseStartsMax) throw new MediaUnreadableError('Its frames cannot be told from noise.')
    position += end
  }
  const walked = position - start
  return walked < walkedBytesMax ? seconds : (seconds * ((await reader.size()) - start)) / walked
}

/** Undefined where no frame begins: the checksum of its header has to be right, as players want it. */
function frameSeconds(bytes: Buffer, at: number, streamRate: number): number | undefined {
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

/** The bytes of the frame's number, which is written as UTF-8 is. */
function numberBytes(first: number): number {
  return first < 0xc0 ? 1 : Math.min(7, Math.clz32(~(first << 24)))
}
