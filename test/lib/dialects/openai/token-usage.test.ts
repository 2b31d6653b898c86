import fc from 'fast-check'
import t from 'tap'
import { measureTokens } from '../../../../lib/dialects/openai/openai-reader.ts'
import { UsageFields } from '../../../../lib/dialects/measure.ts'
import type { Meters } from '../../../../lib/money/usage.ts'

function measure(usage: unknown, providerKind = 'openai') {
  const flags = new Set<string>()
  const measured = measureTokens(new UsageFields(usage, flags), providerKind)
  return { meters: measured?.meters, details: measured?.details, flags: [...flags] }
}

function total(meters: Meters | undefined, names: readonly (keyof Meters)[]): number {
  return names.reduce((sum, name) => sum + (meters?.[name] ?? 0), 0)
}

await t.test('cached tokens, cache writes, audio and images are subtracted from the prompt', async t => {
  const { meters, flags } = measure({
    prompt_tokens: 100,
    completion_tokens: 30,
    total_tokens: 130,
    prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 20, audio_tokens: 10, image_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 12, audio_tokens: 8 },
  })
  t.same(meters, {
    cachedInput: 40,
    cacheWrite5m: 20,
    audioInput: 10,
    imageInput: 5,
    input: 25,
    audioOutput: 8,
    output: 22,
  })
  t.same(flags, [])
})

await t.test('reasoning is part of the output, and is also in the details', async t => {
  const usage = { input_tokens: 1, output_tokens: 9, output_tokens_details: { reasoning_tokens: 7 } }
  const { meters, details } = measure(usage)
  t.same(meters, { input: 1, output: 9 })
  t.same(details, { reasoning: 7 })
})

await t.test('explicit zero is zero and absent is absent', async t => {
  t.same(measure({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }).meters, { input: 0, output: 0 })
  t.same(measure({ prompt_tokens: 5, total_tokens: 5 }).meters, { input: 5 })
  t.equal(measure({ cost_in_usd_ticks: 5 }).meters, undefined)
  t.equal(measure({}).meters, undefined)
  t.equal(measure(null).meters, undefined)
})

const xaiUsage = {
  prompt_tokens: 12,
  completion_tokens: 1,
  total_tokens: 303,
  completion_tokens_details: { reasoning_tokens: 290 },
}

await t.test('xAI counts reasoning beside the completion in chat, and within it in responses', async t => {
  t.same(measure(xaiUsage, 'xai').meters, { input: 12, output: 291 })
  t.same(measure(xaiUsage, 'xai').flags, [])
  const within = { ...xaiUsage, completion_tokens: 291 }
  t.same(measure(within, 'xai').meters, { input: 12, output: 291 })
})

await t.test('tokens that only the total counts are flagged for other providers', async t => {
  t.same(measure(xaiUsage).meters, { input: 12, output: 1 })
  t.same(measure(xaiUsage).flags, ['usage_inconsistent'])
  t.same(measure({ prompt_tokens: 9, completion_tokens: 9, total_tokens: 1 }, 'xai').flags, [
    'usage_inconsistent',
  ])
})

await t.test("Gemini's OpenAI endpoint counts thinking only in the total", async t => {
  const usage = { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 }
  t.same(measure(usage, 'google').meters, { input: 35, output: 74 })
  t.same(measure(usage, 'google').flags, [])
})

await t.test('Mistral counts audio beside the prompt', async t => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 201,
    total_tokens: 585,
    prompt_audio_seconds: 4,
    prompt_tokens_details: { audio_tokens: 375 },
  }
  t.same(measure(usage, 'mistral').meters, { audioInput: 375, audioSeconds: 4, input: 9, output: 201 })
  t.same(measure(usage, 'mistral').flags, [])
})

await t.test('cached tokens are read under the names of every provider', async t => {
  const prompt = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 }
  const named = [
    { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 },
    { num_cached_tokens: 4 },
    { cached_tokens: 4 },
    { prompt_tokens_details: { cached_tokens: 4 } },
    { prompt_tokens_details: null, cached_tokens: 4 },
  ]
  for (const names of named) {
    t.same(measure({ ...prompt, ...names }).meters, { cachedInput: 4, input: 6, output: 1 })
  }
})

