import t from 'tap'
import { count, exactRoubles, isDay } from '../../lib/web/format.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import { runHere } from '../cli/run-gateway.ts'
import { storeCharges } from '../fixtures/stored-charges.ts'

const area = await startAccountArea(t, {
  models: {
    chat: {
      provider: 'sandbox',
      upstreamModel: 'sandbox-chat',
      rubPerMillion: { input: '100', cachedInput: '10', output: '400' },
      factors: { batch: '0.5' },
    },
  },
})
const { browser, email } = await area.signUp()
const accountId = await area.accountOf(email)
const { browser: english, email: englishEmail } = await area.signUp()
await english.post('/appearance', { language: 'en', theme: 'system', next: '/' }, { from: '/charges' })
const englishId = await area.accountOf(englishEmail)
const { storeFile, accounts, configFile, url } = area.test
const hostile = '<img src=x onerror=alert(1)>"\'&'
const { id: keyId, key } = await accounts.createKey({ accountId, name: hostile })
const { config } = loadConfig(configFile, { env: {} })
const priceVersion = config.models.get('chat')?.prices[0]?.hash ?? ''
const at = Date.parse('2026-05-05T20:59:30Z')

await t.test('before the first charge the page says what will be listed', async t => {
  const { status, text } = await browser.get('/charges')
  t.equal(status, 200)
  t.match(text, 'Списаний пока нет')
  t.notMatch(text, '<form method="get"', 'there is nothing to filter')
  t.match((await english.get('/charges')).text, 'No charges yet')
})

await t.test('a request is listed with its amount, and its details show the formula', async t => {
  await accounts.credit({ accountId, amountMicros: 50_000_000, reason: 'test' })
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  const { usage } = JSON.parse(await answer.text())
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  const micros = usage.prompt_tokens * 100 + usage.completion_tokens * 400
  const amount = exactRoubles(String(micros / 1_000_000), 'ru')

  const list = await browser.get('/charges')
  t.match(list.text, `href="/charges/${requestId}"`)
  t.match(list.text, amount)
  const { text, status } = await browser.get(`/charges/${requestId}`)

  t.equal(status, 200)
  t.match(text, `id="request-id">${requestId}<`)
  t.match(text, 'data-copy="request-id"')
  t.match(text, exactRoubles('100', 'ru'))
  t.match(text, exactRoubles(String((usage.completion_tokens * 400) / 1_000_000), 'ru'))
  t.match(text, amount)
  t.match(text, priceVersion)
  t.match(text, 'Посчитал провайдер')
  t.notMatch(text, 'Возвращено')
})

await t.test('a correction is shown with the charge, and in the history of the balance', async t => {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  const words = ['--request', requestId, '--rub', '0', '--reason', 'пустой <ответ>']
  const done = await runHere(['account', 'correct', accountId, ...words, '--config', configFile])
  t.match(done, { code: 0, stdout: /were returned/ })

  const { text } = await browser.get(`/charges/${requestId}`)
  t.match(text, 'Возвращено')
  t.match(text, `Списание исправлено: запрос стоит ${exactRoubles('0', 'ru')}`)
  const balance = await browser.get('/balance')
  t.match(balance.text, 'Исправление списания')
  t.match(balance.text, 'пустой &lt;ответ&gt;')
})

