import fc from 'fast-check'
import t from 'tap'
import { money } from '../../../../lib/web/format.ts'
import { typedRoubles } from '../../../../lib/web/http/read-form.ts'

const rouble = 1_000_000

await t.test('amounts are read as typed and pasted in each language', t => {
  for (const [typed, ru, en] of [
    ['1500', 1500, 1500],
    ['1 500,50', 1500.5, 1500.5],
    ['1\u00a0500,50\u00a0₽', 1500.5, 1500.5],
    ['1\u202f500,50 руб.', 1500.5, 1500.5],
    [' 500 рублей ', 500, 500],
    ['500р.', 500, 500],
    ['500 RUB', 500, 500],
    ["1'500.50", 1500.5, 1500.5],
    ['1.500,50', 1500.5, 1500.5],
    ['1,500.50', 1500.5, 1500.5],
    ['1,500', 1.5, 1500],
    ['1.500', 1.5, 1.5],
    ['0,500', 0.5, 0.5],
    ['1,500,000', 1_500_000, 1_500_000],
    ['100,555', 100.555, 100_555],
    ['0,000001', 0.000001, 0.000001],
  ] as const) {
    t.equal(typedRoubles(typed, 'ru'), Math.round(ru * rouble), `${typed} in Russian`)
    t.equal(typedRoubles(typed, 'en'), Math.round(en * rouble), `${typed} in English`)
  }
  t.end()
})

await t.test('a text that is no amount above zero is refused, and an empty text is reported as empty', t => {
  const wrong = [
    '0',
    '0,00',
    '-5',
    '+5',
    '1e9',
    'сто',
    '₽',
    '1,2345678',
    '99999999999',
    '1,50,000',
    '1.2.3',
    '5 5,5.5',
    '½',
    '<b>',
  ]
  for (const language of ['ru', 'en'] as const) {
    for (const typed of wrong) t.equal(typedRoubles(typed, language), undefined, typed)
    t.equal(typedRoubles(' \u00a0', language), 'empty')
  }
  t.end()
})

await t.test('an amount shown on a page can be pasted into its fields', t => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 99_999_999 }), fc.constantFrom('ru', 'en'), (kopecks, language) => {
      const micros = kopecks * 10_000
      return typedRoubles(money(micros, language), language) === micros
    }),
  )
  t.end()
})
