import t from 'tap'
import { MediaBudget, spanSource } from '../../../lib/media/media-reader.ts'
import { bodyInMemory } from '../../fixtures/body-in-memory.ts'
import { measureMedia } from '../../../lib/media/measure-media.ts'
import { measureUpload } from '../../../lib/media/measure-upload.ts'
import {
  aacConfig,
  fragmentedMp4,
  m4aOfFrames,
  mp4,
  mpeg,
  webm,
  webmOfFrames,
} from '../../fixtures/media/video-files.ts'
import { avi, flv, transport } from '../../fixtures/media/older-video-files.ts'
import { pdf, pdfBomb, shortenedPdf } from '../../fixtures/media/pdf-files.ts'
import {
  adts,
  aiff,
  amr,
  aiffOfAudio,
  flac,
  flacOfFrames,
  mp3,
  ogg,
  oggCodings,
  oggOfPackets,
  mp3InAac,
  taggedMp3,
  wav,
  wavFormat,
  wavOfChunks,
} from '../../fixtures/media/audio-files.ts'
import { gifOfSides, jpegOfSides, png, pngOfSides, webpOfSides } from '../../fixtures/small-images.ts'

interface Expected {
  readonly mediaType: string
  readonly seconds?: number
  readonly pages?: number
  readonly width?: number
  readonly height?: number
}

const files: readonly (readonly [what: string, file: Buffer, expected: Expected])[] = [
  ['a WAV', wav(3), { mediaType: 'audio/wav', seconds: 3 }],
  ['a WAV from a pipe, without its length', wav(3, 0xffffffff - 36), { mediaType: 'audio/wav', seconds: 3 }],
  ['an AIFF', aiff(70), { mediaType: 'audio/aiff', seconds: 70 }],
  ['a WAV whose blocks are large', forged(wav(600), 32, 0xffff), { mediaType: 'audio/wav', seconds: 600 }],
  ...forgedWavs(),
  ['an MP3 in an AAC container', mp3InAac(720), { mediaType: 'audio/mpeg', seconds: 720 }],
  ['an AIFF of few frames', aiffOfAudio(1, 600), { mediaType: 'audio/aiff', seconds: 600 }],
  ['a FLAC', flac(700), { mediaType: 'audio/flac', seconds: 700 }],
  ['a FLAC of frames', flacOfFrames(150, 150), { mediaType: 'audio/flac', seconds: 150 }],
  ['a FLAC that declares one second', flacOfFrames(1, 600), { mediaType: 'audio/flac', seconds: 600 }],
  ['a FLAC of variable frames', flacOfFrames(1, 600, true), { mediaType: 'audio/flac', seconds: 600 }],
  ['a FLAC that declares no length', flacOfFrames(0, 600), { mediaType: 'audio/flac', seconds: 600 }],
  ...forgedAudio(),
  ['an Ogg', ogg(90), { mediaType: 'audio/ogg', seconds: 90 }],
  ...forgedOggs(),
  ['two Oggs in a row', Buffer.concat([ogg(90), ogg(30, 8)]), { mediaType: 'audio/ogg', seconds: 120 }],
  ['an MP3', mp3(72), { mediaType: 'audio/mpeg', seconds: 72 }],
  ['an MP3 behind a cover image', taggedMp3(72, 200_000), { mediaType: 'audio/mpeg', seconds: 72 }],
  ['an AMR', amr(600), { mediaType: 'audio/amr', seconds: 600 }],
  ['an AMR of a wide band', amr(600, true), { mediaType: 'audio/amr', seconds: 600 }],
  ['an AAC', adts(128), { mediaType: 'audio/aac', seconds: 128 }],
  ['an M4A', mp4(600, { brand: 'M4A ', handler: 'soun' }), { mediaType: 'audio/mp4', seconds: 600 }],
  ['an MP4 that is only audio', mp4(600, { handler: 'soun' }), { mediaType: 'audio/mp4', seconds: 600 }],
  ['an MP4', mp4(3600), { mediaType: 'video/mp4', seconds: 3600 }],
  [
    'an MP4 with its index last',
    mp4(3600, { dataBytes: 3_000_000, isIndexLast: true }),
    { mediaType: 'video/mp4', seconds: 3600 },
  ],
  ['an MP4 in fragments', fragmentedMp4(7200), { mediaType: 'video/mp4', seconds: 7200 }],
  ['a MOV', mp4(61, { brand: 'qt  ' }), { mediaType: 'video/quicktime', seconds: 61 }],
  ['a WebM', webm(3600), { mediaType: 'video/webm', seconds: 3600 }],
  ['a WebM as browsers record it', webm(90, { isLive: true }), { mediaType: 'video/webm', seconds: 90 }],
  ['a WebM that is only audio', webm(90, { isAudio: true }), { mediaType: 'audio/webm', seconds: 90 }],
  ...forgedWebms(),
  ['a Matroska', webm(3610, { docType: 'matroska' }), { mediaType: 'video/x-matroska', seconds: 3610 }],
  ['an MPEG', mpeg(100), { mediaType: 'video/mpeg', seconds: 100 }],
  ['an AVI', avi(3700), { mediaType: 'video/x-msvideo', seconds: 3700 }],
  ['a Flash video', flv(17_000), { mediaType: 'video/x-flv', seconds: 17_000 }],
  ['an MPEG transport stream', transport(3700), { mediaType: 'video/mp2t', seconds: 3700 }],
  ['a PNG', pngOfSides(8000, 3), { mediaType: 'image/png', width: 8000, height: 3 }],
  ['a GIF', gifOfSides(500, 60), { mediaType: 'image/gif', width: 500, height: 60 }],
  ['a WEBP', webpOfSides(2001, 7), { mediaType: 'image/webp', width: 2001, height: 7 }],
  ['a JPEG', jpegOfSides(4000, 3000), { mediaType: 'image/jpeg', width: 4000, height: 3000 }],
  [
    'a JPEG behind a megabyte of comments',
    jpegOfSides(4000, 3000, 1_000_000),
    { mediaType: 'image/jpeg', width: 4000, height: 3000 },
  ],
  ['a PDF', pdf(12), { mediaType: 'application/pdf', pages: 12 }],
  ['a PDF with an image', pdf(3, { imageBytes: 300_000 }), { mediaType: 'application/pdf', pages: 3 }],
  ['a PDF of packed objects', pdf(601, { isPacked: true }), { mediaType: 'application/pdf', pages: 601 }],
  ['a PDF that counts too few', pdf(30, { count: 1 }), { mediaType: 'application/pdf', pages: 30 }],
  ['a PDF that was shortened', shortenedPdf(30), { mediaType: 'application/pdf', pages: 1 }],
]

