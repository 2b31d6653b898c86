import t from 'tap'
import type { MediaPart } from '../../../lib/http/media-part.ts'
import { mediaAllowance } from '../../../lib/metering/media-allowance.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import type { Meters } from '../../../lib/money/usage.ts'

const byToken = buildPrice({ model: 'm', rubPerMillion: { input: '1', output: '1' } })
const bySecond = buildPrice({ model: 'm', rubPerUnit: { audioSeconds: '1' } })

function part(kind: MediaPart['kind'], facts: Partial<MediaPart> = {}): MediaPart {
  return { path: 'p', kind, bodyStart: 0, bodyBytes: 0, ...facts }
}

const cases: readonly (readonly [what: string, part: MediaPart, expected: Meters])[] = [
  ['an image of unknown size', part('image', { bytes: 9 }), { imageInput: 1600 }],
  ['a small image', part('image', { width: 10, height: 10 }), { imageInput: 258 }],
  ['an image of 20 by 30 tiles', part('image', { width: 560, height: 840 }), { imageInput: 600 }],
  ['a large image, which is scaled down', part('image', { width: 8000, height: 8000 }), { imageInput: 1600 }],
  ['audio of known length', part('audio', { bytes: 99, seconds: 10.5 }), { audioInput: 336 }],
  ['audio of unknown length', part('audio', { bytes: 16_000 }), { audioInput: 64 }],
  ['a video of known length', part('video', { bytes: 99, seconds: 7200 }), { imageInput: 2_160_000 }],
  ['a video of unknown length', part('video', { bytes: 250_000 }), { imageInput: 600 }],
  ['a PDF with a known number of pages', part('document', { bytes: 99, pages: 7 }), { input: 17_500 }],
  ['a document', part('document', { bytes: 120_000 }), { input: 5000 }],
]
for (const [what, media, expected] of cases) {
  await t.test(`${what} has its likely units`, async t => {
    t.same(mediaAllowance([media], byToken, 'openai'), expected)
  })
}

await t.test('audio priced by the second is held by its length', async t => {
  t.same(mediaAllowance([part('audio', { bytes: 5, seconds: 61.25 })], bySecond, 'openai'), {
    audioSeconds: 61.25,
  })
  t.same(mediaAllowance([part('audio', { bytes: 16_000 })], bySecond, 'openai'), { audioSeconds: 2 })
  t.same(mediaAllowance([part('audio', { bytes: 5, seconds: 0.5 })], bySecond, 'groq'), { audioSeconds: 10 })
})
