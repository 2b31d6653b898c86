import t, { type Test } from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { batchClients, batchLine, makeOpenaiBatch } from '../fixtures/batch-clients.ts'
import { batchConfig, batchModels, costOf } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, usageOf, type BatchProvider, type Json } from '../fixtures/batch-provider.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'
import { googleClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

// A result of a batch without usage is charged by its content, like a single response without usage.

interface Batched {
  readonly gateway: TestGateway
  readonly provider: BatchProvider
  /** Ends the batch with these results, and returns its only charge. */
  end(
    this: void,
    rewrite: (key: string, result: Json) => Json,
    failing?: readonly string[],
  ): Promise<ChargeReport>
}

async function start(t: Test, models: object = batchModels): Promise<Batched> {
  const provider = await startBatchProvider(t)
  const gateway = await startTestGateway(t, { config: { ...batchConfig(provider.origin, 20), models } })
  return {
    gateway,
    provider,
    async end(rewrite, failing = []) {
      provider.finish(provider.lastBatch(), { hasNoTotals: true, rewrite, failing })
      await until(async () => (await gateway.charges()).length === 1)
      await noHoldIsLeft(t, gateway)
      t.same(await gateway.breaches(), [])
      return (await gateway.charges())[0] as ChargeReport
    },
  }
}

/** A result of each dialect with this text and usage. */
const shapes: Readonly<
  Record<string, (text: string, usage: (input: number, output: number) => Json) => Json>
> = {
  openai: (content, usage) => ({
    response: {
      status_code: 200,
      body: { model: 'gpt-5-nano', choices: [{ message: { content } }], ...usage(10, 5) },
    },
  }),
  anthropic: (text, usage) => ({
    result: {
      type: 'succeeded',
      message: { model: 'claude-haiku-4-5', content: [{ type: 'text', text }], ...usage(10, 5) },
    },
  }),
  google: (text, usage) => ({
    response: { candidates: [{ content: { parts: [{ text }] } }], ...usage(10, 5) },
  }),
}
const usages: Readonly<Record<string, (input?: number, output?: number) => Json>> = {
  openai: (prompt_tokens, completion_tokens) => ({ usage: { prompt_tokens, completion_tokens } }),
  anthropic: (input_tokens, output_tokens) => ({ usage: { input_tokens, output_tokens } }),
  google: (promptTokenCount, candidatesTokenCount) => ({
    usageMetadata: { promptTokenCount, candidatesTokenCount },
  }),
}
const isSecond = (key: string): boolean => key === 'b' || key === '1'

for (const client of batchClients) {
  const shape = shapes[client.name] as (typeof shapes)[string]
  const usage = usages[client.name] as (typeof usages)[string]
  /** 43 bytes, estimated as 11 tokens; the escapes of JSON are not counted. */
  const text = 'Сорок байт: ответ шесть.'
  const others = [0, 2]
  const output = others.reduce((sum, place) => sum + usageOf(place).output, 0)
  const input = others.reduce((sum, place) => sum + usageOf(place).input, 0)
  t.equal(Buffer.byteLength(text), 43)

  for (const [name, emptyUsage] of [
    ['without a usage', () => ({})],
    ['whose usage is null', () => ({ usage: null, usageMetadata: null })],
    ['whose usage is empty', () => ({ usage: {}, usageMetadata: {} })],
    ['whose usage is zeros', () => usage(0, 0)],
  ] as const) {
    await t.test(
      `${client.name}: a result ${name} is charged by its text, and by the estimated input of its request`,
      async t => {
        const { gateway, end } = await start(t)
        await client.make(gateway)
        const charge = await end((key, result) =>
          isSecond(key) ? { key, ...shape(text, emptyUsage) } : result,
        )
        t.match(charge, { usageSource: 'estimated', usage: { output: output + 11 } })
        t.match(charge.flags, ['usage_missing', 'estimate_rough'])
        const read = (charge.usage['input'] ?? 0) - input
        t.ok(read > 10 && read < 60, `${read} tokens read`)
        t.equal(Number(charge.amount) * 1e6, costOf(others) + (read * 100 + 11 * 400) / 2)
      },
    )
  }

  await t.test(
    `${client.name}: of a usage with only input or only output, the other is estimated`,
    async t => {
      const { gateway, end } = await start(t)
      await client.make(gateway)
      const charge = await end((key, result) => {
        if (key === 'a' || key === '0') return { key, ...shape(text, () => usage(500)) }
        return isSecond(key) ? { key, ...shape(text, () => usage(undefined, 7)) } : result
      })
      t.match(charge, { usageSource: 'estimated', usage: { output: 11 + 7 + usageOf(2).output } })
      t.match(charge.flags, ['estimate_rough'])
      const read = (charge.usage['input'] ?? 0) - 500 - usageOf(2).input
      t.ok(read > 10 && read < 60, `${read} tokens read`)
    },
  )

  await t.test(`${client.name}: an estimate does not exceed the cap of the request`, async t => {
    const { gateway, end } = await start(t)
    await client.make(gateway)
    const charge = await end((key, result) =>
      isSecond(key) ? { key, ...shape('x'.repeat(10_000), () => ({})) } : result,
    )
    t.match(charge, { usage: { output: output + 50 } }, 'its cap')
  })

  await t.test(`${client.name}: a failed result and an empty result are not charged`, async t => {
    const { gateway, end } = await start(t)
    await client.make(gateway)
    const charge = await end(
      (key, result) => (key === 'c' || key === '2' ? { key, ...shape('', () => ({})) } : result),
      ['b', '1'],
    )
    t.match(charge, { usageSource: 'provider', flags: ['usage_missing'] })
    t.equal(Number(charge.amount) * 1e6, costOf([0]))
  })
}

await t.test('results of each model of a batch are estimated by the requests of that model', async t => {
  const { gateway, end } = await start(t)
  const long = { messages: [{ role: 'user', content: 'word '.repeat(4000) }] }
  const lines = [batchLine('a', 'gpt-5-nano', long), batchLine('b', 'gpt-5', { max_tokens: 5 })]
  await makeOpenaiBatch(gateway, lines.join(''))
  const charge = await end((_key, result) => {
    const { response } = result as { response: { body: Json } }
    const { model } = response.body
    const choices = [{ message: { content: 'x'.repeat(400) } }]
    return { response: { status_code: 200, body: { model, choices } } }
  })
  const [nano, large] = ['gpt-5-nano-2026-01-01', 'gpt-5-2026-01-01'].map(model => {
    const lines = charge.lines.filter(line => line.model === model)
    return Object.assign({}, ...lines.map(({ meters }) => meters)) as Record<string, number>
  })
  t.match(nano, { output: 50 }, 'at its cap')
  t.ok(Number(nano?.['input']) > 4000, String(nano?.['input']))
  t.match(large, { output: 5 }, 'at its cap')
  t.ok(Number(large?.['input']) < 60, String(large?.['input']))
})

await t.test('embeddings without a usage are charged by the estimated input of their requests', async t => {
  const { gateway, end } = await start(t)
  const line = (id: string): string =>
    `${JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/embeddings', body: { model: 'embed-small', input: 'word '.repeat(400) } })}\n`
  await makeOpenaiBatch(gateway, line('a') + line('b'), '/v1/embeddings')
  const charge = await end(() => ({
    response: { status_code: 200, body: { model: 'embed-small', data: [{ embedding: [0.1] }] } },
  }))
  t.match(charge, { usageSource: 'estimated', flags: ['usage_missing', 'estimate_rough'] })
  const read = charge.usage['input'] ?? 0
  t.ok(read > 700 && read < 1000, String(read))
})

await t.test(
  'google: embeddings without a count are charged by the estimated input of their requests',
  async t => {
    const { gateway, end } = await start(t)
    await googleClient(gateway).batches.createEmbeddings({
      model: 'gemini-embedding-001',
      src: { inlinedRequests: { contents: ['word '.repeat(400), 'word '.repeat(400)] } },
    })
    const charge = await end((key, result) =>
      key === '1' ? { key, response: { embedding: { values: [1] } } } : result,
    )
    t.match(charge, { usageSource: 'estimated', flags: ['usage_missing', 'estimate_rough'] })
    const read = (charge.usage['input'] ?? 0) - usageOf(0).input
    t.ok(read > 350 && read < 500, String(read))
  },
)

await t.test('responses without a usage are charged by all their content', async t => {
  const { gateway, end } = await start(t)
  const body = { model: 'gpt-5-nano', max_output_tokens: 50, input: 'Hi' }
  const line = `${JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body })}\n`
  await makeOpenaiBatch(gateway, line, '/v1/responses')
  const output = [
    { type: 'reasoning', summary: [{ text: 'x'.repeat(20) }] },
    { type: 'function_call', arguments: 'x'.repeat(20) },
    { type: 'message', content: [{ type: 'output_text', text: 'x'.repeat(20) }] },
  ]
  const charge = await end(() => ({
    response: { status_code: 200, body: { model: 'gpt-5-nano', output, usage: null } },
  }))
  t.match(charge, { usageSource: 'estimated', usage: { output: 15 } })
})

await t.test('images without a usage are charged by the tokens of their quality', async t => {
  const image = {
    provider: 'openai',
    outputTokensMax: 10_000,
    rubPerMillion: { input: '100', imageOutput: '4000' },
  }
  const { gateway, end } = await start(t, { ...batchModels, image: { ...image, factors: { batch: '0.5' } } })
  const body = { model: 'image', prompt: 'A calm sea', quality: 'low' }
  const line = `${JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/images/generations', body })}\n`
  await makeOpenaiBatch(gateway, line, '/v1/images/generations')
  const data = [{ b64_json: 'AAAA' }, { b64_json: 'AAAA' }]
  const charge = await end(() => ({ response: { status_code: 200, body: { data, quality: 'low' } } }))
  t.match(charge, { usageSource: 'estimated', usage: { imageOutput: 816 }, amount: '1.632000' })
})

await t.test('a truncated output file with escaped text is charged by its content', async t => {
  const { gateway, provider, end } = await start(t)
  await makeOpenaiBatch(gateway, ['a', 'b'].map(id => batchLine(id, 'gpt-5-nano')).join(''))
  const isFile = (text: string): boolean => text.startsWith('{"response"')
  const escaped = (text: string): string =>
    text.replaceAll(/[^\0-\x7F]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  // The cut removes the usage of the second line.
  provider.encode(bytes => {
    const text = bytes.toString()
    return isFile(text) ? Buffer.from(escaped(text).slice(0, text.lastIndexOf('"usage"'))) : bytes
  }, 'identity')
  const charge = await end(() => {
    const body = { model: 'gpt-5-nano', choices: [{ message: { content: 'Сорок байт: ответ шесть.' } }] }
    return { response: { status_code: 200, body: { ...body, usage: {} } } }
  })
  t.match(charge, { usageSource: 'estimated' })
  t.match(charge.flags, ['usage_missing', 'answer_unreadable', 'estimate_rough'])
  t.ok((charge.usage['output'] ?? 0) >= 11, String(charge.usage['output']))
  t.ok((charge.usage['output'] ?? 0) <= 22, 'by characters, not by their escapes')
  t.ok((charge.usage['input'] ?? 0) > 20, 'the input of both is charged')
})