/** The file with 16 bits replaced, in little-endian order. */
function forged(file: Buffer, at: number, value: number): Buffer {
  file.writeUInt16LE(value, at)
  return file
}

/** WAVs of ten minutes whose headers declare less. */
function forgedWavs(): (readonly [what: string, file: Buffer, expected: Expected])[] {
  const plain = wavFormat(1)
  const fast = wavFormat(1, { hertz: 192_000, channels: 8, bits: 32 })
  const pcm = Buffer.alloc(8000 * 600, 128)
  // An upload in one iteration of the event loop keeps two megabytes, so these pieces are small.
  const slow = wavFormat(1, { hertz: 1000 })
  const half = Buffer.alloc(1000 * 300, 128)
  const compressed = (format: number, fields: Record<string, number>, data: Buffer): Buffer =>
    wavOfChunks(['fmt ', wavFormat(format, fields)], ['fact', Buffer.from([1, 0, 0, 0])], ['data', data])
  const files = [
    ['that names no length', wavOfChunks(['fmt ', plain], ['data', pcm, 0])],
    ['of two formats', wavOfChunks(['fmt ', plain], ['fmt ', fast], ['data', pcm])],
    ['of two formats, the slow one last', wavOfChunks(['fmt ', fast], ['fmt ', plain], ['data', pcm])],
    ['in two pieces', wavOfChunks(['fmt ', slow], ['data', half], ['data', half])],
    ['of A-law', compressed(6, {}, pcm)],
    ['of ADPCM', compressed(2, { blockBytes: 256, bits: 4 }, Buffer.alloc(256 * 9600))],
    ['of ADPCM of IMA', compressed(0x11, { blockBytes: 256, bits: 4 }, Buffer.alloc(256 * 9505))],
    ['of GSM', compressed(0x31, { blockBytes: 65, bits: 0 }, Buffer.alloc(1625 * 600))],
    ['of MP3', compressed(0x55, { bits: 0 }, mp3(600.048))],
  ] as const
  return files.map(([what, file]) => [`a WAV ${what}`, file, { mediaType: 'audio/wav', seconds: 600 }])
}

