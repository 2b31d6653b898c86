import t from 'tap'
import fc from 'fast-check'
import {
  cleanCompanyDetails,
  companyProblems,
  describeProblem,
  parsePersonName,
  shortName,
  type CompanyDetails,
} from '../../../lib/companies/company-details.ts'
import { company, soleProprietor } from '../../fixtures/companies.ts'

/** The problems of valid details with one value changed: `inn: has 9 digits ...`. */
function problemsWith(change: Partial<CompanyDetails>, base: CompanyDetails = company): string[] {
  return companyProblems(cleanCompanyDetails({ ...base, ...change })).map(
    ({ field, problem }) => `${field}: ${describeProblem(problem)}`,
  )
}

await t.test('valid details of a legal entity and of a sole proprietor have no problem', async t => {
  t.same(problemsWith({}), [])
  t.same(problemsWith({}, soleProprietor), [])
})

await t.test('the problem of a wrong value names its field and what to do', async t => {
  const cases: readonly (readonly [Partial<CompanyDetails>, RegExp, CompanyDetails?])[] = [
    [{ inn: '7736207544' }, /^inn: has 4 as digit 10, which checks the others and must be 3; compare/],
    [{ inn: '' }, /^inn: is missing$/],
    [{ kpp: '' }, /^kpp: is missing$/],
    [{ kpp: '770401001' }, /^kpp: must be absent: a sole proprietor has none$/, soleProprietor],
    [{ ogrn: '10277002291' }, /^ogrn: has 11 digits; it must have 13$/],
    [{ name: '' }, /^name: is missing$/],
    [{ name: 'ИП Кузнецов' }, /^name: must be surname, name and patronymic/, soleProprietor],
    [
      { name: 'ООО \u202eакшамоР' },
      /^name: has U\+202E as its character 5, which cannot be printed; remove it$/,
    ],
    [{ name: 'ООО 株式' }, /^name: has "株" \(U\+682A\) as its character 5/],
    [{ name: 'я'.repeat(1001) }, /^name: has 1001 characters; at most 1000 fit$/],
    [{ email: 'buh@' }, /^email: must be an email address/],
    [{ ediId: '2BM/../etc' }, /^ediId: must be an id/],
    [{ signer: { name: 'Петров', position: 'Директор' } }, /^signer\.name: must be surname/],
    [
      { bank: { name: 'Банк', bic: '044525225', account: '40702810500000000002', correspondentAccount: '' } },
      /^bank\.correspondentAccount: is missing$/,
    ],
  ]
  for (const [change, expected, base] of cases) {
    const found = problemsWith(change, base)
    t.equal(found.length, 1, found.join('; '))
    t.match(found[0], expected)
  }
})

await t.test('stray spaces are removed, and empty parts become absent', async t => {
  const cleaned = cleanCompanyDetails({
    ...company,
    name: ' ООО\u00a0 «Ромашка»\n',
    inn: '7736 207 543',
    ediId: ' ',
    bank: { name: '', bic: ' ', account: '', correspondentAccount: '' },
    signer: { name: '', position: '' },
  })

  const { bank, signer, ediId, ...rest } = company
  t.ok(bank !== undefined && signer !== undefined && ediId !== undefined)
  t.same(cleaned, rest)
})

await t.test(
  'any typed text is valid or has a described problem, and cleaning twice changes nothing',
  async t => {
    const text = fc.string({ unit: 'binary', maxLength: 30 })
    const details = fc.record({
      kind: fc.constantFrom('company' as const, 'sole' as const),
      name: text,
      inn: fc.oneof(text, fc.stringMatching(/^\d{10,12}$/)),
      kpp: text,
      ogrn: text,
      address: text,
      email: text,
      ediId: text,
      bank: fc.record({ name: text, bic: text, account: text, correspondentAccount: text }),
      signer: fc.record({ name: text, position: text }),
    })

    fc.assert(
      fc.property(details, typed => {
        const cleaned = cleanCompanyDetails(typed)
        t.same(cleanCompanyDetails(cleaned), cleaned)
        return companyProblems(cleaned).every(({ problem }) => describeProblem(problem).length > 5)
      }),
      { numRuns: 300 },
    )
  },
)

await t.test('names of people are split into the parts that the tax service’s formats need', async t => {
  t.same(parsePersonName('Петров Пётр Петрович'), {
    surname: 'Петров',
    name: 'Пётр',
    patronymic: 'Петрович',
  })
  t.same(parsePersonName('ИП Гусейнов Али Вагиф оглы'), {
    surname: 'Гусейнов',
    name: 'Али',
    patronymic: 'Вагиф оглы',
  })
  t.same(parsePersonName('Индивидуальный предприниматель Ли Анна'), { surname: 'Ли', name: 'Анна' })
  t.equal(parsePersonName('Петров'), undefined)
  t.equal(shortName('Петров Пётр Петрович'), 'Петров П. П.')
  t.equal(shortName('ИП Ли Анна'), 'Ли А.')
})
