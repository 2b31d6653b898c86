import fc from 'fast-check'
import t from 'tap'
import { MediaBudget, spanSource, type MediaSource } from '../../../lib/media/media-reader.ts'
import { bodyInMemory } from '../../fixtures/body-in-memory.ts'
import { measureMedia } from '../../../lib/media/measure-media.ts'
import { measureUpload } from '../../../lib/media/measure-upload.ts'
import { aacConfig, fragmentedMp4, m4aOfFrames, mp4, mpeg, webm } from '../../fixtures/media/video-files.ts'
import { avi, flv, transport } from '../../fixtures/media/older-video-files.ts'
import { pdf } from '../../fixtures/media/pdf-files.ts'
import { adts, aiff, flac, flacOfFrames, mp3, ogg, taggedMp3, wav } from '../../fixtures/media/audio-files.ts'
import { gifOfSides, jpegOfSides, pngOfSides, webpOfSides } from '../../fixtures/small-images.ts'

const seeds = [
  wav(1),
  aiff(1),
  flac(1),
  flacOfFrames(1, 5),
  m4aOfFrames(1, { type: 'mp4a', rate: 16_000, frames: 100, extension: aacConfig(2, 8) }),
  ogg(5),
  mp3(2),
  taggedMp3(1, 300),
  adts(2),
  mp4(5),
  fragmentedMp4(8),
  webm(40),
  webm(40, { isLive: true }),
  mpeg(5),
  avi(5),
  flv(5),
  transport(5),
  pdf(3),
  pdf(3, { isPacked: true }),
  pngOfSides(3, 3),
  gifOfSides(3, 3),
  jpegOfSides(3, 3),
  webpOfSides(3, 3),
  Buffer.from('0000001866747970686569630000000068656963', 'hex'),
  Buffer.from('38425053000100000000000000030000000100000001', 'hex'),
]
const readBytesMax = 2_000_000
const stepsMax = 5000

/** A file with changed bytes, cut off, and with bytes behind it. */
const changed = fc
  .record({
    seed: fc.constantFrom(...seeds),
    changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 12 }),
    cut: fc.option(fc.nat(), { nil: undefined }),
    after: fc.uint8Array({ maxLength: 40 }),
  })
  .map(({ seed, changes, cut, after }) => {
    const file = Buffer.from(seed)
    for (const [at, byte] of changes) file[at % Math.min(file.length, 400)] = byte
    return Buffer.concat([file.subarray(0, cut === undefined ? file.length : cut % file.length), after])
  })

/** A source that counts its reads and the bytes within the file. */
function counted(file: Buffer): { readonly source: MediaSource; readBytes: number; reads: number } {
  const inner = spanSource(bodyInMemory(file), 0, file.length)
  const counts = {
    readBytes: 0,
    reads: 0,
    source: {
      size: () => inner.size(),
      read(position: number, length: number) {
        counts.reads += 1
        counts.readBytes += Math.max(0, Math.min(length, file.length - position))
        return inner.read(position, length)
      },
    },
  }
  return counts
}

await t.test('measuring a damaged file stays within the bounds and never throws', async () => {
  await fc.assert(
    fc.asyncProperty(changed, async file => {
      const counts = counted(file)
      const { facts } = await measureMedia(counts.source, new MediaBudget(readBytesMax, stepsMax))
      for (const value of [facts.seconds, facts.pages, facts.width, facts.height]) {
        if (value !== undefined && !(Number.isFinite(value) && value >= 0)) return false
      }
      return facts.bytes === file.length && counts.reads <= stepsMax && counts.readBytes <= readBytesMax
    }),
    { numRuns: 1500 },
  )
})

await t.test('measuring noise behind a signature stays within the bounds and never throws', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...seeds),
      fc.nat(64),
      fc.uint8Array({ maxLength: 3000 }),
      async (seed, kept, noise) => {
        const counts = counted(Buffer.concat([seed.subarray(0, kept), noise]))
        await measureMedia(counts.source, new MediaBudget(readBytesMax, stepsMax))
        return counts.reads <= stepsMax && counts.readBytes <= readBytesMax
      },
    ),
    { numRuns: 800 },
  )
})

await t.test('a damaged upload still has its number of bytes', async () => {
  await fc.assert(
    fc.asyncProperty(changed, fc.integer({ min: 1, max: 500 }), async (file, pieceBytes) => {
      const meter = measureUpload()
      for (let at = 0; at < file.length; at += pieceBytes) meter.write(file.subarray(at, at + pieceBytes))
      return (await meter.end()).bytes === file.length
    }),
    { numRuns: 400 },
  )
})

await t.test('an aborted upload has only its number of bytes', async t => {
  const meter = measureUpload()
  meter.write(mp4(10).subarray(0, 20))
  meter.abort()
  t.same(await meter.end(), { bytes: 20 })
})

const repeated: Readonly<Record<string, Buffer>> = {
  'boxes without content': Buffer.alloc(4_000_000, Buffer.from('000000086672656500000008', 'hex')),
  'boxes in boxes': Buffer.alloc(4_000_000, Buffer.from('7fffffff6d6f6f76', 'hex')),
  'elements in elements': Buffer.alloc(4_000_000, Buffer.from('a088', 'hex')),
  'pages without content': Buffer.alloc(4_000_000, Buffer.concat([Buffer.from('OggS'), Buffer.alloc(23)])),
  'objects without content': Buffer.alloc(4_000_000, '1 0 obj '),
  'types without a name': Buffer.alloc(4_000_000, '1 0 obj /Type '),
  'streams that do not end': Buffer.alloc(4_000_000, '1 0 obj<</Length 9>>stream\n'),
  'bytes that could begin a frame': Buffer.alloc(4_000_000, 0xff),
  'frames whose checksum is wrong': Buffer.alloc(4_000_000, Buffer.from('fff8c90000', 'hex')),
}
const heads: Readonly<Record<string, Buffer>> = {
  MP4: Buffer.from('0000000c6674797069736f6d', 'hex'),
  Matroska: Buffer.from('1a45dfa380', 'hex'),
  Ogg: Buffer.alloc(0),
  PDF: Buffer.from('%PDF-1.7\n'),
  MP3: Buffer.from([0xff, 0xe3, 0x18, 0xc4]),
  FLAC: flac(1).subarray(0, 42),
}

for (const [what, filler] of Object.entries(repeated)) {
  await t.test(`measuring millions of ${what} ends with the budget`, async t => {
    for (const head of Object.values(heads)) {
      const counts = counted(Buffer.concat([head, filler]))
      await measureMedia(counts.source, new MediaBudget(readBytesMax * 4, 20_000))
      t.ok(counts.reads <= 20_000)
    }
  })
}
