import t from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import { until } from '../fixtures/until.ts'
import { openForReading } from '../../lib/stores/sqlite/sqlite-database.ts'

const area = await startAccountArea(t)

const whole = { password: goodPassword, offer: 'yes', personalData: 'yes' }

function rows(sql: string, ...values: string[]): Record<string, unknown>[] {
  const database = openForReading(area.test.storeFile)
  try {
    return database.prepare(sql).all(...values) as Record<string, unknown>[]
  } finally {
    database.close()
  }
}

await t.test('a new user confirms the email through a link and sees an empty account', async t => {
  const { browser } = await area.signUp('new@example.org')

  const page = await browser.get('/')

  t.equal(page.status, 200)
  t.match(page.text, '<h1>Обзор</h1>')
  t.match(page.text, '0,00\u00a0₽')
  const accounts = rows(
    `SELECT role, kind, balance_micros FROM users JOIN memberships ON user_id = users.id
     JOIN accounts ON accounts.id = account_id WHERE users.email = ?`,
    'new@example.org',
  )
  t.same(accounts, [{ role: 'owner', kind: 'customer', balance_micros: 0 }])
})

await t.test('a new account can be credited and used at once, without a restart', async t => {
  await area.signUp('payer@example.org')
  const accountId = await area.accountOf('payer@example.org')

  await area.test.accounts.credit({ accountId, amountMicros: 5_000_000, reason: 'test' })
  const { key } = await area.test.accounts.createKey({ accountId })
  const balance = await fetch(`${area.test.url}/gateway/v1/balance`, {
    headers: { authorization: `Bearer ${key}` },
  })

  t.match(await balance.json(), { available: '5.000000' })
})

await t.test('the two consents are unticked boxes, and both are required', async t => {
  const browser = area.browser()
  const { text } = await browser.get('/sign-up')
  t.equal(text.match(/type="checkbox"/g)?.length, 2)
  t.notMatch(text, /\bchecked\b/)

  const answer = await browser.post('/sign-up', { ...whole, email: 'half@example.org', personalData: '' })

  t.equal(answer.status, 422)
  t.match(answer.text, 'Без согласия на обработку персональных данных')
  t.match(answer.text, 'value="half@example.org"', 'what was typed stays in the field')
  t.notMatch(answer.text, goodPassword, 'except the password')
  t.equal(answer.text.match(/\bchecked\b/g)?.length, 1, 'a ticked box stays ticked')
  t.same(rows('SELECT 1 FROM users WHERE email = ?', 'half@example.org'), [])
})

await t.test('consents are stored with version, language, time and address', async t => {
  const before = Date.now()
  const browser = area.browser()
  browser.headers['accept-language'] = 'en'
  await browser.post('/sign-up', { ...whole, email: 'agrees@example.org' })

  const consents = rows(
    `SELECT kind, version, user_consents.language, address, at FROM user_consents
     JOIN users ON users.id = user_id WHERE email = ? ORDER BY kind`,
    'agrees@example.org',
  )

  t.match(consents, [
    { kind: 'offer', version: /draft/, language: 'en', address: '127.0.0.1' },
    { kind: 'personal-data', version: /draft/, language: 'en', address: '127.0.0.1' },
  ])
  for (const { at } of consents) t.ok(Number(at) >= before && Number(at) <= Date.now())
  const { text, subject } = await area.mail.emailTo('agrees@example.org', /confirm/)
  t.match(subject, 'Confirm your email: Gateway', 'the email is in the language of the page')
  t.match(text, area.url)
})

await t.test('an address in use looks like a new one, and its owner gets an email', async t => {
  await area.signUp('taken@example.org')
  const before = rows('SELECT * FROM users ORDER BY id')

  const answer = await area.browser().post('/sign-up', { ...whole, email: 'Taken@Example.org' })

  t.equal(answer.status, 303)
  t.equal(answer.location, '/check-mail?email=taken%40example.org')
  const received = await area.mail.emailTo('taken@example.org', /уже/)
  t.equal(linkIn(received.text), '/forgot-password')
  t.same(rows('SELECT * FROM users ORDER BY id'), before)
})

await t.test('fields that are not in the form are ignored', async t => {
  await area.browser().post('/sign-up', {
    ...whole,
    email: 'greedy@example.org',
    id: 'mine',
    role: 'owner',
    balance: '1000000',
    balance_micros: '1000000',
    emailVerified: 'true',
    email_verified: '1',
    twoFactorEnabled: 'true',
    language: 'xx',
    name: 'Greedy',
    image: 'x',
    createdAt: '0',
  })

  const [user] = rows(
    `SELECT users.id, users.name, image, email_verified, two_factor_enabled, language, balance_micros
     FROM users JOIN memberships ON user_id = users.id JOIN accounts ON accounts.id = account_id
     WHERE users.email = ?`,
    'greedy@example.org',
  )
  t.match(user, {
    id: /^[0-9a-z]{26}$/,
    name: '',
    image: null,
    email_verified: 0,
    two_factor_enabled: 0,
    language: 'ru',
    balance_micros: 0,
  })
})

await t.test('sign-in is refused until the email is confirmed, and a new link is sent', async t => {
  const browser = area.browser()
  await browser.post('/sign-up', { ...whole, email: 'slow@example.org' })
  await area.mail.emailTo('slow@example.org', /confirm/)
  const before = area.mail.emails.length

  const answer = await browser.post('/sign-in', { email: 'slow@example.org', password: goodPassword })

  t.equal(answer.location, '/check-mail?email=slow%40example.org')
  t.notOk([...browser.cookies.keys()].some(name => name.includes('session')))
  t.equal((await browser.get('/')).location, '/sign-in')
  await until(() => area.mail.emails.length > before)
})

await t.test('a link needs the password, and a forged link is refused even with it', async t => {
  const browser = area.browser()
  await browser.post('/sign-up', { ...whole, email: 'victim@example.org' })
  const { text } = await area.mail.emailTo('victim@example.org', /confirm/)
  const path = linkIn(text)
  const token = new URL(path, area.url).searchParams.get('token') ?? ''

  const followed = await browser.get(path)
  t.equal(followed.status, 200)
  const wrong = await browser.post('/confirm', { token, password: 'not the password' }, { from: path })
  t.equal(wrong.status, 422)
  t.match(wrong.text, 'Пароль неверен')
  const [head = '', claims = '', signature = ''] = token.split('.')
  for (const forged of [
    '',
    'x.y.z',
    `${head}.${claims}.${signature.slice(0, -4)}AAAA`,
    `${head}.${claims}.`,
  ]) {
    const answer = await browser.post('/confirm', { token: forged, password: goodPassword }, { from: path })
    t.equal(answer.status, 410, forged)
  }

  t.same(rows('SELECT email_verified FROM users WHERE email = ?', 'victim@example.org'), [
    { email_verified: 0 },
  ])
})

await t.test('mistakes are reported at their fields, in the language of the page', async t => {
  const browser = area.browser()
  browser.headers['accept-language'] = 'en-GB,en'

  const { status, text } = await browser.post('/sign-up', {
    ...whole,
    email: '"><script>',
    password: 'short',
  })

  t.equal(status, 422)
  t.match(text, '<html lang="en"')
  t.match(text, /id="email-error">This does not look like an email address/)
  t.match(text, /id="password-error">The password is shorter than 10 characters/)
  t.match(text, 'value="&quot;&gt;&lt;script&gt;"')
  t.notMatch(text, '<script>')
})
