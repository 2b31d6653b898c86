import t from 'tap'
import { BatchInputReader } from '../../../../lib/dialects/openai/batch-input.ts'
import type { BatchFacts } from '../../../../lib/money/batch-facts.ts'

type Fields = Record<string, unknown>

function line(body: Fields, more: Fields = {}): string {
  return `${JSON.stringify({ custom_id: 'x', method: 'POST', url: '/v1/chat/completions', body, ...more })}\n`
}

function read(...lines: readonly string[]): BatchFacts {
  const reader = new BatchInputReader()
  for (const text of lines) reader.push(Buffer.from(text))
  return reader.end()
}

const messages = [{ role: 'user', content: 'Hi' }]

await t.test('requests are summed by model and endpoint', async t => {
  const facts = read(
    line({ model: 'a', max_tokens: 10, messages }),
    line({ model: 'a', max_tokens: 20, n: 3, messages }),
    line({ model: 'a', messages }),
    line({ model: 'b', input: 'x' }, { url: '/v1/embeddings' }),
  )
  t.equal(facts.requests, 4)
  t.equal(facts.problem, undefined)
  t.match(facts.shares, [
    {
      model: 'a',
      endpoint: '/v1/chat/completions',
      mainMeter: 'output',
      firstAt: 'line 1',
      requests: 3,
      outputTokensCapped: 70,
      candidatesCapped: 4,
      candidatesUncapped: 1,
    },
    { model: 'b', endpoint: '/v1/embeddings', mainMeter: 'input', firstAt: 'line 4', requests: 1 },
  ])
  const [share] = facts.shares
  t.ok(share !== undefined && share.textBytes > share.textBytesLongest)
})

await t.test('images are counted by model, size and quality; free endpoints are marked', async t => {
  const url = '/v1/images/generations'
  const facts = read(
    line({ model: 'p', prompt: 'x', n: 2, size: '1024x1024', quality: 'high' }, { url }),
    line({ model: 'p', prompt: 'x', size: '1024x1024', quality: 'high' }, { url }),
    line({ model: 'p', prompt: 'x', size: 'auto' }, { url }),
    line({ prompt: 'x' }, { url }),
    line({ model: 'm', input: [{ type: 'text', text: 'x' }] }, { url: '/v1/moderations' }),
  )
  t.equal(facts.problem, undefined)
  t.match(facts.shares, [
    {
      model: 'p',
      mainMeter: 'images',
      requests: 2,
      units: { images: 3 },
      unitsVariant: '1024x1024/high',
      candidatesUncapped: 3,
    },
    { model: 'p', requests: 1, units: { images: 1 }, unitsVariant: undefined },
    { model: 'dall-e-2', units: { images: 1 } },
    { model: 'm', isFree: true, units: undefined },
  ])
})

await t.test('the body may come before its url', async t => {
  const body = { model: 'a', max_output_tokens: 7, input: 'Hi' }
  const text = JSON.stringify({ body, url: '/v1/responses', method: 'POST', custom_id: 'x' })
  t.match(read(text), {
    problem: undefined,
    shares: [{ model: 'a', endpoint: '/v1/responses', outputTokensCapped: 7 }],
  })
})

await t.test('the larger of two caps counts, of those that the endpoint reads', async t => {
  const capped = (caps: Fields) => read(line({ model: 'a', messages, ...caps })).shares

  t.match(capped({ max_tokens: 1, max_completion_tokens: 900 }), [{ outputTokensCapped: 900 }])
  t.match(capped({ max_tokens: 7, max_output_tokens: 900 }), [{ outputTokensCapped: 7 }])
  t.match(capped({ max_output_tokens: 1 }), [{ candidatesCapped: 0, candidatesUncapped: 1 }])
  t.match(capped({ MAX_TOKENS: 1 }), [{ candidatesCapped: 0, candidatesUncapped: 1 }])
})

await t.test('requests capped by max_completion_tokens form a share of their own', async t => {
  const facts = read(
    line({ model: 'a', max_tokens: 10, messages }),
    // Not every provider reads this member.
    line({ model: 'a', max_completion_tokens: 20, messages }),
  )
  t.match(facts.shares, [
    { outputTokensCapped: 10, isCompletionCapped: undefined },
    { outputTokensCapped: 20, isCompletionCapped: true },
  ])
})

await t.test('inline images do not count as text, and files are named with their lines', async t => {
  const image = `data:image/png;base64,${Buffer.alloc(3000).toString('base64')}`
  const content = [
    { type: 'image_url', image_url: { url: image } },
    { type: 'file', file: { file_id: 'file-1' } },
  ]
  const facts = read(
    line({ model: 'a', messages }),
    line({ model: 'a', messages: [{ role: 'user', content }] }),
  )
  t.match(facts.objects, [{ kind: 'file', id: 'file-1', at: 'line 2' }])
  t.match(facts.shares, [{ media: { image: { count: 1, bytes: 3000 } } }])
  t.ok((facts.shares[0]?.textBytes ?? 0) < 1000, 'the image is not counted as text')
})

const wrong: readonly (readonly [string, string, RegExp, string])[] = [
  ['no JSON', '{"custom_id": nope}\n', /not valid JSON/, 'line 2'],
  ['no model', line({ messages }), /names no model/, 'line 2'],
  ['a number for a model', line({ model: 5, messages }), /must be a string/, 'line 2'],
  ['another method', line({ model: 'a', messages }, { method: 'GET' }), /"method": "POST"/, 'line 2'],
  ['no body', `${JSON.stringify({ method: 'POST', url: '/v1/chat/completions' })}\n`, /"body"/, 'line 2'],
  ['a model named twice', line({ model: 'a', Model: 'b', messages }), /twice/, 'line 2'],
  ['an invalid cap', line({ model: 'a', max_tokens: -1, messages }), /whole number/, 'line 2'],
]

for (const [what, text, message, at] of wrong) {
  await t.test(`a line with ${what} is reported, and only the first such line`, async t => {
    const { problem } = read(line({ model: 'a', messages }), text, 'more of it\n')
    t.equal(problem?.at, at)
    t.match(problem?.message, message)
  })
}

await t.test('more than 50,000 lines are refused', async t => {
  const reader = new BatchInputReader()
  const lines = Buffer.from(line({ model: 'a', messages }).repeat(1000))
  for (let thousand = 0; thousand < 50; thousand += 1) reader.push(lines)
  reader.push(Buffer.from(line({ model: 'a', messages })))
  const { problem } = reader.end()
  t.equal(problem?.at, 'line 50001')
  t.match(problem?.message, /at most 50000/)
})
