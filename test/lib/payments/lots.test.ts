import fc from 'fast-check'
import t from 'tap'
import { usedByPayment, type MoneyMoved } from '../../../lib/payments/offsets.ts'

const credit = (id: string, amountMicros: number): MoneyMoved => ({ id, kind: 'credit', amountMicros })
const debit = (id: string, amountMicros: number): MoneyMoved => ({
  id,
  kind: 'debit',
  amountMicros: -amountMicros,
})

await t.test('money is used in the order in which it was received', t => {
  const moved = [credit('starting:x', 50), credit('payment:a', 100), credit('payment:b', 100)]
  const payments = [
    { id: 'a', netMicros: 100 },
    { id: 'b', netMicros: 60 },
  ]
  for (const [charged, a, b] of [
    [0, 0, 0],
    [50, 0, 0],
    [51, 1, 0],
    [150, 100, 0],
    [180, 100, 30],
    [999, 100, 60],
    [-5, 0, 0],
  ] as const) {
    t.strictSame(
      [...usedByPayment(moved, payments, charged)],
      [
        ['a', a],
        ['b', b],
      ],
      `${charged}`,
    )
  }
  t.end()
})

await t.test('refunds, repayments and reversed transfers are no usage', t => {
  const moved = [
    credit('transfer:1', 1000),
    credit('payment:a', 100),
    debit('transfer-undone:1', 1000),
    debit('refund:r', 40),
    credit('refund-canceled:s', 30),
    { id: 'repayment:z', kind: 'repayment', amountMicros: -20 },
  ]
  t.strictSame([...usedByPayment(moved, [{ id: 'a', netMicros: 60 }], 20)], [['a', 20]])
  t.end()
})

await t.test('the used sums never exceed the charged total, nor what is left of each payment', t => {
  const lot = fc.record({
    isPayment: fc.boolean(),
    amount: fc.integer({ min: 1, max: 1000 }),
    returned: fc.double({ min: 0, max: 1, noNaN: true }),
    withdrawn: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(lot, { maxLength: 8 }), fc.nat(5000), (lots, charged) => {
      const payments = lots.map(({ amount, returned }, index) => ({
        id: String(index),
        netMicros: amount - Math.floor(amount * returned),
      }))
      const moved = lots.flatMap(({ isPayment, amount, withdrawn }, index) =>
        isPayment
          ? [credit(`payment:${index}`, amount)]
          : [credit(`credit:${index}`, amount), ...(withdrawn ? [debit(`debit:${index}`, amount)] : [])],
      )
      const used = usedByPayment(moved, payments, charged)
      const more = usedByPayment(moved, payments, charged + 100)
      const sum = [...used.values()].reduce((total, one) => total + one, 0)
      const isBounded = [...used].every(
        ([id, one]) => one >= 0 && one <= (payments[Number(id)]?.netMicros ?? 0),
      )
      return sum <= charged && isBounded && [...used].every(([id, one]) => one <= (more.get(id) ?? 0))
    }),
  )
  t.end()
})
