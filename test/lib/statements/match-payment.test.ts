import fc from 'fast-check'
import t from 'tap'
import {
  matchPayment,
  comparableNumber,
  namedInvoices,
  type Payable,
  type PayableInvoice,
} from '../../../lib/statements/match-payment.ts'

await t.test('invoices are found in purposes as people write them', async t => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['Оплата по счету № 1234 от 20.11.2026, лицевой счет 10042. НДС не облагается', ['1234 2026-11-20']],
    ['оплата по счёту №1234 от 20.11.26 за услуги', ['1234 2026-11-20']],
    ['Опл. по сч. 1234', ['1234']],
    ['сч.№ 1234 от 1.11.2026', ['1234 2026-11-01']],
    ['По счету N1234, без НДС', ['1234']],
    ['по счету No. 1234', ['1234']],
    ['Счет на оплату № 001234', ['1234']],
    ['Оплата счета А-17 от 20.11.2026 г.', ['А-17 2026-11-20']],
    ['ПОПОЛНЕНИЕ № 77 от 02.03.2026', ['77 2026-03-02']],
    ['Payment for invoice # 12', ['12']],
    ['Оплата по договору № 5 от 01.02.2026', []],
    ['Лицевой счет 10042, аванс', []],
    ['Перевод на расчетный счет 40702810200000000001', []],
    ['по счет-фактуре № 55', []],
    ['по с/ф № 55 от 20.11.2026', []],
    ['по сч/ф № 55', []],
    ['возврат по п/п № 55', []],
    ['по счетам № 12 от 20.11.2026, № 13 от 21.11.2026. НДС нет', ['12 2026-11-20', '13 2026-11-21']],
    ['по счетам №№ 12, 13 и 14', ['12', '13', '14']],
    ['сч.12 от 20.11.2026 г.; сч.13 от 21.11.2026 г.', ['12 2026-11-20', '13 2026-11-21']],
    ['Счета А-1 + А-2', ['А-1', 'А-2']],
    ['по счету № 12, 5 шт, 1000 руб., 22%', ['12']],
    ['по счету № 12, лицевой счет 13', ['12']],
    ['счет от 20.11.2026', []],
    ['НДС 22% - 2226.15', []],
    ['Отчет 12', []],
    ['', []],
  ]
  for (const [purpose, expected] of cases) {
    t.same(
      namedInvoices(purpose).map(({ number, date }) => (date === undefined ? number : `${number} ${date}`)),
      expected,
      purpose,
    )
  }
})

await t.test('a purpose of 3,000 characters in any order is read within half a second', async t => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('с', 'ч', 'е', 'т', ' ', '№', '1', '.', 'о', '-'), maxLength: 3000 }),
      purpose => {
        const begin = performance.now()
        namedInvoices(purpose)
        return performance.now() - begin < 500
      },
    ),
  )
  t.pass()
})

const mine: PayableInvoice = {
  id: 'i-1',
  accountId: 'a-1',
  number: '1234',
  date: '2026-11-20',
  amount: 1_000_000,
  open: 1_000_000,
  inn: '7736207543',
  isCanceled: false,
  isAccountDeleted: false,
}

function payableOf(...invoices: readonly PayableInvoice[]): Payable {
  return {
    invoicesByNumber: number => invoices.filter(one => comparableNumber(one.number) === number),
    accountsByInn: inn => [...new Set(invoices.filter(one => one.inn === inn).map(one => one.accountId))],
  }
}

const purpose = 'Оплата по счету № 1234 от 20.11.2026'
const payment = { amount: 1_000_000, payerInn: mine.inn, purpose }

await t.test('a payment is credited to its invoice, or queued with the reason', async t => {
  const payable = payableOf(mine)

  t.match(matchPayment(payment, payable), {
    kind: 'credit',
    rule: 1,
    parts: [{ invoice: { id: 'i-1' }, amount: 1_000_000 }],
  })
  t.match(matchPayment({ ...payment, amount: 999_999 }, payable), {
    kind: 'credit',
    rule: 2,
    parts: [{ invoice: { id: 'i-1' }, amount: 999_999 }],
  })
  t.same(matchPayment({ ...payment, purpose: 'Аванс' }, payable), {
    kind: 'queue',
    reason: 'payer-known',
    accountIds: ['a-1'],
  })
  t.same(matchPayment({ ...payment, payerInn: '7707083893' }, payable), {
    kind: 'queue',
    reason: 'payer-other',
    accountIds: ['a-1'],
  })
  t.same(matchPayment({ ...payment, payerInn: '' }, payable), {
    kind: 'queue',
    reason: 'payer-other',
    accountIds: ['a-1'],
  })
  t.same(matchPayment({ ...payment, payerInn: '', purpose: 'Привет' }, payable), {
    kind: 'queue',
    reason: 'payer-unknown',
    accountIds: [],
  })
})

