import t from 'tap'
import { spentMoney, smallMoney } from '../../lib/web/format.ts'
import { spendingByDay } from '../../lib/account-area/pages/overview/spending-chart.ts'
import { parseRoubles } from '../../lib/money/amount.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { storeReports } from '../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../lib/stores/sqlite/sqlite-queries.ts'
import { startAccountArea } from '../fixtures/account-area.ts'

const price = { provider: 'sandbox', rubPerMillion: { input: '100', output: '400' } }
const hostile = 'gpt-<img/src=x>"'
const area = await startAccountArea(t, {
  models: {
    'sandbox-chat': price,
    [hostile]: { ...price, upstreamModel: 'sandbox-chat', rubPerMillion: { input: '9', output: '9' } },
  },
})

async function ask(key: string, model: string): Promise<string> {
  const response = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 }),
  })
  await response.arrayBuffer()
  // A response does not end before its charge is on disk.
  return response.headers.get('x-gateway-request-id') ?? ''
}

async function chargesOf(accountId: string): Promise<ChargeReport[]> {
  const reports = storeReports(new SqliteQueries(area.test.storeFile), { clock: systemClock })
  try {
    return await Array.fromAsync(reports.charges(accountId))
  } finally {
    await reports.close()
  }
}

const sumOf = (charges: readonly ChargeReport[]): number =>
  charges.reduce((sum, { amount }) => sum + parseRoubles(amount), 0)

await t.test('a new customer sees what to do next, in both languages', async t => {
  const { browser, email } = await area.signUp()
  const accountId = await area.accountOf(email)

  const { text } = await browser.get('/')

  t.match(text, 'С чего начать')
  t.match(text, 'href="/keys/new"')
  t.match(text, 'href="/quick-start"')
  t.match(text, 'деньги приходят меньше чем за минуту')
  t.notMatch(text, 'готово')
  t.notMatch(text, '<svg', 'an empty chart is not shown')
  await browser.post('/keys/new', { name: 'first' })
  t.equal((await browser.get('/')).text.match(/готово/g)?.length, 1)
  await area.test.accounts.credit({ accountId, amountMicros: 5_500_000, reason: 'test' })
  await browser.post('/appearance', { language: 'en', theme: 'system', next: '/' }, { from: '/' })
  const english = (await browser.get('/')).text
  t.match(english, 'How to begin')
  t.equal(english.match(/>done</g)?.length, 2)
  t.match(english, '5.50\u00a0₽')
})

await t.test('spending is shown by day and model, with the last requests', async t => {
  const { browser, email } = await area.signUp()
  const accountId = await area.accountOf(email)
  await area.test.accounts.credit({ accountId, amountMicros: 5_000_000, reason: 'test' })
  const { key } = await area.test.accounts.createKey({ accountId, name: 'laptop <b>' })
  const ids: string[] = []
  for (const model of ['sandbox-chat', 'sandbox-chat', hostile]) ids.unshift(await ask(key, model))
  const charges = await chargesOf(accountId)
  t.equal(charges.length, 3)

  const { text } = await browser.get('/')

  const total = sumOf(charges)
  const figures = [...text.matchAll(/<dd>([^<]+)<\/dd>/g)].map(match => match[1])
  t.same(figures.slice(-3), [spentMoney(total, 'ru'), spentMoney(total, 'ru'), spentMoney(total, 'ru')])
  t.match(text, 'запросов: 3')
  t.match(text, new RegExp(`<desc id="chart-hint">[^<]*${spentMoney(total, 'ru')}`))
  const rows = [...text.matchAll(/href="\/charges\/([^"]+)"/g)].map(match => match[1])
  t.same(rows, ids, 'the newest first, each with its details')
  t.match(text, 'laptop &lt;b&gt;')
  for (const { amount } of charges) t.match(text, smallMoney(parseRoubles(amount), 'ru'))
  const chat = charges.filter(({ model }) => model === 'sandbox-chat')
  const cells = [...text.matchAll(/<td class="number">([^<]+)<\/td>/g)].map(match => match[1])
  t.same(
    cells.slice(0, 3),
    [sumOf(chat), total - sumOf(chat), total].map(micros => spentMoney(micros, 'ru')),
    'the table has the most expensive model first and the sum last',
  )
  t.match(text, 'gpt-&lt;img/src=x&gt;&quot;')
  t.notMatch(text, '<img')
  t.notMatch(text, /style=|<script>/, 'the page contains nothing that its policy forbids')

  const stranger = await area.signUp()
  const others = (await stranger.browser.get('/')).text
  for (const own of [...ids, 'laptop', 'sandbox-chat']) t.notMatch(others, own)
})

await t.test('five models have a series each, the rest have one together', t => {
  const rows = [1, 2, 3, 4, 5, 6, 7].map(micros => ({
    day: 100,
    model: `m${micros}`,
    charges: 1,
    spentMicros: micros * 10,
  }))
  const free = { day: 100, model: 'free', charges: 4, spentMicros: 0 }
  const early = { day: 98, model: 'm1', charges: 2, spentMicros: 5 }
  const outside = [97, 101].map(day => ({ day, model: 'm9', charges: 1, spentMicros: 1000 }))

  const spending = spendingByDay([...outside, early, ...rows, free], 100, 3)

  t.same(spending.days, [98, 99, 100])
  t.same(spending.microsByDay, [5, 0, 280])
  t.same(spending.chargesByDay, [2, 0, 11])
  t.same(
    spending.series.map(({ model, totalMicros }) => [model, totalMicros]),
    [
      ['m7', 70],
      ['m6', 60],
      ['m5', 50],
      ['m4', 40],
      ['m3', 30],
      [undefined, 35],
    ],
  )
  t.same(spending.series.at(-1)?.microsByDay, [5, 0, 30])
  t.same(spendingByDay([], 100, 2), {
    days: [99, 100],
    series: [],
    microsByDay: [0, 0],
    chargesByDay: [0, 0],
  })
  t.end()
})