await t.test('a session shows all its parts; an estimate and its flags are explained in words', async t => {
  const line = {
    model: 'chat',
    meters: { input: 1000, cachedInput: 50, output: 10 },
    tier: 'batch',
    priceVersion,
    amountMicros: 52_250,
  }
  const requestId = newId()
  storeCharges(storeFile, [
    { requestId, accountId, keyId, at, model: 'chat', lines: [line], amountMicros: 52_250 },
    {
      requestId,
      sequence: 1,
      accountId,
      keyId,
      at,
      model: 'chat',
      outcome: 'broken',
      usageSource: 'estimated',
      details: { estimatedByTiktoken: 12, cost: 987654 },
      flags: ['usage_missing', 'overrun', 'one_of_tomorrow'],
      lines: [{ ...line, priceVersion: 'lost', amountMicros: 300_000 }],
      amountMicros: 100_000,
      overrunMicros: 200_000,
    },
    { requestId, sequence: 2, accountId, keyId, at, model: 'chat', flags: ['ambiguous'], amountMicros: 0 },
  ])

  const { text } = await browser.get(`/charges/${requestId}`)

  t.match(text, 'Частей: 3')
  t.match(text, exactRoubles('0.15225', 'ru'), 'the sum of the parts')
  t.match(text, '× 0,5', 'the factor of the tier')
  t.match(text, exactRoubles('0.05225', 'ru'))
  t.match(text, 'Провайдер не сообщил расход.')
  t.match(text, 'Расход оказался больше, чем было доступно')
  t.match(text, 'one_of_tomorrow', 'a flag without a text is still shown')
  t.match(text, 'Оценка: провайдер не сообщил расход')
  t.match(text, `Сверх баланса: ${exactRoubles('0.2', 'ru')}`)
  t.match(text, 'Цена этой строки не найдена')
  t.match(text, 'Неизвестно, выполнил ли провайдер запрос.')
  t.notMatch(text, '987', 'the amount that the provider charges the operator is not shown')
  const rest = await browser.get(`/charges/${requestId}?from=2`)
  t.match(rest.text, 'Часть 3')
  t.notMatch(rest.text, 'Часть 2')
})

await t.test('a charge of another account is not found, nor are invalid ids', async t => {
  const [requestId = ''] = storeCharges(storeFile, [{ accountId, keyId, at, model: 'private-model' }])
  t.equal((await browser.get(`/charges/${requestId}`)).status, 200)
  const other = await english.get(`/charges/${requestId}`)
  t.equal(other.status, 404)
  t.notMatch(other.text, 'private-model')
  for (const id of ['x', "' OR 1=1", '%00', '../security', `${requestId}0`]) {
    t.equal((await browser.get(`/charges/${encodeURIComponent(id)}`)).status, 404, id)
  }
  for (const path of ['/charges', `/charges/${requestId}`, '/charges.csv']) {
    t.match((await area.browser().get(path)).location, '/sign-in', 'nobody')
  }
  t.notMatch((await english.get('/charges.csv')).text, 'private-model')
  t.equal((await english.get(`/charges?key=${keyId}`)).status, 422, 'a key of another account')
})

await t.test('everything that is shown is escaped, whatever its source', async t => {
  const line = {
    model: hostile,
    meters: { input: 1 },
    priceVersion,
    variant: hostile,
    tier: hostile,
    amountMicros: 1,
  }
  const [requestId = ''] = storeCharges(storeFile, [
    { accountId, keyId, at, model: hostile, outcome: hostile, flags: [hostile], lines: [line] },
  ])
  const paths = ['/charges', `/charges/${requestId}`, `/charges?model=${encodeURIComponent(hostile)}`]
  for (const path of paths) {
    const { text, status } = await browser.get(path)
    t.equal(status, 200)
    t.notMatch(text, '<img', path)
    t.match(text, '&lt;img src=x', path)
  }
  const wrong = await browser.get(
    `/charges?from=${encodeURIComponent(hostile)}&before=${encodeURIComponent(hostile)}`,
  )
  t.equal(wrong.status, 422)
  t.notMatch(wrong.text, '<img')
  t.match(wrong.text, 'value="&lt;img', 'what was typed stays in the field')
})

