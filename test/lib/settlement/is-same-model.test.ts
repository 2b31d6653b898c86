import fc from 'fast-check'
import t from 'tap'
import { isSameModel } from '../../../lib/settlement/settle.ts'

await t.test('snapshots, aliases and reordered names are the same model', async t => {
  // From recorded exchanges, or from the providers' lists of aliases.
  const same = [
    ['claude-sonnet-4-0', 'claude-sonnet-4-20250514'],
    ['claude-3-7-sonnet-latest', 'claude-3-7-sonnet-20250219'],
    ['anthropic/claude-3-5-sonnet-20241022', 'anthropic/claude-3.5-sonnet'],
    ['anthropic/claude-haiku-4.5', 'anthropic/claude-4.5-haiku-20251001'],
    ['anthropic/claude-sonnet-4.6', 'anthropic/claude-4.6-sonnet-20260217'],
    ['deepseek-chat', 'deepseek-v4-flash'],
    ['gpt-5.6', 'gpt-5.6-sol'],
    ['text-embedding-ada-002', 'text-embedding-ada-002-v2'],
    ['gpt-3.5-turbo-instruct', 'gpt-3.5-turbo-instruct:20230824-v2'],
    ['davinci-002', 'davinci:2023-07-21-v2'],
    ['gemini-flash-latest', 'gemini-3.6-flash'],
    ['gemini-2.5-flash', 'models/gemini-2.5-flash-preview-05-20'],
    ['gpt-4o', 'gpt-4o-2024-08-06'],
  ] as const
  for (const [requested, answered] of same)
    t.ok(isSameModel(answered, requested), `${requested} answered by ${answered}`)
})

await t.test('other sizes and versions are other models', async t => {
  const others = [
    ['gpt-4o', 'gpt-4o-mini'],
    ['gpt-5', 'gpt-5.6'],
    ['gpt-5.6', 'gpt-5.6-luna'],
    ['grok-3-mini', 'grok-4.3'],
    ['grok-4-0709', 'grok-4.3'],
    ['pixtral-12b', 'ministral-14b-latest'],
    ['google/gemini-2.0-flash-exp:free', 'x-ai/grok-4'],
    ['gemini-flash-latest', 'gemini-3.6-pro'],
    ['claude-opus-4', 'claude-opus-5'],
    ['llama-3.1-8b', 'llama-3.1-70b'],
  ] as const
  for (const [requested, answered] of others)
    t.notOk(isSameModel(answered, requested), `${requested}, ${answered}`)
})

await t.test('any name is the same as itself, and long names are compared within half a second', async t => {
  fc.assert(
    fc.property(fc.string({ maxLength: 2000 }), name => isSameModel(name, name)),
    { numRuns: 500 },
  )
  const startedAt = performance.now()
  isSameModel('-12-12'.repeat(10_000), '-12-12'.repeat(10_001))
  t.ok(performance.now() - startedAt < 500)
})
