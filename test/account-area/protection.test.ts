import t from 'tap'
import { goodPassword, startAccountArea } from '../fixtures/account-area.ts'
import { notificationsPath } from '../../lib/payments/open-payments.ts'
import { accountPaths } from '../fixtures/account-pages.ts'

const area = await startAccountArea(t)
const origin = new URL(area.url).origin
const { email, browser } = await area.signUp()

/** Every form, with fields that would be accepted. */
const forms: readonly (readonly [path: string, fields: Record<string, string>])[] = [
  ['/sign-up', { email: 'x@example.org', password: goodPassword, offer: 'yes', personalData: 'yes' }],
  ['/check-mail', { email }],
  ['/confirm', { token: 'x', password: goodPassword }],
  ['/sign-in', { email, password: goodPassword }],
  ['/sign-in/code', { code: '123456' }],
  ['/forgot-password', { email }],
  ['/reset-password', { token: 'x', newPassword: goodPassword }],
  ['/sign-out', {}],
  ['/appearance', { language: 'en', theme: 'dark', next: '/' }],
  ['/balance/top-up', { amount: '500', method: 'bank_card', email: 'thief@example.org' }],
  ['/balance/auto', { below: '100', amount: '500', monthMax: '5000', card: 'x' }],
  ['/balance/auto/off', {}],
  ['/balance/auto/unlink', { card: 'x' }],
  ['/consents', { offer: 'yes', personalData: 'yes' }],
  ['/keys/new', { name: 'stolen' }],
  ['/keys/x/revoke', {}],
  ['/settings/profile', { name: 'stolen', language: 'en' }],
  ['/settings/email', { newEmail: 'thief@example.org', currentPassword: goodPassword }],
  ['/settings/email/confirm', { token: 'x' }],
  ['/settings/alert', { below: '100' }],
  ['/balance/invoices', { amount: '500', form: '0'.repeat(26) }],
  ['/balance/invoices/x/cancel', {}],
  ['/settings/company', { inn: '7736207543' }],
  ['/settings/company/check', { inn: '7736207543' }],
  ['/settings/members', { email: 'thief@example.org' }],
  ['/settings/members/withdraw', { email: 'thief@example.org' }],
  ['/settings/members/remove', { user: 'x' }],
  ['/accounts/use', { account: 'x' }],
  ['/accounts/leave', { account: 'x' }],
  ['/accounts/accept', { account: 'x' }],
  ['/accounts/decline', { account: 'x' }],
  ['/settings/delete', { currentPassword: goodPassword, understood: 'yes' }],
  ['/security/password', { currentPassword: goodPassword, newPassword: 'stolen password' }],
  ['/security/sessions/end', { id: 'x' }],
  ['/security/sessions/end-others', {}],
  ['/security/two-factor', { password: goodPassword }],
  ['/security/two-factor/confirm', { code: '123456' }],
  ['/security/two-factor/remove', { password: goodPassword }],
  ['/security/two-factor/backup-codes', { password: goodPassword }],
]

await t.test('the table covers every form', async t => {
  t.same(
    // The provider's notifications are not a form; nothing in them is believed.
    accountPaths('POST')
      .filter(path => path !== notificationsPath)
      .toSorted(),
    forms.map(([path]) => path.replace('/x/', '/:id/')).toSorted(),
  )
})

await t.test('a form that was not sent from a page of the area is refused', async t => {
  const own = await browser.token('/security')
  const stranger = await area.signUp()
  const strangers = await stranger.browser.token('/security')
  const visitor = area.browser()
  const visitors = await visitor.token('/sign-in')
  const before = area.mail.emails.length
  for (const [path, fields] of forms) {
    const attempts: [string, Record<string, string>, Record<string, string>][] = [
      ['no token', fields, { origin }],
      ['an empty token', { ...fields, csrf: '' }, { origin }],
      ["another's token", { ...fields, csrf: strangers }, { origin }],
      ["a visitor's token", { ...fields, csrf: visitors }, { origin }],
      ['another site', { ...fields, csrf: own }, { origin: 'https://evil.example' }],
      ['a hidden origin', { ...fields, csrf: own }, { origin: 'null' }],
      ['no origin', { ...fields, csrf: own }, {}],
    ]
    for (const [name, sent, headers] of attempts) {
      const { status, setCookies } = await browser.postRaw(path, sent, headers)
      t.equal(status, 403, `${path} with ${name}`)
      t.same(setCookies, [])
    }
  }
  t.equal(area.mail.emails.length, before)
  t.match((await browser.get('/')).text, email, 'nothing has changed')
})