await t.test('filters count days in Moscow time and keep what was typed', async t => {
  const { id: other } = await accounts.createKey({ accountId: englishId, name: 'laptop' })
  storeCharges(storeFile, [
    { accountId: englishId, keyId: other, at, model: 'early', amountMicros: 1_500_000 },
    // Half a minute later it is the sixth of May in Moscow.
    { accountId: englishId, keyId: other, at: at + 30_000, model: 'late', amountMicros: 2_000_000 },
    {
      accountId: englishId,
      keyId: 'gone',
      at: at + 40_000,
      model: 'late',
      outcome: 'aborted',
      amountMicros: 4_000_000,
    },
  ])
  const shown = async (query: string): Promise<string> => {
    const { text, status } = await english.get(`/charges?${query}`)
    t.equal(status, 200, query)
    const sum = /<dd>([^<]+)<\/dd>/.exec(text)?.[1] ?? text
    return `${[...text.matchAll(/role="cell" class="charge-model"><bdi>(\w+)</g)].map(match => match[1]).join()} ${sum}`
  }
  t.equal(await shown(''), 'late,late,early 7.50\u00a0₽')
  t.equal(await shown('from=2026-05-06'), 'late,late 6.00\u00a0₽')
  t.equal(await shown('until=2026-05-05'), 'early 1.50\u00a0₽')
  t.equal(await shown('from=2026-05-05&until=2026-05-05'), 'early 1.50\u00a0₽')
  t.equal(await shown(`key=${other}&model=late`), 'late 2.00\u00a0₽')
  t.equal(await shown('outcome=aborted&from=&until=&model='), 'late 4.00\u00a0₽')
  t.equal(await shown('from=2026-05-06&before=abc'), 'late,late 6.00\u00a0₽', 'an invalid position')
  t.match((await english.get('/charges?model=nothing')).text, 'Nothing found')
  t.match((await english.get('/charges?model=late')).text, /name="model"\s+type="search"\s+value="late"/)
  t.match((await english.get('/charges')).text, 'deleted key')
  t.match((await english.get('/charges?model=late')).text, 'href="/charges.csv?model=late"')
})

await t.test("an invalid filter is reported at its field, in the user's language", async t => {
  const cases = [
    ['from=2026-02-30', 'from', 'Введите день так', 'Write the day like this'],
    ['until=yesterday', 'until', 'Введите день так', 'Write the day like this'],
    ['from=2026-05-06&until=2026-05-05', 'until', 'Этот день раньше', 'This day is before'],
    ['key=nothing', 'key', 'Проверьте это поле', 'Check this field'],
    ['outcome=lost', 'outcome', 'Проверьте это поле', 'Check this field'],
    ['model=%00', 'model', 'Проверьте это поле', 'Check this field'],
    [`model=${'m'.repeat(201)}`, 'model', 'Слишком длинно', 'Too long'],
  ] as const
  for (const [query, field, ru, en] of cases) {
    for (const [own, words] of [
      [browser, ru],
      [english, en],
    ] as const) {
      for (const path of ['/charges', '/charges.csv']) {
        const { status, text } = await own.get(`${path}?${query}`)
        t.equal(status, 422, query)
        t.match(text, `id="${field}-error">${words}`)
        t.match(text, 'role="alert"')
      }
    }
  }
})

await t.test('older charges follow page by page, within the filter', async t => {
  const { browser: own, email: ownEmail } = await area.signUp()
  const ownId = await area.accountOf(ownEmail)
  const ids = storeCharges(
    storeFile,
    Array.from({ length: 120 }, (_, index) => ({ accountId: ownId, at: at + index, model: `m${index % 2}` })),
  )
  const found: string[] = []
  let path: string | undefined = '/charges?model=m1'
  for (let pages = 0; path !== undefined && pages < 5; pages += 1) {
    const { text } = await own.get(path)
    found.push(...[...text.matchAll(/href="\/charges\/([0-9a-z]{26})"/g)].map(match => match[1] ?? ''))
    path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
    if (path !== undefined) t.match(path, 'model=m1')
  }
  t.strictSame(found, ids.filter((_, index) => index % 2 === 1).toReversed())
})

await t.test('amounts and days are shown in the format of the language', async t => {
  t.equal(exactRoubles('1234567.5', 'ru'), '1\u202f234\u202f567,50\u00a0₽')
  t.equal(exactRoubles('0.000000012', 'ru'), '0,000000012\u00a0₽')
  t.equal(count(1234.5, 'ru'), '1\u202f234,5')
  t.ok(isDay('2028-02-29'))
  for (const text of ['2027-02-29', '2027-1-1', '', '20270101', ' 2027-01-01']) t.notOk(isDay(text), text)
})
