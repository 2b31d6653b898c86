import t from 'tap'
import type { Operation } from '../../../lib/dialects/dialect.ts'
import { dialects } from '../../../lib/routes/find-route.ts'
import { scanJson } from '../../../lib/http/json-scan.ts'
import { hiddenReasoning } from '../../../lib/metering/output-cap.ts'

/** The most hidden reasoning tokens of a request in OpenAI's or Anthropic's format. */
function hidden(
  providerKind: string,
  body: object,
  model = 'some-model',
  path = '/chat/completions',
): number {
  const { operation } = dialects[path === '/messages' ? 'anthropic' : 'openai'].match('POST', path)
  return hiddenIn(operation, providerKind, { model, ...body }, model)
}

/** The most hidden reasoning tokens of a request in Google's format with a thinking config. */
function hiddenByGoogle(thinkingConfig: object, model = 'gemini-2.5-flash-lite'): number {
  const { operation } = dialects.google.match('POST', `/models/${model}:generateContent`)
  return hiddenIn(operation, 'google', { generationConfig: { thinkingConfig } }, model)
}

function hiddenIn(operation: Operation, providerKind: string, body: object, model: string): number {
  const bytes = Buffer.from(JSON.stringify(body))
  const options = { foldUnderscores: providerKind === 'google' }
  const facts = operation.factsFromJson?.(scanJson(bytes, operation.interest ?? {}, options), bytes)
  return hiddenReasoning(model, providerKind, facts?.reasoning)
}

t.test('members that a provider reads limit hidden reasoning', async t => {
  t.equal(hidden('openai', { reasoning_effort: 'low' }), 8192)
  t.equal(hidden('openai', { reasoning_effort: 'none' }), 0)
  t.equal(hidden('anthropic', { thinking: { type: 'enabled', budget_tokens: 5000 } }, 'm', '/messages'), 5000)
  t.equal(hidden('anthropic', { thinking: { type: 'disabled' } }, 'm', '/messages'), 0)
  t.equal(hidden('qwen', { enable_thinking: false }), 0)
  t.equal(hidden('openrouter', { reasoning: { max_tokens: 3000 } }), 3000)
  t.equal(hidden('google', { extra_body: { google: { thinking_config: { thinking_budget: 0 } } } }), 0)
  t.equal(hidden('openai', { reasoning_effort: 'xhigh' }), Infinity, 'up to the cap')
})

t.test('members that a provider does not read never lower the limit', async t => {
  for (const body of [
    { thinking: { type: 'disabled' } },
    { thinking_budget: 0 },
    { enable_thinking: false },
    { REASONING_EFFORT: 'none' },
    { reasoning: { Effort: 'none' } },
  ]) {
    t.equal(hidden('openai', body), 16_384, JSON.stringify(body))
    t.equal(hidden('some-provider', body), 16_384)
  }
  t.equal(
    hidden('mistral', { thinking: { type: 'enabled', budget_tokens: 50_000 } }),
    50_000,
    'they may raise it',
  )
})

t.test('of contradicting members the highest limit counts', async t => {
  t.equal(hidden('openrouter', { reasoning_effort: 'low', reasoning: { max_tokens: 20_000 } }), 20_000)
  t.equal(hidden('openai', { reasoning_effort: 'low', thinking_budget: 30_000 }), 30_000)
})

t.test("numbers are read as Google's servers read them", async t => {
  t.equal(hiddenByGoogle({}), 0, 'this model thinks only on request')
  t.equal(hiddenByGoogle({ thinkingBudget: 512 }), 512)
  t.equal(hiddenByGoogle({ thinkingBudget: '24576' }), 24_576)
  t.equal(hiddenByGoogle({ thinking_budget: 512 }), 512)
  t.equal(hiddenByGoogle({ thinkingBudget: -1 }), 32_768, 'without a limit of its own')
  t.equal(hiddenByGoogle({ thinkingLevel: 'LOW' }), 8192)
  t.equal(hiddenByGoogle({ thinkingLevel: 3 }), 32_768)
  t.equal(hiddenByGoogle({ thinkingBudget: 0 }, 'gemini-2.5-flash'), 0)
})
