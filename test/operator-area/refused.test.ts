import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { documentCodes } from '../../lib/documents/document.ts'
import { rateCodes } from '../../lib/prices/rate-book.ts'
import { statementCodes } from '../../lib/statements/statement.ts'
import { textsOf } from '../../lib/operator-area/texts/texts.ts'
import { sellerSection } from '../fixtures/companies.ts'
import { statementLines } from '../fixtures/bank-statement.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, { payments: { provider: 'sandbox' }, seller: sellerSection })
const { email } = await area.signUp()
const id = await area.accountOf(email)
await area.test.accounts.credit({ accountId: id, amountMicros: 50_000_000, reason: 'r' })
const desk = await area.operator('owner')
const page = `/customers/${id}`
const reason = 'потому что'

for (const [language, balance, deletion, alarm] of [
  ['ru', /Столько снять нельзя\. Доступно: 50,00\u00A0₽\./, /Удалить счёт нельзя/, /Такой тревоги нет/],
  [
    'en',
    /This amount cannot be withdrawn\. Available: 50\.00\u00A0₽\./,
    /cannot be deleted/,
    /no such alarm/,
  ],
] as const) {
  await t.test(`refusals are in the language of the page: ${language}`, async t => {
    desk.headers['accept-language'] = language

    const debit = await desk.post(`${page}/debit`, { rub: '100,50', reason }, { from: page })
    const deleted = await desk.post(`${page}/delete`, { reason }, { from: page })
    const takenAlarm = await desk.post('/alarms/none/take', {}, { from: '/alarms' })

    for (const [{ status, text }, words] of [
      [debit, balance],
      [deleted, deletion],
      [takenAlarm, alarm],
    ] as const) {
      t.equal(status, 422)
      t.match(text, words)
      t.notMatch(text, /roubles cannot be|the account cannot|there is no alarm/)
    }
    const { stdout } = await area.run('balance', '--account', id, '--json')
    t.match(stdout, '"balance":"50.000000"')
  })
}

await t.test('every code of a refused change has texts in both languages', t => {
  const lib = join(import.meta.dirname, '..', '..', 'lib')
  const thrown = globSync('**/*.ts', { cwd: lib }).flatMap(file =>
    [...readFileSync(join(lib, file), 'utf8').matchAll(/new AccountError\(\s*'(\w+)'/g)].map(
      ([, code = '']) => code,
    ),
  )
  t.ok(thrown.length > 20)
  for (const language of ['ru', 'en'] as const) {
    t.same(
      thrown.filter(code => !Object.hasOwn(textsOf(language).refusals, code)),
      [],
    )
  }
  t.end()
})

for (const [language, statement, uploaded, month, transfer, rate] of [
  [
    'ru',
    /Строка 1\. Это не выписка банка/,
    /Строка \d+\. ВсегоПоступило: 1,00\u00A0₽, а документы с 2026-11-01 по 2026-11-30 дают 700,00\u00A0₽/,
    /Месяц 2098-01 ещё не начался/,
    /Перевода none-such нет/,
    /Курс за 2026-01-01 не ждёт подтверждения/,
  ],
  [
    'en',
    /Line 1\. This is no bank statement/,
    /Line \d+\. ВсегоПоступило is 1\.00\u00A0₽, and the documents from 2026-11-01 to 2026-11-30 make 700\.00\u00A0₽/,
    /The month 2098-01 has not begun/,
    /There is no transfer none-such/,
    /The rate of 2026-01-01 does not wait/,
  ],
] as const) {
  await t.test(
    `documents, statements and rates are refused in the language of the page: ${language}`,
    async t => {
      desk.headers['accept-language'] = language
      const { bank } = sellerSection
      const payments = [{ number: '41', date: '2026-11-20', amount: 70_000 }]
      const lines = statementLines({ account: bank.account, payments })
      const wrong = lines.map(line => line.replace(/^ВсегоПоступило=.*/, 'ВсегоПоступило=1.00')).join('\r\n')

      const pages: readonly (readonly [Promise<{ status: number; text: string }>, RegExp])[] = [
        [desk.postFile('/transfers/import', 'no statement', '/transfers'), statement],
        [desk.postFile('/transfers/import', wrong, '/transfers'), uploaded],
        [desk.post('/documents/close', { month: '2098-01' }, { from: '/documents' }), month],
        [desk.post('/transfers/none-such/return', { note: '' }, { from: '/transfers' }), transfer],
        [desk.post('/prices/accept', { day: '2026-01-01' }, { from: '/prices' }), rate],
      ]

      for (const [asked, words] of pages) {
        const { status, text } = await asked
        t.equal(status, 422)
        t.match(text, words)
      }
    },
  )
}

await t.test(
  'each code of documents, statements and rates has texts, with the same details, in both languages',
  t => {
    const [russian, english] = [textsOf('ru'), textsOf('en')]
    const detailsOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted()
    for (const [name, codes] of [
      ['documentRefusals', documentCodes],
      ['statementRefusals', statementCodes],
      ['rateRefusals', rateCodes],
    ] as const) {
      for (const code of codes) {
        const [ru, en] = [russian[name], english[name]].map(
          texts => (texts as Record<string, string>)[code] ?? '',
        )
        t.match(ru, /[а-яё]{3}/i, code)
        t.match(en, /[a-z]{3}/i, code)
        t.same(detailsOf(ru ?? ''), detailsOf(en ?? ''), code)
      }
    }
    t.end()
  },
)