/** Oggs of two minutes whose pages declare less, or are not adjacent. */
function forgedOggs(): (readonly [what: string, file: Buffer, expected: Expected])[] {
  const notes: (readonly [string, Parameters<typeof oggOfPackets>[2]])[] = [
    ['declares a moment', { granule: () => 960n }],
    ['declares nothing', { granule: () => -1n & 0xffffffffffffffffn }],
    [
      'declares positions up to one second again and again',
      { granule: second => BigInt(second % 2) * 8000n },
    ],
    ['has a byte between its pages', { granule: () => 1n, between: 'O' }],
    ['has other bytes between its pages', { granule: () => 1n, between: 'Ogg'.repeat(500) }],
  ]
  return Object.entries(oggCodings).flatMap(([name, coding]) =>
    notes.map(([what, options]): readonly [string, Buffer, Expected] => [
      `an Ogg of ${name} that ${what}`,
      oggOfPackets(coding, 120, options),
      { mediaType: 'audio/ogg', seconds: 120 },
    ]),
  )
}

/** Two minutes of audio in WebM that declare a moment, or a length that is no number. */
function forgedWebms(): (readonly [what: string, file: Buffer, expected: Expected])[] {
  const vorbis = oggCodings['Vorbis']?.first ?? Buffer.alloc(0)
  const opus = { codec: 'A_OPUS', frame: Buffer.from([0x08, 0]) }
  const audio = [
    ['Opus', webmOfFrames(opus, 6000)],
    ['Opus of infinite length', webmOfFrames({ ...opus, saidMs: Infinity }, 6000)],
    ['Opus of a length that is no number', webmOfFrames({ ...opus, saidMs: NaN }, 6000)],
    ['Opus with Xiph lacing', webmOfFrames(opus, 6000, 'xiph')],
    ['Opus with fixed-size lacing', webmOfFrames(opus, 6000, 'fixed')],
    ['Opus with EBML lacing', webmOfFrames(opus, 6000, 'ebml')],
    ['Vorbis', webmOfFrames({ codec: 'A_VORBIS', codecPrivate: vorbis, frame: Buffer.from([0, 0]) }, 15_000)],
    [
      'AAC',
      webmOfFrames({ codec: 'A_AAC', codecPrivate: Buffer.from([0x14, 0x08]), frame: Buffer.alloc(9) }, 1875),
    ],
    ['AAC without configuration', webmOfFrames({ codec: 'A_AAC/MPEG4/LC', frame: Buffer.alloc(9) }, 938)],
    ['MP3', webmOfFrames({ codec: 'A_MPEG/L3', frame: mp3(0.072) }, 1667)],
    ['FLAC', webmOfFrames({ codec: 'A_FLAC', frame: oggCodings['FLAC']?.packet ?? Buffer.alloc(0) }, 120)],
  ] as const
  return audio.map(([what, file]) => [
    `a WebM of ${what}, forged`,
    file,
    { mediaType: 'audio/webm', seconds: 120 },
  ])
}

