import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { textsOf } from '../../lib/operator-area/texts/texts.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, { payments: { provider: 'sandbox' } })
const { email } = await area.signUp()
const id = await area.accountOf(email)
await area.test.accounts.credit({ accountId: id, amountMicros: 50_000_000, reason: 'r' })
const desk = await area.operator('owner')
const page = `/customers/${id}`
const reason = 'потому что'

for (const [language, balance, deletion, alarm] of [
  ['ru', /Столько снять нельзя\. Доступно: 50,00\u00A0₽\./, /Удалить счёт нельзя/, /Такой тревоги нет/],
  ['en', /So much cannot be taken out\. Available: 50\.00\u00A0₽\./, /cannot be deleted/, /no such alarm/],
] as const) {
  await t.test(`what is refused is said in the language of the page: ${language}`, async t => {
    desk.headers['accept-language'] = language

    const debit = await desk.post(`${page}/debit`, { rub: '100,50', reason }, { from: page })
    const deleted = await desk.post(`${page}/delete`, { reason }, { from: page })
    const taken = await desk.post('/alarms/none/take', {}, { from: '/alarms' })

    for (const [{ status, text }, words] of [
      [debit, balance],
      [deleted, deletion],
      [taken, alarm],
    ] as const) {
      t.equal(status, 422)
      t.match(text, words)
      t.notMatch(text, /roubles cannot be|the account cannot|there is no alarm/)
    }
    const { stdout } = await area.run('balance', '--account', id, '--json')
    t.match(stdout, '"balance":"50.000000"')
  })
}

await t.test('every code by which a change is refused has its words in both languages', t => {
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
