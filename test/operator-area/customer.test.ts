import t from 'tap'
import { withRecords } from '../../lib/cli/with-store.ts'
import { closingRow } from '../../lib/documents/closing-documents.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { closingOf } from '../fixtures/documents.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, { payments: { provider: 'sandbox' }, timeZone: 'Asia/Yekaterinburg' })
const { email } = await area.signUp()
const id = await area.accountOf(email)
const { accounts } = area.test
const desk = await area.operator('owner')
desk.headers['accept-language'] = 'en'
const page = `/customers/${id}`

await t.test('a key shows the period of its budget and its end', async t => {
  const expiresAt = Date.parse('2999-01-31T12:00:00Z')
  await accounts.createKey({ accountId: id, name: 'whole', budgetMicros: 80_000_000, expiresAt })
  await accounts.createKey({ accountId: id, name: 'daily', budgetMicros: 5_400, budgetPeriod: 'day' })

  const { text } = await desk.get(page)

  t.match(text, '80.00\u00A0₽ in all; until 31/01/2999, 17:00 GMT+5')
  t.match(text, '0.0054\u00A0₽ each day')
})

await t.test('movements have their exact amounts, and a link leads to all of them', async t => {
  await accounts.credit({ accountId: id, amountMicros: 5_400, reason: 'small' })
  for (let count = 1; count <= 60; count += 1)
    await accounts.credit({ accountId: id, amountMicros: 1_000_000, reason: `credit ${count}.` })
  const { text } = await desk.get(page)
  t.match(text, '60.0054\u00A0₽')
  for (const path of ['movements', 'requests', 'payments', 'log']) {
    t.match(text, `href="/${path}?account=${id}"`)
    t.equal((await desk.get(`/${path}?account=${id}`)).status, 200, path)
  }

  const [first, second] = [
    (await desk.get(`/movements?account=${id}`)).text,
    (await desk.get(`/movements?account=${id}&page=2`)).text,
  ]

  t.match(first, 'credit 60.')
  t.match(first, 'credit 11.')
  t.notMatch(first, 'credit 10.')
  t.match(second, 'credit 10.')
  t.match(second, /0\.0054\u00A0₽[\s\S]*0\.0054\u00A0₽[\s\S]*small/, 'its amount, and the balance after it')
  const table = await desk.get(`/movements.csv?account=${id}`)
  t.equal(table.text.trim().split('\n').length, 62)
  t.match(table.text, /T\d\d:\d\d:\d\d\+05:00;credit;0,005400;0,005400;small/)
  t.notMatch((await desk.get('/movements')).text, 'credit', 'without an account there is nothing')
})

await t.test('a document and its correction are distinguished, on pages and in the table', async t => {
  const issued = closingOf()
  const correction = { number: 1, date: '2026-12-03', reason: 'Адрес' }
  const of = { sellerInn: issued.seller.inn, number: 1125, at: 1 }
  await withRecords({ config: area.test.configFile }, records =>
    records.write(
      [issued, { ...issued, correction }].map(document => {
        const stored = { id: newId(), accountId: id, month: '2026-11', state: 'issued' as const, document }
        return { write: records.build.insertInto('closing_documents').values(closingRow(stored, of)) }
      }),
    ),
  )

  for (const path of [page, '/documents']) {
    const { text } = await desk.get(path)
    t.match(text, />Акт № 1125 от 30\.11\.2026</, path)
    t.match(text, />Акт № 1125 от 30\.11\.2026, исправление 1</, path)
    t.equal(text.match(/>issued, corrected</g)?.length, 1, `${path}: the first issue is corrected`)
  }
  const table = await desk.get('/documents.csv')
  t.match(table.text, /\r\nАкт № 1125 от 30\.11\.2026;2026-11-30;.*;;"issued, corrected"\r\n/)
  t.match(
    table.text,
    /\r\n"Акт № 1125 от 30\.11\.2026, исправление 1";2026-11-30;.*;12345,000000;issued\r\n/,
    'the sums of the table add up to those of the month',
  )
})
