import fc from 'fast-check'
import t from 'tap'
import { countTokens, type TextToCount, boundedPieces } from '../../../lib/metering/count-tokens.ts'

/** Counts with a tokeniser that records its texts. */
function countedTexts(
  form: TextToCount['form'],
  bytes: string | Buffer,
): { texts: string[]; messages: number } {
  const texts: string[] = []
  const { messages } = countTokens({ form, bytes: Buffer.from(bytes) }, text => texts.push(text))
  return { texts, messages }
}

await t.test('pieces join to the text, and none has a long run', async () => {
  const run = fc
    .tuple(fc.constantFrom('a', ' ', '\n', '的', '😀', 'word ', '\u2003'), fc.integer({ min: 1, max: 400 }))
    .map(([text, count]) => text.repeat(count))
  fc.assert(
    fc.property(fc.array(fc.oneof(run, fc.string()), { maxLength: 60 }), parts => {
      const text = parts.join('')
      const pieces = boundedPieces(text)
      return (
        pieces.join('') === text &&
        pieces.every(
          piece => piece.length > 0 && piece.length <= 8192 + 128 && !/[^\s]{129}| {129}/.test(piece),
        )
      )
    }),
  )
})

await t.test('ordinary text is cut only before blanks', async t => {
  const pieces = boundedPieces('Twelve words. '.repeat(2000))
  t.equal(pieces.length, 4)
  t.ok(pieces.slice(1).every(piece => piece.startsWith(' ')))
})

await t.test('the prompt of a request is its texts, tools and schemas', async t => {
  const request = {
    model: 'gpt-5',
    service_tier: 'auto',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'image_url', image_url: { url: '' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '42' },
    ],
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
  }
  t.same(countedTexts('prompt', JSON.stringify(request)), {
    texts: ['Be brief.\nHello\n\n42', JSON.stringify(request.tools)],
    messages: 3,
  })
  const google = {
    contents: [{ parts: [{ text: 'Hi' }] }],
    generationConfig: { responseSchema: { type: 'STRING' } },
  }
  t.same(countedTexts('prompt', JSON.stringify(google)), { texts: ['Hi', '{"type":"STRING"}'], messages: 1 })
})

await t.test('cut JSON is counted as text with its escapes resolved', async t => {
  const cut = '{"content":"\\u041f\\u0440\\u0438\\u0432\\u0435\\u0442\\n\\"you\\" \\ud83d\\ude00 and \\'
  t.same(countedTexts('prompt', cut).texts, ['{"content":"Привет\n"you" 😀 and \\'])
  t.same(countedTexts('escaped', 'a\\\\n\\tb').texts, ['a\\n\tb'])
  t.same(countedTexts('plain', 'a\\n').texts, ['a\\n'])
  t.same(
    countedTexts('plain', Buffer.from('Привет').subarray(0, -1)).texts,
    ['Приве\ufffd'],
    'a cut character is no error',
  )
})

await t.test('deep nesting does not overflow the stack', async t => {
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  t.doesNotThrow(() => countedTexts('prompt', `{"tools":${deep(100_000)}}`))
  t.doesNotThrow(() => countedTexts('prompt', `{"messages":${deep(100_000)}}`))
})
