import t from 'tap'
import { isoDay } from '../../lib/web/format.ts'
import type { KeyRecord } from '../../lib/accounts/accounts.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import { storeReports } from '../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../lib/stores/sqlite/sqlite-queries.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser, FormFields, PageAnswer } from '../fixtures/account-browser.ts'

const area = await startAccountArea(t, {
  models: {
    'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100', output: '400' } },
    'sandbox-embedding': { provider: 'sandbox', rubPerMillion: { input: '10' } },
    'sandbox-free': { provider: 'sandbox' },
    'gpt-*': { provider: 'sandbox', rubPerMillion: { input: '1', output: '1' } },
  },
})
const { browser, email } = await area.signUp()
const accountId = await area.accountOf(email)
await area.test.accounts.credit({ accountId, amountMicros: 100_000_000, reason: 'test' })
const { browser: english } = await area.signUp()
await english.post('/appearance', { language: 'en', theme: 'system', next: '/' }, { from: '/keys' })

/** The new key that a page shows. */
function keyIn({ text }: PageAnswer): string {
  return /id="new-key">(gw-[\w-]+)</.exec(text)?.[1] ?? ''
}

async function make(by: AccountBrowser, fields: FormFields): Promise<string> {
  const answer = await by.post('/keys/new', fields)
  if (answer.status !== 200) throw new Error(answer.text)
  return keyIn(answer)
}

/** The ids of the keys that can be revoked, the newest first. */
async function keyIds(by: AccountBrowser): Promise<string[]> {
  const { text } = await by.get('/keys')
  return [...text.matchAll(/\/keys\/([\w-]+)\/revoke/g)].map(match => match[1] ?? '')
}

/** A key as the store has it. */
async function stored(id: string, account = accountId): Promise<KeyRecord | undefined> {
  const reports = storeReports(new SqliteQueries(area.test.storeFile), { clock: systemClock })
  try {
    return await reports.key(account, id)
  } finally {
    await reports.close()
  }
}

async function ask(key: string, model = 'sandbox-chat'): Promise<Response> {
  return fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 }),
  })
}

async function ends(response: Response): Promise<string> {
  await response.arrayBuffer()
  return response.headers.get('x-gateway-request-id') ?? ''
}

await t.test('a page without keys explains what a key is for, in both languages', async t => {
  t.match((await browser.get('/keys')).text, 'Ключей пока нет')
  t.match((await english.get('/keys')).text, 'No keys yet')
  const { status, location } = await area.browser().get('/keys')
  t.strictSame([status, location], [303, '/sign-in?next=%2Fkeys'])
})

await t.test('a key is shown once, right after its form, and works at once', async t => {
  const answer = await browser.post('/keys/new', { name: 'Сервер', budget: '', period: 'total' })
  const key = keyIn(answer)

  t.equal(answer.status, 200)
  t.match(key, /^gw-[\w-]{40,}$/)
  t.match(answer.headers['cache-control'], 'no-store')
  t.match(answer.text, 'больше он не покажется')
  const response = await ask(key)
  t.equal(response.status, 200)
  await area.test.chargeOf(await ends(response))

  const list = await browser.get('/keys')
  t.match(list.text, `gw-…${key.slice(-4)}`)
  t.match(list.text, /Сервер/)
  t.notMatch(list.text, key)
  t.notMatch(list.text, 'не было', 'the list shows the last use')
  t.notMatch(area.test.logLines.join('\n'), key, 'no log line contains it')
  t.match((await browser.get('/keys/new')).text, 'value=""', 'opening the form again shows an empty one')
})

await t.test('reloading the page with a new key makes no second one', async t => {
  const { browser: own } = await area.signUp()
  const { text } = await own.get('/keys/new')
  const hidden = (name: string): string => new RegExp(`name="${name}" value="([^"]+)"`).exec(text)?.[1] ?? ''
  const fields = { csrf: hidden('csrf'), form: hidden('form'), name: 'only one' }
  const post = (): Promise<PageAnswer> =>
    own.postRaw('/keys/new', fields, { origin: new URL(area.url).origin })
  t.match((await post()).text, 'id="new-key"')

  const again = await post()

  t.equal(again.location, '/keys')
  t.equal((await own.follow(again)).text.match(/<bdi>only one<\/bdi>/g)?.length, 1)
  t.match((await own.post('/keys/new', { name: 'another' })).text, 'id="new-key"')
})

