import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import t from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'
import { accountPaths } from '../fixtures/account-pages.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'
import { companyFields, sellerSection } from '../fixtures/companies.ts'
import { payByCard, sandboxPayments } from '../fixtures/account-payment.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { openWindow, startBrowser } from '../fixtures/browser.ts'
import { until } from '../fixtures/until.ts'

const markup = `"'><img/src=x/onerror=alert(1)><script>alert(1)</script>`
const escaped = /&lt;img\/src=x\/onerror=alert\(1\)&gt;/
const rubPerMillion = { input: '100', output: '400' }
const chat = { provider: 'sandbox', upstreamModel: 'sandbox-chat', outputTokensMax: 1000, rubPerMillion }
const area = await startAccountArea(t, {
  models: { chat, [markup]: chat },
  payments: sandboxPayments,
  seller: sellerSection,
})

interface Ids {
  readonly keyId: string
  readonly requestId: string
  readonly paymentId: string
  readonly receiptId: string
  readonly invoiceId: string
  readonly token: string
}

const idAt = (path: string): string => path.split('/').at(-1) ?? ''

/** Gives a user money, a payment, a key with this name and a charge for this model. */
async function use(
  { email, browser }: { readonly email: string; readonly browser: AccountBrowser },
  name: string,
  model: string,
): Promise<Ids> {
  const { accounts, url } = area.test
  const accountId = await area.accountOf(email)
  await accounts.credit({ accountId, amountMicros: 100_000_000, reason: 'test' })
  const { id: keyId, key } = await accounts.createKey({ accountId, name })
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  await area.test.chargeOf(requestId)
  const { payment, receipt } = await payByCard(browser)
  await browser.post('/settings/company', companyFields)
  const fields = { amount: '100', form: newId() }
  const { location } = await browser.post('/balance/invoices', fields, { from: '/balance' })
  const token = /\/invoices\/([\w-]{43})"/.exec((await browser.get(location)).text)?.[1] ?? ''
  const invoiceId = idAt(location)
  return { keyId, requestId, paymentId: idAt(payment), receiptId: idAt(receipt), invoiceId, token }
}

/** Replaces the ids in a route's path; throws for a route whose ids are not known here. */
function filled(route: string, ids: Ids): string {
  const { keyId, requestId, paymentId, receiptId, invoiceId, token } = ids
  const path = route
    .replace('/keys/:id', `/keys/${keyId}`)
    .replace(':requestId', requestId)
    .replace('/payments/:id', `/payments/${paymentId}`)
    .replace('/receipts/:id', `/receipts/${receiptId}`)
    .replace('/balance/invoices/:id', `/balance/invoices/${invoiceId}`)
    .replace('/invoices/:token', `/invoices/${token}`)
    // A document is made when a month is closed; test/account-area/documents.test.ts tries another account's.
    .replace('/closing/:id', '/closing/none')
    // A month belongs to no account.
    .replace('/months/:month', '/months/2020-01')
  if (path.includes(':'))
    throw new Error(`test/account-area/attacks.test.ts does not know the id of ${route}`)
  return path
}

