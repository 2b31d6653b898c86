import fc from 'fast-check'
import t from 'tap'
import { amountMicrosMax, formatRoubles, parseRoubles } from '../../../lib/money/amount.ts'

await t.test('roubles are read exactly', async t => {
  t.equal(parseRoubles('100.00'), 100_000_000)
  t.equal(parseRoubles('0.001234'), 1234)
  t.equal(parseRoubles('0.1'), 100_000)
  t.equal(parseRoubles('7'), 7_000_000)
  t.equal(parseRoubles('1000000000'), amountMicrosMax)
})

await t.test('a text that is no plain amount is refused', async t => {
  const wrong = [
    '',
    ' 1',
    '1 ',
    '1.',
    '.5',
    '-1',
    '+1',
    '1e3',
    '0x10',
    '1,5',
    '1.0000001',
    'NaN',
    'Infinity',
    '1_0',
  ]
  for (const text of wrong) t.throws(() => parseRoubles(text), RangeError, `"${text}"`)
  t.throws(() => parseRoubles('1000000000.000001'), /more than the largest/)
  t.throws(() => parseRoubles('999999999999'), /more than the largest/)
})

await t.test('amounts are written with six decimals', async t => {
  t.equal(formatRoubles(0), '0.000000')
  t.equal(formatRoubles(1234), '0.001234')
  t.equal(formatRoubles(100_000_000), '100.000000')
  t.equal(formatRoubles(-1), '-0.000001')
  t.equal(formatRoubles(-2_500_000), '-2.500000')
  t.throws(() => formatRoubles(0.5), RangeError)
  t.throws(() => formatRoubles(NaN), RangeError)
})

await t.test('a written amount reads as the same amount', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: amountMicrosMax }),
      micros => parseRoubles(formatRoubles(micros)) === micros,
    ),
  )
})