await t.test('a token issued before signing in is invalid after it', async t => {
  const own = area.browser()
  const before = await own.token('/sign-in')
  await own.post('/sign-in', { email, password: goodPassword })

  const { status } = await own.postRaw('/sign-out', { csrf: before }, { origin })

  t.equal(status, 403)
})

await t.test('GET requests change nothing', async t => {
  for (const [path] of forms) {
    const { status, setCookies } = await browser.get(path)
    t.ok([200, 303, 404, 410].includes(status), path)
    t.same(setCookies, [])
  }
  t.equal((await browser.get('/')).status, 200)
})

await t.test('every response has the security headers', async t => {
  const pages = [...accountPaths('GET'), '/nowhere', '/confirm?token=x']
  for (const path of pages) {
    for (const who of [browser, area.browser()]) {
      const { headers, text } = await who.get(path)
      const policy = headers['content-security-policy'] ?? ''
      t.match(policy, "default-src 'none'")
      t.match(policy, "frame-ancestors 'none'")
      t.match(policy, "form-action 'self'")
      t.notMatch(policy, 'unsafe')
      t.equal(headers['x-frame-options'], 'DENY')
      t.equal(headers['x-content-type-options'], 'nosniff')
      t.equal(headers['cache-control'], 'no-store')
      t.notOk(headers['strict-transport-security'], 'plain HTTP has none')
      t.notMatch(text, /<script(?![^>]*\bsrc=)/)
      t.notMatch(text, /<style|\sstyle=|\son[a-z]+=/)
    }
  }
})

await t.test('style and script can be cached for ever, and come from the area itself', async t => {
  const { text } = await area.browser().get('/sign-in')
  const paths = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  t.equal(paths.length, 2)
  for (const path of paths) {
    const { status, headers } = await area.browser().get(path)
    t.equal(status, 200)
    t.match(headers['cache-control'], 'immutable')
    t.match(headers['content-type'], /^text\/(css|javascript)/)
    t.notOk(headers['set-cookie'])
  }
})

await t.test('a missing page is reported on a styled page, with the id of the request', async t => {
  const { status, headers, text } = await browser.get('/nowhere?x=<script>')

  t.equal(status, 404)
  t.match(text, 'Страница не найдена')
  t.match(text, String(headers['x-request-id']))
  t.notMatch(text, '<script>')
})

await t.test('a form that is too long is refused before it is read', async t => {
  const csrf = await browser.token('/security')

  const { status, text } = await browser.postRaw(
    '/security/password',
    { csrf, currentPassword: 'x'.repeat(100_000) },
    { origin },
  )

  t.equal(status, 413)
  t.match(text, 'Слишком много данных')
})

await t.test('a chunked form is read like any other, within the same limit', async t => {
  const chunked = { origin, 'transfer-encoding': 'chunked' }
  const csrf = await browser.token('/settings')
  const alert = async (below: string, headers: Record<string, string>) =>
    browser.postRaw('/settings/alert', { csrf, below }, headers)

  t.equal((await alert('123,5', chunked)).location, '/settings?notice=alert-on')
  t.match((await browser.get('/settings')).text, 'value="123,5"')
  t.equal((await alert('x'.repeat(60_000), chunked)).status, 422)
  t.equal((await alert('x'.repeat(100_000), chunked)).status, 413)
  t.equal((await alert('100', { ...chunked, origin: 'https://example.org' })).status, 403)
  t.equal((await alert('', { origin })).location, '/settings?notice=alert-off')
})

await t.test('a body that is not a form is refused, and not logged as a failure', async t => {
  const csrf = await browser.token('/security')
  const lines = area.test.logLines.length
  for (const type of [
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'application/json',
    'text/plain',
  ]) {
    const { status } = await browser.postRaw('/security/password', { csrf }, { origin, 'content-type': type })
    t.equal(status, 403, type)
  }
  t.notMatch(area.test.logLines.slice(lines).join(''), 'a page failed')
})

