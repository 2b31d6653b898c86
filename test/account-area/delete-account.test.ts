import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Test } from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import type { TestAccountArea } from '../fixtures/account-area.ts'
import type { ConfigSections } from '../fixtures/test-gateway.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'

const page = '/settings/delete'
const currentPassword = goodPassword
const chat = { provider: 'sandbox', upstreamModel: 'sandbox-chat', outputTokensMax: 1000 }
const models = { chat: { ...chat, rubPerMillion: { input: '100', output: '400' } } }

async function ask({ test }: TestAccountArea, key: string): Promise<number> {
  const answer = await fetch(`${test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  return answer.status
}

async function deletion(t: Test, config: ConfigSections): Promise<TestAccountArea> {
  const area = await startAccountArea(t, { models, ...config })
  const { accounts } = area.test
  const email = 'leaver@example.org'
  const { browser } = await area.signUp(email)
  const accountId = await area.accountOf(email)
  await accounts.credit({ accountId, amountMicros: 50_000_000, reason: 'test' })
  const keys = [
    await accounts.createKey({ accountId, name: 'Ноутбук Анны' }),
    await accounts.createKey({ accountId }),
  ]
  t.equal(await ask(area, keys[0]?.key ?? ''), 200)
  const elsewhere = area.browser()
  elsewhere.headers['user-agent'] = 'Elsewhere/1'
  await elsewhere.post('/sign-in', { email, password: goodPassword })
  await browser.post('/forgot-password', { email })
  const reset = linkIn((await area.mail.emailTo(email, /reset-password/)).text)

  const asked = await browser.get(page)
  t.match(asked.text, accountId)
  t.match(asked.text, /На счёте останется (49,9\d|50,00)\u00a0₽/)
  for (const [field, fields] of [
    ['understood', { currentPassword }],
    ['currentPassword', { currentPassword: 'wrong password', understood: 'yes' }],
    ['currentPassword', { understood: 'yes' }],
  ] as const) {
    const refused = await browser.post(page, fields)
    t.equal(refused.status, 422)
    t.match(refused.text, `id="${field}-error"`)
  }
  t.equal(await ask(area, keys[1]?.key ?? ''), 200, 'nothing has happened so far')

  const answer = await browser.post(page, { currentPassword, understood: 'yes' })

  t.equal(answer.location, '/sign-in?notice=account-deleted')
  for (const { key } of keys) t.equal(await ask(area, key), 401)
  t.match((await browser.follow(answer)).text, 'Учётная запись удалена.')
  for (const one of [browser, elsewhere]) t.equal((await one.get('/')).location, '/sign-in')
  t.equal((await area.browser().post('/sign-in', { email, password: goodPassword })).status, 422)
  const token = new URL(reset, area.url).searchParams.get('token') ?? ''
  const newPassword = 'another good phrase'
  const dead = await area.browser().post('/reset-password', { token, newPassword }, { from: reset })
  t.equal(dead.status, 410, 'a link from an email sent before has no effect')
  const { text } = await area.mail.emailTo(email, /удалена/)
  t.match(text, accountId)
  t.match(text, /осталось (49,9\d|50,00)\u00a0₽/)
  t.strictSame(await area.test.breaches(), [], 'the ledger is unchanged')

  const { browser: again } = await area.signUp(email)
  t.match((await again.get('/')).text, '0,00\u00a0₽', 'the email can be used again, for a new account')
  t.not(await area.accountOf(email), accountId)
  return area
}

await t.test('deleting an account ends its keys and sessions, and frees the email', async t => {
  const area = await deletion(t, {})
  const leaver = await area.accountOf('leaver@example.org')
  const { browser } = await area.signUp('last@example.org')
  await browser.post('/settings/profile', { name: 'Анна Каренина', language: 'ru' }, { from: '/settings' })

  const answer = await browser.post(page, { currentPassword })

  t.equal(
    answer.location,
    '/sign-in?notice=account-deleted',
    'an account without money needs no further confirmation',
  )
  t.not(leaver, '')
  await area.test.gateway.close(0)
  const { default: Database } = await import('better-sqlite3')
  const database = new Database(area.test.storeFile)
  database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  const file = readFileSync(area.test.storeFile).toString('utf8')
  for (const personal of ['last@example.org', 'Анна', 'Ноутбук', 'Elsewhere/1'])
    t.notOk(file.includes(personal), `${personal} is no longer in the store`)
  t.ok(file.includes('deleted.invalid'))
})

async function atOnce(t: Test, config: ConfigSections): Promise<void> {
  const area = await startAccountArea(t, config)
  const { email, browser } = await area.signUp()
  const form = await browser.token(page)
  const { origin } = new URL(area.url)
  const send = () => browser.copy().postRaw(page, { csrf: form, currentPassword }, { origin })

  const answers = await Promise.all([send(), send(), send()])

  t.equal(
    answers.some(({ location }) => location === '/sign-in?notice=account-deleted'),
    true,
  )
  // Any further emails would arrive before those of this sign-up.
  await area.signUp('next@example.org')
  const emails = area.mail.emails.filter(({ to, text }) => to === email && /удалена/.test(text))
  t.equal(emails.length, 1)
}

await t.test('several concurrent deletions send one email', t => atOnce(t, {}))

await t.test('the same on PostgreSQL', async t => {
  const server = await startPostgres(t)
  await deletion(t, { store: await server.createDatabase() })
  await atOnce(t, { store: await server.createDatabase() })
})
