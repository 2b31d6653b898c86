import fc from 'fast-check'
import t from 'tap'
import {
  checkInn,
  checkKpp,
  checkOgrn,
  checkAccount,
  checkBic,
  checkCorrespondentAccount,
  cleanNumber,
  type NumberProblem,
} from '../../../lib/companies/company-numbers.ts'

await t.test('numbers of real companies and banks are valid', async t => {
  t.equal(checkInn('7707083893', 'company'), undefined, 'Sberbank')
  t.equal(checkInn('7736207543', 'company'), undefined, 'Yandex')
  t.equal(checkInn('500100732259', 'sole'), undefined, "the tax service's own example")
  t.equal(checkKpp('773601001'), undefined)
  t.equal(checkKpp('7736AB001'), undefined)
  t.equal(checkOgrn('1027700132195', 'company'), undefined)
  t.equal(checkOgrn('304500116000157', 'sole'), undefined)
  t.equal(checkBic('044525225'), undefined)
  t.equal(checkCorrespondentAccount('30101810400000000225', '044525225'), undefined)
  t.equal(checkAccount('40702810200000000001', '044525225'), undefined)
})

await t.test('the problem names the check digit that does not match', async t => {
  t.same(checkInn('7707083894', 'company'), { kind: 'checkDigit', position: 10, found: '4', expected: '3' })
  t.same(checkInn('500100732269', 'sole'), { kind: 'checkDigit', position: 11, found: '6', expected: '5' })
  t.same(checkInn('500100732250', 'sole'), { kind: 'checkDigit', position: 12, found: '0', expected: '9' })
  t.same(checkOgrn('1027700132190', 'company'), {
    kind: 'checkDigit',
    position: 13,
    found: '0',
    expected: '5',
  })
  t.same(checkAccount('40702810900000000002', '044525225'), {
    kind: 'checkDigit',
    position: 9,
    found: '9',
    expected: '5',
  })
})

await t.test('the problem of a malformed number names the position, the length or the prefix', async t => {
  t.same(checkInn('77070838', 'company'), { kind: 'length', found: 8, expected: [10] })
  t.same(checkInn('7707083893', 'sole'), { kind: 'length', found: 10, expected: [12] })
  t.same(checkInn('77O7083893', 'company'), { kind: 'character', position: 3, found: 'O' })
  t.same(checkInn('0000000000', 'company'), { kind: 'prefix', found: '00', expected: ['01…99'] })
  t.same(checkKpp('7736А1001'), { kind: 'character', position: 5, found: 'А' }, 'a Cyrillic letter')
  t.same(checkKpp('001234567'), { kind: 'prefix', found: '00', expected: ['01…99'] })
  t.same(checkOgrn('3027700132195', 'company'), { kind: 'prefix', found: '3', expected: ['1', '5'] })
  t.same(checkBic('944525225'), { kind: 'prefix', found: '9', expected: ['0'] })
  t.same(checkCorrespondentAccount('40702810900000000002', '044525225'), {
    kind: 'prefix',
    found: '407',
    expected: ['301', '401'],
  })
  t.equal(cleanNumber(' 7707 083\u00a0893 '), '7707083893')
})

/** Digits that pass a check: each check digit that it reports as wrong is replaced by the expected one. */
function passing(length: number, prefix: string, check: (text: string) => NumberProblem | undefined) {
  return fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length })
    .map(digits => prefix + digits.join('').slice(prefix.length))
    .map(text => {
      let fixed = text
      for (let problem = check(fixed); problem?.kind === 'checkDigit'; problem = check(fixed)) {
        fixed = fixed.slice(0, problem.position - 1) + problem.expected + fixed.slice(problem.position)
      }
      return fixed
    })
}

await t.test('an account number with any one digit wrong is invalid', async t => {
  const kinds: readonly (readonly [
    string,
    fc.Arbitrary<string>,
    (text: string) => NumberProblem | undefined,
  ])[] = [
    [
      'an account',
      passing(20, '407', text => checkAccount(text, '044525225')),
      text => checkAccount(text, '044525225'),
    ],
    [
      'a correspondent account',
      passing(20, '301', text => checkCorrespondentAccount(text, '044525225')),
      text => checkCorrespondentAccount(text, '044525225'),
    ],
  ]
  for (const [name, numbers, check] of kinds) {
    fc.assert(
      fc.property(numbers, fc.nat(19), fc.integer({ min: 1, max: 9 }), (number, at, change) => {
        const wrong = number.slice(0, at) + ((Number(number[at]) + change) % 10) + number.slice(at + 1)
        return check(number) === undefined && check(wrong) !== undefined
      }),
    )
    t.pass(name)
  }
})

await t.test(
  'a wrong check digit of a taxpayer or register number is invalid, the right one is valid',
  async t => {
    const kinds = [
      [passing(10, '77', text => checkInn(text, 'company')), (text: string) => checkInn(text, 'company')],
      [passing(12, '50', text => checkInn(text, 'sole')), (text: string) => checkInn(text, 'sole')],
      [passing(13, '1', text => checkOgrn(text, 'company')), (text: string) => checkOgrn(text, 'company')],
      [passing(15, '3', text => checkOgrn(text, 'sole')), (text: string) => checkOgrn(text, 'sole')],
    ] as const
    for (const [numbers, check] of kinds) {
      fc.assert(
        fc.property(numbers, fc.integer({ min: 1, max: 9 }), (number, change) => {
          const last = number.length - 1
          const wrong = number.slice(0, last) + ((Number(number[last]) + change) % 10)
          const problem = check(wrong)
          return (
            check(number) === undefined && problem?.kind === 'checkDigit' && problem.expected === number[last]
          )
        }),
      )
    }
    t.pass()
  },
)