await t.test('the API is not on the port of the pages, nor are the pages on the port of the API', async t => {
  for (const path of ['/v1/models', '/v1/chat/completions', '/gateway/v1/balance', '/healthz', '/metrics'])
    t.equal((await browser.get(path)).status, 404, path)
  for (const path of ['/api/auth/get-session', '/api/auth/sign-up/email', '/api/auth/ok', '/get-session'])
    t.equal((await browser.get(path)).status, 404, path)
  for (const path of ['/sign-in', '/sign-up', '/security', '/assets/style.css']) {
    const answer = await fetch(`${area.test.url}${path}`)
    t.equal(answer.status, 404, path)
    t.match(answer.headers.get('content-type'), 'application/json')
  }
  t.match(await (await fetch(`${area.test.url}/`)).text(), /error/)
})

/** Fields that are hidden, or optional. */
const more: Readonly<Record<string, readonly string[]>> = {
  '/sign-in': ['next'],
  '/sign-in/code': ['next'],
  '/keys/new': ['form', 'period', 'models', 'patterns', 'expires', 'addresses', 'budget'],
  '/security/two-factor/confirm': ['setup'],
}

await t.test('each error message of a form links to a field that is marked', async t => {
  const { browser: own } = await area.signUp()
  const page = (path: string): string =>
    (/^\/(settings|security|balance)\b/.exec(path)?.[0] ?? path).replace('/x/', '/:id/')
  let banners = 0
  // The form that deletes the account comes last.
  const last = '/settings/delete'
  const ordered = forms.toSorted(([one], [other]) => Number(one === last) - Number(other === last))
  for (const [path, fields] of ordered) {
    if (path === '/sign-out' || path === '/keys/x/revoke' || path === '/appearance') continue
    const names = [...Object.keys(fields), ...(more[path] ?? [])]
    for (const name of names) {
      // Each wrong password takes longer to be refused.
      const wrong = /password/i.test(name) ? [] : ['<b>']
      for (const value of ['', 'x'.repeat(3000), ...wrong]) {
        const from = page(path).startsWith('/keys') ? '/keys/new' : page(path)
        const { text, status } = await own.post(path, { ...fields, [name]: value }, { from })
        t.not(status, 500, `${path} ${name}`)
        const target = /<a href="#([^"]+)">\s*Проверьте отмеченные поля/.exec(text)?.[1]
        if (target === undefined) continue
        banners += 1
        t.match(text, new RegExp(`id="${target}"`), `${path} ${name} is the target of its link`)
        t.match(text, new RegExp(`id="${target}-error"`), `${path} ${name} is marked`)
      }
    }
  }
  t.ok(banners > 20, `${banners} banners`)
})

await t.test('language and theme are chosen without script, and stored', async t => {
  const own = area.browser()
  const answer = await own.post(
    '/appearance',
    { language: 'en', theme: 'dark', next: '/sign-in' },
    { from: '/sign-in' },
  )
  t.equal(answer.location, '/sign-in')
  t.match((await own.get('/sign-in')).text, /<html lang="en" data-theme="dark">[^]*<h1>Sign in<\/h1>/)

  await own.post('/sign-in', { email, password: goodPassword })
  await own.post('/appearance', { language: 'en', theme: 'light', next: '/' }, { from: '/' })

  const elsewhere = area.browser()
  await elsewhere.post('/sign-in', { email, password: goodPassword })
  t.match((await elsewhere.get('/')).text, '<h1>Overview</h1>', "a user's language is a setting")
  const refused = await own.post('/appearance', { language: 'xx', theme: '"><b>', next: '/' }, { from: '/' })
  t.equal(refused.location, '/')
  t.match((await own.get('/')).text, 'data-theme="light"')
})

await t.test('a client of the API that uses the port of the pages gets the address of the API', async t => {
  for (const path of ['/v1/chat/completions', '/v1/messages', '/v1beta/models/x:generateContent?key=gw-x']) {
    const response = await fetch(`${area.url}${path}`, { method: 'POST', body: '{}' })

    t.equal(response.status, 404)
    const { error } = (await response.json()) as { error: { message: string; code: string } }
    t.equal(error.code, 'route_not_found')
    t.match(error.message, /the API is at http:\/\/127\.0\.0\.1/)
  }
})
