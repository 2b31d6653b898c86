import fc from 'fast-check'
import t from 'tap'
import { payeeBytesOver, paymentCode } from '../../../lib/companies/seller.ts'
import { seller } from '../../fixtures/companies.ts'

await t.test('a payment code is the string of GOST R 56042-2014', async t => {
  t.equal(
    paymentCode(seller, 1_234_500, 'Оплата по счету № 1234 от 20.11.2026'),
    'ST00012|Name=ООО «Шлюз»|PersonalAcc=40702810200000000001|BankName=ПАО Сбербанк|BIC=044525225|' +
      'CorrespAcc=30101810400000000225|PayeeINN=7707083893|KPP=773601001|Sum=1234500|' +
      'Purpose=Оплата по счету № 1234 от 20.11.2026',
  )
  t.equal(payeeBytesOver(seller), 0)
  t.equal(payeeBytesOver({ ...seller, name: 'я'.repeat(100) }), 17)
})

await t.test('the code splits into its values at its separator, with any characters in them', async t => {
  const text = fc.string({
    unit: fc.constantFrom('я', '=', '|', '~', '^', ' ', '»'),
    minLength: 1,
    maxLength: 20,
  })

  fc.assert(
    fc.property(text, text, fc.nat(1e11), (name, purpose, amount) => {
      const code = paymentCode({ ...seller, name }, amount, purpose)
      const separator = code.charAt(7)
      const parts = new Map(
        code
          .slice(8)
          .split(separator)
          .map(part => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
      )
      return (
        code.startsWith('ST00012') &&
        parts.get('Name') === name &&
        parts.get('Purpose') === purpose &&
        parts.get('Sum') === String(amount) &&
        parts.size === 9
      )
    }),
  )
  t.throws(() => paymentCode({ ...seller, name: '|~^`' }, 1, 'x'), /every separator/)
})