await t.test('pages and forms treat the ids of another account as unknown', async t => {
  const victim = await area.signUp()
  const ids = await use(victim, 'secret name', 'chat')
  const { browser } = await area.signUp()
  const none = 'no-such-id'
  const unknownIds = {
    keyId: none,
    requestId: none,
    paymentId: none,
    receiptId: none,
    invoiceId: none,
    token: none,
  }
  const withoutOwn = (text: string, ids: Ids): string =>
    Object.values<string>({ ...ids }).reduce(
      (rest, id) => rest.replaceAll(id, ''),
      text.replaceAll(/<code>[^<]*<\/code>/g, ''),
    )
  // The link of an invoice is enough to see it.
  const withId = (method: 'GET' | 'POST') =>
    accountPaths(method).filter(path => path.includes(':') && !/:token|:month|\/closing\//.test(path))
  t.ok(withId('GET').length >= 2 && withId('POST').length > 0)

  for (const route of withId('GET')) {
    const own = await victim.browser.get(filled(route, ids))
    t.equal(own.status, 200, `${route} exists for its owner`)
    const found = await browser.get(filled(route, ids))
    const unknown = await browser.get(filled(route, unknownIds))
    t.equal(found.status, 404, route)
    t.equal(withoutOwn(found.text, ids), withoutOwn(unknown.text, unknownIds))
  }
  for (const route of withId('POST')) {
    const { status } = await browser.post(filled(route, ids), {}, { from: '/security' })
    t.equal(status, 404, route)
  }
  for (const path of ['/charges', '/charges.csv']) {
    const { text } = await browser.get(`${path}?key=${ids.keyId}`)
    t.notMatch(text, ids.requestId, `${path} filters only the user's own charges`)
    t.notMatch(text, 'secret name')
  }
  t.match((await victim.browser.get('/keys')).text, `/keys/${ids.keyId}/revoke`, 'and nothing was revoked')
})

await t.test('markup in names, models, emails and browsers is text on every page', async t => {
  const { email, browser } = await area.signUp()
  const victim = await use({ email, browser }, markup, markup)
  const elsewhere = area.browser()
  elsewhere.headers['user-agent'] = markup
  await elsewhere.post('/sign-in', { email, password: 'correct horse battery' })
  // No form accepts such an email; an operator's import may.
  const database = new Database(area.test.storeFile)
  database.prepare('UPDATE users SET email = ?, name = ? WHERE email = ?').run(markup, markup, email)
  database.close()
  let seen = 0
  for (const route of accountPaths('GET')) {
    const path = filled(route, victim)
    for (const query of [
      '',
      `?email=${encodeURIComponent(markup)}&token=${encodeURIComponent(markup)}&model=${encodeURIComponent(markup)}&notice=${encodeURIComponent(markup)}&q=${encodeURIComponent(markup)}`,
    ]) {
      for (const who of [browser, area.browser()]) {
        const { text, headers } = await who.get(path + query)
        if (!String(headers['content-type']).includes('html')) continue
        t.notMatch(text, /<img|<script>|\sonerror="/, path)
        if (escaped.test(text)) seen += 1
      }
    }
  }
  t.ok(seen > 10, 'the markup was on the pages')
})

await t.test('no cell of a downloaded table is a formula', async t => {
  const names = ['=HYPERLINK("http://evil.example")', '+1', '-1', '@SUM(1)', '\t=1', ' =1']
  const { email, browser } = await area.signUp()
  for (const name of names) {
    await use({ email, browser }, name, 'chat')
  }

  const { text } = await browser.get('/charges.csv')

  for (const name of names) {
    t.match(text, name.trim().replaceAll('"', '""').slice(1, 4), 'the name is in the table')
    t.notMatch(text, /(?:^|;|\n)"?[=+@\t]/, name)
    t.notMatch(text, /;"?-(?!\d+,)/, name)
  }
})

await t.test('invalid cookies of language and theme are ignored', async t => {
  const { browser } = await area.signUp()
  for (const value of [
    '__proto__',
    'constructor',
    'toString',
    'en"><script>',
    '%00',
    '%E0%A4%A',
    '🙂',
    'x'.repeat(4000),
  ]) {
    const own = browser.copy()
    const sent = /^[\x20-\x7e]*$/.test(value) ? value : encodeURIComponent(value)
    own.cookies.set('account.language', sent)
    own.cookies.set('account.theme', sent)
    for (const path of ['/', '/settings', '/nowhere']) {
      const { status, text } = await own.get(path)
      t.equal(status, path === '/nowhere' ? 404 : 200, value)
      t.match(text, '<html lang="ru" >')
      t.notMatch(text, /<script>|data-theme/)
    }
  }
})

await t.test('no other site can show the pages in a frame', async t => {
  const chromium = await startBrowser(t)
  const evil = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<title>evil</title><iframe src="${area.url}/sign-in"></iframe>`)
  })
  await new Promise<void>(resolve => evil.listen(0, '127.0.0.1', resolve))
  t.teardown(() => evil.close())
  const { page, context, complaints } = await openWindow(chromium)
  t.teardown(() => context.close())

  await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`)

  const [, frame] = page.frames()
  t.equal(await frame?.locator('form').count(), 0)
  // The browser reports why.
  await until(() => /frame-ancestors|X-Frame-Options/i.test(complaints.join(' ')))
})
