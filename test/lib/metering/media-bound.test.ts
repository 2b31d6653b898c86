import t from 'tap'
import type { MediaPart } from '../../../lib/http/media-part.ts'
import type { Price } from '../../../lib/money/price.ts'
import { mediaBound } from '../../../lib/metering/media-bound.ts'

const price: Price = {
  hash: '',
  model: 'm',
  rubPerMillion: { input: '1' },
  rubPerUnit: {},
  above: [],
  factors: {},
}
const windowTokens = 200_000

const tokensOf = (
  part: Pick<MediaPart, 'kind'> & Partial<MediaPart>,
  upstreamModelName: string,
  providerKind: string,
) =>
  mediaBound(
    { path: '', bodyStart: 0, bodyBytes: 0, ...part },
    { price, providerKind, upstreamModelName, windowTokens, framesPerSecond: 1 },
  )[1]

await t.test('a small image counts by the size to which its provider scales it', async t => {
  const pixel = { kind: 'image', width: 1, height: 1 } as const
  for (const [model, provider, billed, why] of [
    ['qwen3-vl-plus', 'qwen', 16_384, 'min_pixels enlarges it'],
    ['qwen/qwen3-vl-235b-a22b-instruct', 'openrouter', 16_384, 'the same model at another provider'],
    ['grok-4', 'xai', 512, 'one tile and one overview'],
    ['kimi-k2.5', 'moonshot', 1024, 'the same for every image'],
    ['meta-llama/Llama-4-Maverick', 'together', 3201, 'tiles of 1,600'],
  ] as const)
    t.ok(tokensOf(pixel, model, provider) >= billed, `${provider}: ${why}`)
  t.ok(tokensOf(pixel, 'gemini-2.5-flash', 'google') <= 258, 'known models count as documented')
  t.ok(tokensOf({ kind: 'image', width: 8000, height: 8000 }, 'grok-4', 'xai') >= 20_000)
})

await t.test('a video is bounded by its length where the provider limits its frames', async t => {
  const minute = { kind: 'video', seconds: 60 } as const
  t.equal(tokensOf(minute, 'gemini-2.5-flash', 'google'), 60 * 312)
  t.equal(tokensOf(minute, 'google/gemini-2.5-flash', 'openrouter'), 60 * 312)
  for (const [model, provider] of [
    ['qwen3-vl-plus', 'qwen'],
    ['kimi-k2.5', 'moonshot'],
    ['glm-4.6v', 'zai'],
  ] as const)
    t.equal(
      tokensOf(minute, model, provider),
      windowTokens,
      `${provider} accepts any size and rate of frames`,
    )
})