await t.test('a key may do what its form says', async t => {
  const tomorrow = isoDay(Date.now() + 86_400_000)
  const key = await make(browser, {
    name: 'limited',
    models: ['sandbox-chat', 'sandbox-embedding'],
    patterns: 'gpt-5*\nsandbox-chat',
    budget: '1 000,50 ₽',
    period: 'week',
    expires: tomorrow,
    addresses: '127.0.0.0/8, 203.0.113.7\n2001:db8::/32',
  })
  const [id = ''] = await keyIds(browser)

  t.match(await stored(id), {
    accountId,
    name: 'limited',
    models: ['sandbox-chat', 'sandbox-embedding', 'gpt-5*'],
    budgetMicros: 1_000_500_000,
    budgetPeriod: 'week',
    expiresAt: Date.parse(`${tomorrow}T24:00:00+03:00`),
    ipAddresses: ['127.0.0.0/8', '203.0.113.7', '2001:db8::/32'],
  })
  t.equal((await ask(key, 'sandbox-free')).status, 403)
  t.match((await browser.get('/keys')).text, /0,00\u00a0₽ из 1\u202f000,50\u00a0₽ в неделю/)
})

await t.test('mistakes are reported at their fields, which keep what was typed', async t => {
  const before = await keyIds(browser)
  const typed = {
    name: ' ',
    budget: '-5',
    expires: '2026-02-31',
    addresses: '10.0.0.0/33',
    models: ['sandbox-embedding'],
    patterns: 'my-*',
  }
  const wrong: readonly (readonly [fields: FormFields, russian: string, english: string])[] = [
    [{ name: '' }, 'Заполните это поле', 'Fill in this field'],
    [{ name: 'x'.repeat(61) }, 'Слишком длинно', 'Too long'],
    [{ name: 'a\u202eb' }, 'Проверьте это поле', 'Check this field'],
    [{ budget: 'much' }, 'Введите сумму в рублях', 'Enter'],
    [{ budget: '0' }, 'Введите сумму в рублях', 'Enter'],
    [{ budget: '5', period: 'year' }, 'Проверьте это поле', 'Check this field'],
    [{ expires: '31.12.2030' }, 'Введите день так', 'Write the day like this'],
    [{ expires: '2026-02-31' }, 'Введите день так', 'Write the day like this'],
    [{ expires: '2020-01-01' }, 'Этот день уже прошёл', 'This day is over'],
    [{ addresses: '10.0.0.1 localhost' }, 'Здесь не только IP-адреса', 'Not all of these are IP'],
    [{ addresses: '10.0.0.0/33' }, 'Здесь не только IP-адреса', 'Not all of these are IP'],
    [{ patterns: 'sandbox-nothing' }, 'Модели «sandbox-nothing» у нас нет', 'We have no model'],
    [{ patterns: 'claude*' }, 'Модели «claude*» у нас нет', 'We have no model'],
    [{ patterns: '*chat' }, 'Модели «*chat» у нас нет', 'We have no model'],
    [{ models: ['sandbox-free'] }, 'Модели «sandbox-free» у нас нет', 'We have no model'],
  ]
  for (const [fields, russian, inEnglish] of wrong) {
    const [name = ''] = Object.keys(fields).slice(-1)
    const sent = { name: 'good', ...fields }
    const answer = await browser.post('/keys/new', sent)
    t.equal(answer.status, 422, JSON.stringify(fields))
    const problem = new RegExp(`id="${name}-error">([^<]+)<`)
    t.match(problem.exec(answer.text)?.[1], russian)
    t.match(problem.exec((await english.post('/keys/new', sent)).text)?.[1], inEnglish)
  }

  const { text } = await browser.post('/keys/new', typed)

  for (const kept of ['value="-5"', 'value="2026-02-31"', '10.0.0.0/33</textarea', 'my-*</textarea']) {
    t.match(text, kept)
  }
  t.match(text, /value="sandbox-embedding"\s+checked/)
  t.notMatch(text, /value="sandbox-chat"\s+checked/)
  t.same(await keyIds(browser), before, 'no key was made')
})