await t.test('invoices with the same number are distinguished by date, then by sum', async t => {
  const older = { ...mine, id: 'i-0', date: '2025-03-01', amount: 500_000, open: 500_000 }
  const payable = payableOf(older, mine)

  t.match(matchPayment(payment, payable), { parts: [{ invoice: { id: 'i-1' } }] })
  t.match(matchPayment({ ...payment, purpose: 'счет 1234 от 01.03.2025' }, payable), {
    rule: 2,
    parts: [{ invoice: { id: 'i-0' } }],
  })
  t.match(matchPayment({ ...payment, amount: 500_000, purpose: 'счет 1234' }, payable), {
    rule: 1,
    parts: [{ invoice: { id: 'i-0' } }],
  })
  t.match(matchPayment({ ...payment, amount: 7, purpose: 'счет 1234' }, payable), {
    rule: 2,
    parts: [{ invoice: { id: 'i-1' } }],
  })
  const paid = { ...older, amount: 7, open: 0 }
  t.match(
    matchPayment({ ...payment, amount: 7, purpose: 'счет 1234' }, payableOf(paid, mine)),
    { rule: 2, parts: [{ invoice: { id: 'i-1' }, amount: 7 }] },
    'a paid invoice is not paid again, even with its exact sum',
  )
})

await t.test('a payment that names several invoices pays them in order', async t => {
  const one = { ...mine, id: 'i-1', number: '1', open: 700_000 }
  const two = { ...mine, id: 'i-2', number: '2', date: '2026-11-21' }
  const payable = payableOf(one, two)
  const both = 'Оплата по счетам № 1 от 20.11.2026, № 2 от 21.11.2026'
  const paid = (amount: number, purpose = both, of = payable) => {
    const match = matchPayment({ ...payment, amount, purpose }, of)
    return match.kind === 'queue'
      ? match.reason
      : [match.rule, ...match.parts.map(part => `${part.invoice.id} ${part.amount}`)].join(', ')
  }

  t.equal(paid(1_700_000), '1, i-1 700000, i-2 1000000')
  t.equal(paid(900_000), '2, i-1 700000, i-2 200000')
  t.equal(paid(500_000), '2, i-1 500000')
  t.equal(paid(2_000_000), '2, i-1 700000, i-2 1300000')
  t.equal(paid(1_000_000), '1, i-2 1000000', 'the exact sum of one of them pays that one')
  t.equal(paid(1_700_000, 'счета 1 и 2'), '1, i-1 700000, i-2 1000000')
  t.equal(paid(1_700_000, 'сч. 1 от 20.11.2026, сч. 1 от 20.11.2026'), '2, i-1 1700000')
  t.equal(paid(1_700_000, both, payableOf(one, { ...two, open: 0 })), '2, i-1 1700000')
  t.equal(paid(1_700_000, both, payableOf(one, { ...two, isCanceled: true })), '2, i-1 1700000')
  t.equal(paid(1_700_000, both, payableOf(one, { ...two, inn: '7707083893' })), '2, i-1 1700000')
  t.equal(paid(1_700_000, both, payableOf(one, { ...two, accountId: 'a-2' })), 'ambiguous')
})

await t.test('a cancelled invoice, and one INN with two accounts, are queued for a person', async t => {
  const cancelled = { ...mine, isCanceled: true }
  const other = { ...mine, id: 'i-2', accountId: 'a-2' }

  t.match(matchPayment(payment, payableOf(cancelled)), {
    kind: 'queue',
    reason: 'invoice-cancelled',
    accountIds: ['a-1'],
  })
  t.match(matchPayment(payment, payableOf(mine, other)), {
    kind: 'queue',
    reason: 'ambiguous',
    accountIds: ['a-1', 'a-2'],
  })
  t.match(matchPayment(payment, payableOf(cancelled, other)), {
    kind: 'credit',
    parts: [{ invoice: { id: 'i-2' } }],
  })
})

await t.test('money is never credited to a payer with another INN', async t => {
  const inn = fc.constantFrom('7736207543', '7707083893', '500100732259', '')
  const invoice = fc.record({
    id: fc.uuid(),
    accountId: fc.constantFrom('a-1', 'a-2', 'a-3'),
    number: fc.constantFrom('1', '12', '1234'),
    date: fc.constantFrom('2025-11-20', '2026-11-20'),
    amount: fc.constantFrom(100, 200),
    open: fc.constantFrom(0, 50, 100),
    inn,
    isCanceled: fc.boolean(),
    isAccountDeleted: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.array(invoice, { maxLength: 8 }),
      inn,
      fc.constantFrom('счет 1', 'счет 12 от 20.11.2026', 'сч 1234', '№ 12', 'аванс', 'счета 1, 12 и 1234'),
      fc.constantFrom(40, 100, 150, 1000),
      (invoices, payerInn, purpose, amount) => {
        const match = matchPayment({ amount, payerInn, purpose }, payableOf(...invoices))
        if (match.kind === 'queue') return true
        const { parts, accountId } = match
        return (
          payerInn !== '' &&
          parts.reduce((sum, part) => sum + part.amount, 0) === amount &&
          (parts.length > 1 || (match.rule === 1) === (parts[0]?.invoice.amount === amount)) &&
          parts.every(
            ({ invoice, amount: part }) =>
              part > 0 &&
              invoice.accountId === accountId &&
              invoice.inn === payerInn &&
              !invoice.isCanceled &&
              !invoice.isAccountDeleted &&
              purpose.includes(invoice.number),
          )
        )
      },
    ),
    { numRuns: 1000 },
  )
  t.pass()
})