await t.test('more cached tokens than prompt tokens are clamped to the prompt and flagged', async t => {
  const { meters, flags } = measure({
    prompt_tokens: 10,
    completion_tokens: 1,
    prompt_tokens_details: { cached_tokens: 32 },
  })
  t.same(meters, { cachedInput: 10, input: 0, output: 1 })
  t.same(flags, ['usage_inconsistent'])
})

await t.test('cached audio is not counted twice', async t => {
  const { meters, flags } = measure({
    input_tokens: 100,
    output_tokens: 1,
    input_token_details: {
      audio_tokens: 60,
      cached_tokens: 50,
      cached_tokens_details: { audio_tokens: 30, text_tokens: 20 },
    },
  })
  t.same(meters, { cachedAudioInput: 30, cachedInput: 20, audioInput: 30, input: 20, output: 1 })
  t.same(flags, [])
})

await t.test('an invalid count is flagged and ignored', async t => {
  for (const broken of [-1, '7.5', 1.5, Infinity, 2 ** 60, true, {}]) {
    const { meters, flags } = measure({ prompt_tokens: broken, completion_tokens: 3 })
    t.same(meters, { output: 3 })
    t.same(flags, ['usage_invalid'])
  }
  t.same(measure({ prompt_tokens: '7', completion_tokens: 3 }), {
    ...measure({ prompt_tokens: 7, completion_tokens: 3 }),
    flags: ['usage_as_text'],
  })
  t.same(measure(JSON.parse('{"prompt_tokens":1e400,"completion_tokens":3}')).flags, ['usage_invalid'])
})

await t.test('searches are read from the counter that the provider bills', async t => {
  const tokens = { prompt_tokens: 1, completion_tokens: 1 }
  const counted = [
    { num_sources_used: 3 },
    { num_search_queries: 3 },
    { server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1 }, num_sources_used: 9 },
    { server_tool_use_details: { web_search_requests: 3 } },
    { plugins: { search: { count: 3, strategy: 'agent' } } },
    { x_tools: { web_search: { count: 2 }, web_search_image: { count: 1 }, web_extractor: { count: 9 } } },
    { x_tools: { web_search: { count: 3 } }, x_details: [{ plugins: { web_search: { count: 3 } } }] },
    { x_details: [{ plugins: { web_search: { count: 2 }, file_search: { count: 1 } } }] },
  ]
  for (const counters of counted) t.equal(measure({ ...tokens, ...counters }).meters?.searches, 3)
  t.equal(measure({ ...tokens, num_sources_used: 0 }).meters?.searches, undefined)
})

await t.test('the cost that a provider reports is in the details', async t => {
  const tokens = { prompt_tokens: 1, completion_tokens: 1 }
  t.equal(measure({ ...tokens, cost: 0.5 }).details?.['costUsd'], 0.5)
  t.equal(measure({ ...tokens, cost: { total_cost: 0.25 } }).details?.['costUsd'], 0.25)
  t.equal(measure({ ...tokens, cost_in_usd_ticks: 7 }).details?.['costUsdTicks'], 7)
})

await t.test("Perplexity's request fee depends on the size of the search context", async t => {
  const flags = new Set<string>()
  const usage = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21, search_context_size: 'low' }
  const measured = measureTokens(new UsageFields(usage, flags), 'perplexity')
  t.same(measured?.meters, { requests: 1, input: 9, output: 12 })
  t.equal(measured?.variant, 'low')
})

await t.test('the meters always add up to the totals of the provider', async () => {
  const count = fc.option(fc.nat(1000), { nil: undefined })
  const usage = fc.record({
    prompt_tokens: fc.nat(1000),
    completion_tokens: fc.nat(1000),
    prompt_tokens_details: fc.record({
      cached_tokens: count,
      cache_write_tokens: count,
      audio_tokens: count,
      image_tokens: count,
    }),
    completion_tokens_details: fc.record({
      audio_tokens: count,
      image_tokens: count,
      reasoning_tokens: count,
    }),
  })
  fc.assert(
    fc.property(usage, value => {
      const { meters } = measure(value)
      const input = total(meters, [
        'input',
        'cachedInput',
        'cacheWrite5m',
        'audioInput',
        'cachedAudioInput',
        'imageInput',
      ])
      const output = total(meters, ['output', 'audioOutput', 'imageOutput'])
      const isWhole = Object.values(meters ?? {}).every(units => units >= 0)
      return isWhole && input === value.prompt_tokens && output === value.completion_tokens
    }),
  )
})