await t.test('markup in a name is text everywhere', async t => {
  const name = `<img src=x onerror=alert(1)>"'&`
  const answer = await browser.post('/keys/new', { name })
  const [id = ''] = await keyIds(browser)
  const pages = [
    answer,
    await browser.get('/keys'),
    await browser.get(`/keys/${id}/revoke`),
    await browser.post('/keys/new', { name, budget: 'x' }),
    await browser.follow(await browser.post(`/keys/${id}/revoke`, {})),
  ]
  for (const { text } of pages) {
    t.match(text, '&lt;img src=x onerror=alert(1)&gt;')
    t.notMatch(text, '<img')
    t.notMatch(text, /="[^"]*&gt;"'/, 'the name does not end its attribute')
  }
})

await t.test('a revoked key is refused at once and stays listed', async t => {
  const key = await make(browser, { name: 'to be revoked' })
  const [id = ''] = await keyIds(browser)
  t.equal((await ask(key)).status, 200)

  const question = await browser.get(`/keys/${id}/revoke`)
  t.match(question.text, 'Отозвать ключ?')
  t.match(question.text, 'to be revoked')
  t.equal((await ask(key)).status, 200, 'opening the confirmation page changes nothing')
  const answer = await browser.post(`/keys/${id}/revoke`, {})

  t.equal((await ask(key)).status, 401)
  t.strictSame([answer.status, answer.location], [303, '/keys?notice=key-revoked'])
  const list = (await browser.follow(answer)).text
  t.match(list, 'Ключ отозван и больше не работает')
  t.match(list, /Отозваны[\s\S]*to be revoked/)
  t.notMatch(list, `/keys/${id}/revoke`)
  const again = await browser.post(`/keys/${id}/revoke`, {}, { from: '/keys' })
  t.equal(again.location, '/keys?notice=key-revoked', 'revoking it again changes nothing')
})

await t.test('the key of another account is treated as unknown', async t => {
  const stranger = await area.signUp()
  const key = await make(browser, { name: 'mine alone' })
  const [id = ''] = await keyIds(browser)
  for (const path of [`/keys/${id}/revoke`, '/keys/nothing/revoke', `/keys/${area.test.keyId}/revoke`]) {
    t.equal((await stranger.browser.get(path)).status, 404, path)
    t.equal((await stranger.browser.post(path, {}, { from: '/keys' })).status, 404, path)
  }
  t.equal((await ask(key)).status, 200)
  t.equal((await ask(area.test.key)).status, 200)
  t.notMatch((await stranger.browser.get('/keys')).text, 'mine alone')
})

await t.test('fields that are not in the form change nothing', async t => {
  const stranger = await area.signUp()
  const strangerId = await area.accountOf(stranger.email)
  await make(stranger.browser, {
    name: 'nothing special',
    accountId,
    account: accountId,
    account_id: accountId,
    id: 'chosen',
    key: 'gw-chosen',
    budgetMicros: '1',
    activeKeysMax: '1000000',
    revokedAt: '1',
    balance_micros: '1000000000',
  })
  const [id = ''] = await keyIds(stranger.browser)

  const made = await stored(id, strangerId)
  t.match(made, { accountId: strangerId, name: 'nothing special' })
  t.equal(made?.budgetMicros, undefined)
  t.not(id, 'chosen')
  t.notMatch((await browser.get('/keys')).text, 'nothing special')
  t.match((await stranger.browser.get('/')).text, '0,00')
})

await t.test('the number of keys of an account and the rate of making them are limited', async t => {
  const { browser: many, email: owner } = await area.signUp()
  const own = await area.accountOf(owner)
  for (let index = 0; index < 99; index += 1) await area.test.accounts.createKey({ accountId: own })
  const csrf = await many.token('/keys/new')
  const origin = new URL(area.url).origin
  const post = (): Promise<PageAnswer> => many.postRaw('/keys/new', { csrf, name: 'one more' }, { origin })

  const answers = await Promise.all([post(), post(), post()])

  t.same(
    answers.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 422, 422],
  )
  t.match(answers.find(({ status }) => status === 422)?.text, /100 действующих ключей/)
  for (let index = 0; index < 58; index += 1) await post()
  t.match((await post()).text, 'Повторите через час')
  t.equal((await browser.post('/keys/new', { name: 'another account' })).status, 200)
})