/** M4As that declare one second and contain ten minutes of frames. */
function forgedAudio(): (readonly [what: string, file: Buffer, expected: Expected])[] {
  const alac = Buffer.alloc(36)
  alac.writeUInt32BE(36)
  alac.write('alac', 4, 'latin1')
  alac.writeUInt32BE(4096, 12)
  alac.writeUInt32BE(48_000, 32)
  const flacBlock = Buffer.concat([
    Buffer.from('0000002a64664c610000000080000022', 'hex'),
    flac(1).subarray(8, 42),
  ])
  const audio = [
    ['AAC', 'mp4a', 1024, 16_000, aacConfig(2, 8)],
    ['AAC whose entry declares another rate', 'mp4a', 1024, 16_000, aacConfig(2, 8), 65_535],
    ['AAC of high efficiency', 'mp4a', 1024, 24_000, aacConfig(5, 6), 48_000],
    ['AAC of low delay', 'mp4a', 480, 48_000, aacConfig(23, 3)],
    ['AAC without a configuration', 'mp4a', 1024, 8000, undefined],
    ['ALAC', 'alac', 4096, 48_000, alac],
    ['FLAC', 'fLaC', 4096, 8000, flacBlock],
    ['Opus', 'Opus', 960, 48_000, undefined],
    ['AMR', 'samr', 160, 8000, undefined],
    ['PCM', 'sowt', 1, 8000, undefined],
  ] as const
  return audio.map(([what, type, samples, rate, extension, entryRate]) => {
    const track = { type, rate: entryRate ?? rate, frames: Math.ceil((600 * rate) / samples) }
    const file = m4aOfFrames(1, extension === undefined ? track : { ...track, extension })
    return [`an M4A of ${what} that declares one second`, file, { mediaType: 'audio/mp4', seconds: 600 }]
  })
}

for (const [what, file, expected] of files) {
  await t.test(`${what} is measured`, async t => {
    const { facts, ...problems } = await measureMedia(inMemory(file), new MediaBudget())
    t.same(problems, {})
    const seconds = facts.seconds === undefined ? {} : { seconds: Math.round(facts.seconds) }
    t.same({ ...facts, ...seconds }, { ...expected, bytes: file.length })
  })

  for (const pieceBytes of [1000, 65_536]) {
    await t.test(`${what} is measured during an upload in pieces of ${pieceBytes}`, async t => {
      const meter = measureUpload()
      for (let at = 0; at < file.length; at += pieceBytes) meter.write(file.subarray(at, at + pieceBytes))
      const facts = await meter.end()
      const seconds = facts.seconds === undefined ? {} : { seconds: Math.round(facts.seconds) }
      t.same({ ...facts, ...seconds }, { ...expected, bytes: file.length })
    })
  }
}

const broken: readonly (readonly [what: string, file: Buffer, because: RegExp])[] = [
  ['a PNG that is cut off', png(40, 40).subarray(0, 900), /cut off/],
  ['a PNG without pixels', pngOfSides(0, 5), /no pixels/],
  ['a JPEG that ends early', jpegOfSides(10, 10).subarray(0, 40), /ends before|no frame header/],
  ['a WEBP that is cut off', webpOfSides(10, 10).subarray(0, 32), /cut off/],
  ['a video without an index', mp4(10, { isIndexLast: true }).subarray(0, 100), /no index/],
  [
    'a video of boxes smaller than themselves',
    Buffer.from('00000010667479706d703432000000000000000100000000', 'hex'),
    /smaller than/,
  ],
  ['a PDF that is a bomb', pdfBomb(20_000_000), /unpacks to more than/],
]
for (const [what, file, because] of broken) {
  await t.test(`${what} is reported as broken`, async t => {
    const { brokenBecause } = await measureMedia(inMemory(file), new MediaBudget())
    t.match(brokenBecause, because)
  })
}

await t.test('a file that exceeds the budget is left unmeasured', async t => {
  const { facts, unmeasuredBecause } = await measureMedia(inMemory(mp3(7200)), new MediaBudget(200_000))
  t.equal(facts.seconds, undefined)
  t.match(unmeasuredBecause, /more work than a request may cause/)
})

function inMemory(file: Buffer): ReturnType<typeof spanSource> {
  return spanSource(bodyInMemory(file), 0, file.length)
}
