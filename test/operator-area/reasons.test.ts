import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { actionStep } from '../../lib/administration/operator-log.ts'
import { withRecords } from '../../lib/cli/with-store.ts'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import type { OperatorActionRow } from '../../lib/stores/records/operator-tables.ts'
import { statementOf } from '../contracts/documents.ts'
import { sellerSection } from '../fixtures/companies.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, { payments: { provider: 'sandbox' }, seller: sellerSection })
const [russian, english] = [await area.operator('owner'), await area.operator('owner')]
english.headers['accept-language'] = 'en'

/** The cells of a page's rows, without their tags. */
function cellsOf(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/<tr>([\s\S]*?)<\/tr>/g)]
    .slice(1)
    .map(([, row = '']) =>
      [...row.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell = '']) =>
        cell.replaceAll(/<[^>]*>/g, '').trim(),
      ),
    )
}

/** The last reason in the first row, in both languages. */
async function reasonsAt(path: string): Promise<readonly (string | undefined)[]> {
  const pages = [await russian.get(path), await english.get(path)]
  return pages.map(({ text }) => cellsOf(text)[0]?.at(-1))
}

async function note(action: OperatorActionRow['action'], reason: string): Promise<void> {
  await withRecords({ config: area.test.configFile }, (records, at) =>
    records.write([actionStep(records, { operator: 'test', action, accountId: '', reason, at })]),
  )
}

await t.test("the gateway's own notes are in the language of the page", async t => {
  const file = join(t.testdir({}), '3 credited, 4 queued.txt')
  const transfer = { number: '41', date: '2026-11-20', amount: 70_000, purpose: 'за услуги' }
  writeFileSync(file, statementOf([transfer]))

  await area.run('operator', 'add', '--email', 'olga@desk.example', '--role', 'finance')
  await area.run('statement', 'import', file)
  await area.run('documents', 'close', '--month', '2026-01')

  t.same(await reasonsAt('/log?action=add-operator'), [
    'olga@desk.example: финансы',
    'olga@desk.example: finance',
  ])
  t.same(await reasonsAt('/log?action=import-statement'), [
    '3 credited, 4 queued.txt: зачислено: 0, в очереди: 1',
    '3 credited, 4 queued.txt: 0 credited, 1 queued',
  ])
  t.same(await reasonsAt('/log?action=close-month'), ['2026-01: документов: 0', '2026-01: 0 documents'])
  t.match((await russian.get('/log.csv?action=close-month')).text, ';2026-01: документов: 0')
})

await t.test('closing a month before its end is noted as such, as by command', async t => {
  const from = '/documents'
  const month = moscowDay(systemClock.now()).slice(0, 7)
  const early = await russian.post('/documents/close', { month }, { from })
  t.match(early.text, 'Месяц ещё не кончился: что будет списано до его конца, войдёт в следующие документы.')
  const over = await english.post('/documents/close', { month: '2026-01' }, { from })
  t.equal(over.status, 200)
  t.notMatch(over.text, 'not over')
})

await t.test('each form of a note is translated, and typed text stays as it was typed', async t => {
  const id = '01k9zt6qk4m8x2v7c3b5n1d0fg'
  for (const [action, reason, inRussian, inEnglish] of [
    ['mark-document', `${id}: sent`, `${id}: отправлен`, `${id}: sent`],
    ['accept-rate', '2026-11-20: 81.1234', '2026-11-20: 81,1234', '2026-11-20: 81.1234'],
    [
      'import-prices',
      'list, a: 2.json: 1 models',
      'list, a: 2.json: моделей: 1',
      'list, a: 2.json: 1 models',
    ],
    [
      'correct',
      `${id}, turn 2: from 1234.567800 to 0.250000 ₽: from 1 to 2 ₽`,
      `${id}, часть сеанса 2: 1\u202f234,5678\u00a0₽ → 0,25\u00a0₽: from 1 to 2 ₽`,
      `${id}, turn 2: 1,234.5678\u00a0₽ → 0.25\u00a0₽: from 1 to 2 ₽`,
    ],
    [
      'edit-key',
      `key_1: name "no budget"; no budget; no expiry; addresses all (no budget; models all (b))`,
      'key_1: название: no budget; бюджет: без ограничения; срок: без ограничения; ' +
        'адреса: без ограничения (no budget; models all (b))',
      'key_1: name: no budget; budget: no limit; expiry: no limit; addresses: no limit (no budget; models all (b))',
    ],
    [
      'edit-key',
      String.raw`key_1: name "a (b); no \"budget"; models gpt-5*, "my (own), one", "all"; budget 5.500000 month (c)`,
      'key_1: название: a (b); no &quot;budget; модели: gpt-5*, my (own), one, all; бюджет: 5,50\u00a0₽ на месяц (c)',
      'key_1: name: a (b); no &quot;budget; models: gpt-5*, my (own), one, all; budget: 5.50\u00a0₽ a month (c)',
    ],
    [
      'edit-key',
      'key_1: models deepseek/r1:free, a?b; addresses 10.0.0.0/8, 2001:db8::/32 (b)',
      'key_1: модели: deepseek/r1:free, a?b; адреса: 10.0.0.0/8, 2001:db8::/32 (b)',
      'key_1: models: deepseek/r1:free, a?b; addresses: 10.0.0.0/8, 2001:db8::/32 (b)',
    ],
    [
      'edit-key',
      'key_1: models all; no budget (b)',
      'key_1: модели: без ограничения; бюджет: без ограничения (b)',
      'key_1: models: no limit; budget: no limit (b)',
    ],
    ['block', '2 documents: sent', '2 documents: sent', '2 documents: sent'],
    ['close-month', 'of another release', 'of another release', 'of another release'],
  ] as const) {
    await note(action, reason)
    t.same(await reasonsAt(`/log?action=${action}`), [inRussian, inEnglish], reason)
  }
})

await t.test('movements and alarms that the gateway explains are in the language of the page', async t => {
  const { email } = await area.signUp()
  const account = await area.accountOf(email)
  const from = '/transfers'
  const path = /action="(\/transfers\/[^/"]+)\/assign"/.exec((await russian.get(from)).text)?.[1] ?? ''
  const movements = `/movements?account=${account}`

  await russian.post(`${path}/assign`, { account, note: '' }, { from })
  t.same(await reasonsAt(movements), [
    'банковский перевод 41 от 2026-11-20',
    'bank transfer 41 of 2026-11-20',
  ])
  await russian.post(`${path}/undo`, { note: '' }, { from: '/transfers?state=credited' })
  t.same(await reasonsAt(movements), [
    'отмена банковского перевода 41 от 2026-11-20',
    'bank transfer 41 of 2026-11-20 reversed',
  ])
  const typed = 'bank transfer 41 of 2026-11-20'
  await area.run('account', 'credit', account, '--rub', '1', '--reason', typed)
  t.same(await reasonsAt(movements), [typed, typed])

  const alarm = {
    id: 'alarm-1',
    kind: 'credential_suspended',
    subject: 'openai#main',
    count: 1,
    details: '{}',
  }
  const times = { first_at: 1, last_at: 1, closed_at: 1, taken_by: null, taken_at: null }
  const end = { state: 'closed', closed_by: 'gateway', reason: 'it ended by itself' } as const
  await withRecords({ config: area.test.configFile }, records =>
    records.write([
      { write: records.build.insertInto('alarms').values({ ...alarm, ...times, ...end }), rows: 1 },
    ]),
  )
  t.match((await russian.get('/alarms?state=all')).text, /закончилась сама/)
  t.match((await english.get('/alarms?state=all')).text, /it ended by itself/)
  t.same(await area.verify(), [])
})
