import fc from 'fast-check'
import t from 'tap'
import { get_encoding } from 'tiktoken'
import { TextDensity } from '../../../lib/http/text-density.ts'

const encodings = [get_encoding('o200k_base'), get_encoding('cl100k_base')]
t.teardown(() => encodings.forEach(encoding => encoding.free()))

/** The tokens of a text, written as in JSON. */
function tokensOf(text: string): { readonly most: number; readonly likely: number } {
  const density = new TextDensity()
  density.add(Buffer.from(JSON.stringify(text).slice(1, -1)))
  return density.tokens
}

/** Plain letters and texts dense in tokens: digits, punctuation, rare pairs, other scripts, emoji, controls. */
const alphabets = [
  'abcdefghijklmnopqrstuvwxyz',
  'qzxjvkw',
  'etaoin ',
  'the and of to ',
  '0123456789',
  'a1b2 ',
  'ABCxyz',
  '{}[]":,\\n ',
  ' \n\t\r',
  'абвгдежзийклмнопрстуфхцчшщъыьэюя ',
  'АБВЁё.,',
  'αβγδάέ',
  'אבגדשל',
  '漢字仮名混在文',
  '㐀㐁㐂㐃',
  '🪿🫎👩‍👩‍👧😀',
  '\u0000\u0001ÿĀ𝔘',
].map(alphabet => fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 200 }))

t.test('no text has more tokens than the upper bound, in either encoding', async () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...alphabets), { maxLength: 4 }), parts => {
      const text = parts.join('')
      const { most } = tokensOf(text)
      return encodings.every(encoding => encoding.encode(text, [], []).length <= most)
    }),
    { numRuns: 3000 },
  )
})

t.test('the likely tokens of prose and source are within 15 percent of the real number', async t => {
  const { readFileSync } = await import('node:fs')
  for (const file of [
    'README.md',
    'ARCHITECTURE.md',
    'lib/http/json-scanner.ts',
    'lib/account-area/texts/charges.ts',
  ]) {
    const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    const real = encodings[0]?.encode(text, [], []).length ?? 0
    const { likely, most } = tokensOf(text)
    t.ok(Math.abs(likely / real - 1) < 0.15, `${file}: ${likely} for ${real}`)
    t.ok(most / real < 3.5, `${file}: ${most} at most`)
  }
})

t.test('a text in two pieces has the same tokens as in one', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(), (text, cut) => {
      const bytes = Buffer.from(JSON.stringify(text).slice(1, -1))
      const density = new TextDensity()
      const middle = bytes.length === 0 ? 0 : cut % bytes.length
      density.add(bytes, 0, middle)
      density.add(bytes, middle)
      return JSON.stringify(density.tokens) === JSON.stringify(tokensOf(text))
    }),
  )
})
