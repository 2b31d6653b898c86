import t from 'tap'
import { sellerSection } from '../fixtures/companies.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { until } from '../fixtures/until.ts'
import type { Role } from '../fixtures/operator-area.ts'
import { BlockList } from 'node:net'
import type { DeskSite } from '../../lib/operator-area/page.ts'
import { createRouter } from '../../lib/operator-area/router.ts'
import { areaAssets } from '../../lib/web/view/assets.ts'

/** Paths that operators use before a role matters, or with any role. */
const forAll = /^\/(?:assets|sign-in|sign-out|set-password|appearance|security)(?:\/|$)/

/** The paths whose use depends on the role, with the parameters of the desk's router: `/customers/:id/credit`. */
function deskPaths(method: 'GET' | 'POST'): readonly string[] {
  // The router is built without the site; only requests need the rest of it.
  const site = { publicUrl: new URL('http://desk.invalid'), assets: areaAssets() } as unknown as DeskSite
  const paths = createRouter(site, new BlockList())
    .routes.filter(route => route.method === method && !forAll.test(route.path))
    .map(({ path }) => path)
  return [...new Set(paths)]
}

const area = await startOperatorArea(t, {
  payments: { provider: 'sandbox' },
  models: {
    'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '1000', output: '1000' } },
  },
  seller: sellerSection,
})
const { email } = await area.signUp()
const id = await area.accountOf(email)
const { id: keyId, key } = await area.test.accounts.createKey({ accountId: id, name: 'laptop' })
await area.test.accounts.credit({ accountId: id, amountMicros: 100_000_000, reason: 'r' })
const requestId = await ask()
const payment = await payNow()

async function ask(): Promise<string> {
  const answer = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  return answer.headers.get('x-gateway-request-id') ?? ''
}

async function payNow(): Promise<string> {
  const made = await area.run('payment', 'create', '--account', id, '--rub', '500', '--json')
  const { id: paymentId, confirmationUrl } = JSON.parse(made.stdout) as {
    id: string
    confirmationUrl: string
  }
  await fetch(confirmationUrl, { method: 'POST', body: new URLSearchParams({ pay: 'bank_card' }) })
  await area.run('payment', 'reconcile', '--days', '1')
  return paymentId
}

const everybody: readonly Role[] = ['owner', 'finance', 'support']
const money: readonly Role[] = ['owner', 'finance']
const owner: readonly Role[] = ['owner']

/** Every page with the roles that may see it, by its route; `named` has the values of its parameters. */
const pages: Readonly<Record<string, readonly Role[]>> = {
  '/': everybody,
  '/alarms': everybody,
  '/alarms.csv': everybody,
  '/customers': everybody,
  '/customers.csv': everybody,
  '/customers/:id': everybody,
  '/customers/:id/keys/:key': owner,
  '/customers/:id/delete': owner,
  '/movements': everybody,
  '/movements.csv': everybody,
  '/payments': everybody,
  '/payments.csv': everybody,
  '/payments/:id': everybody,
  '/transfers': everybody,
  '/transfers.csv': everybody,
  '/documents': everybody,
  '/documents.csv': everybody,
  '/requests': everybody,
  '/requests.csv': everybody,
  '/providers': everybody,
  '/prices': everybody,
  '/prices/history': everybody,
  '/prices/preview': owner,
  '/log': everybody,
  '/log.csv': everybody,
}

/** A filled form: the roles that may send it, and the response. */
interface FilledForm {
  readonly roles: readonly Role[]
  readonly fields: Readonly<Record<string, string>>
  readonly status: number
}

const reason = 'r'
const none = { account: id, note: 'r' }
const provider = { credential: '', reason }
const forms: Readonly<Record<string, FilledForm>> = {
  '/customers/:id/note': { roles: everybody, fields: { note: 'n' }, status: 303 },
  '/customers/:id/credit': { roles: money, fields: { rub: '1', reason }, status: 303 },
  '/customers/:id/debit': { roles: money, fields: { rub: '1', reason }, status: 303 },
  '/customers/:id/correct': { roles: money, fields: { request: requestId, rub: '0', reason }, status: 303 },
  '/customers/:id/block': { roles: owner, fields: { reason }, status: 303 },
  '/customers/:id/unblock': { roles: owner, fields: { reason }, status: 303 },
  '/customers/:id/end-sessions': { roles: owner, fields: { reason }, status: 303 },
  // The account has money.
  '/customers/:id/delete': { roles: owner, fields: { reason, understood: 'yes' }, status: 422 },
  '/customers/:id/keys/:key': { roles: owner, fields: { name: 'laptop', budget: '9', reason }, status: 303 },
  // There is no such alarm, transfer or rate, and no file.
  '/alarms/:id/take': { roles: everybody, fields: {}, status: 422 },
  '/alarms/:id/close': { roles: everybody, fields: { reason }, status: 422 },
  '/transfers/import': { roles: money, fields: {}, status: 422 },
  '/transfers/:id/assign': { roles: money, fields: none, status: 422 },
  '/transfers/:id/return': { roles: money, fields: none, status: 422 },
  '/transfers/:id/undo': { roles: money, fields: none, status: 422 },
  '/prices/accept': { roles: owner, fields: { day: '2026-01-01' }, status: 422 },
  '/payments/:id/refund': { roles: money, fields: { rub: '1', reason }, status: 303 },
  '/documents/close': { roles: money, fields: { month: '2026-01' }, status: 200 },
  '/providers/:name/pause': { roles: owner, fields: provider, status: 303 },
  '/providers/:name/resume': { roles: owner, fields: provider, status: 303 },
  '/providers/:name/try': { roles: owner, fields: provider, status: 303 },
  '/prices/preview': { roles: owner, fields: { usdRub: '100' }, status: 200 },
}

/** A route with values for its parameters. */
function pathOf(route: string): string {
  const ids = { customers: id, payments: payment }
  const [, first = ''] = route.split('/')
  return route
    .replace(':id', ids[first as keyof typeof ids] ?? 'x')
    .replace(':key', keyId)
    .replace(':name', 'sandbox')
    .replace(/^\/prices\/history$/, '/prices/history?model=sandbox-chat')
}

await t.test('the tables here have every page and form of the desk', t => {
  t.same(deskPaths('GET').toSorted(), Object.keys(pages).toSorted())
  t.same(deskPaths('POST').toSorted(), Object.keys(forms).toSorted())
  t.end()
})

for (const role of everybody) {
  await t.test(`the role ${role} sees its pages and sends its forms, and no others`, async t => {
    const browser = await area.operator(role)
    for (const [route, roles] of Object.entries(pages)) {
      const { status } = await browser.get(pathOf(route))
      t.equal(status, roles.includes(role) ? 200 : 403, route)
    }
    t.equal((await browser.get('/security')).status, 200)
    const before = (await area.run('operator', 'log', '--json')).stdout
    for (const [route, { roles, fields, status }] of Object.entries(forms)) {
      const path = pathOf(route)
      const answer = await browser.post(path, fields, { from: '/' })
      if (!roles.includes(role)) t.equal(answer.status, 403, route)
      // A charge can be corrected to a sum only once.
      else if (route === '/customers/:id/correct' && role !== 'owner') t.equal(answer.status, 422, route)
      else t.equal(answer.status, status, `${route}: ${answer.location}`)
    }
    if (role === 'support')
      t.equal(
        (await area.run('operator', 'log', '--json')).stdout,
        before,
        'only forms of notes, which are not there',
      )
    const { text } = await browser.get(`/customers/${id}`)
    const shown = [...text.matchAll(new RegExp(`action="(/customers/${id}/[a-z-]+)"`, 'g'))].map(
      ([, path]) => path,
    )
    const expected = Object.entries(forms)
      .filter(([route, { roles }]) => route.startsWith('/customers/') && roles.includes(role))
      .map(([route]) => pathOf(route))
    t.same(new Set(shown), new Set(expected.filter(path => !/unblock|delete$|keys/.test(path))))
  })
}

await t.test('a form of another page, or without a session, is refused', async t => {
  const browser = await area.operator('owner')
  const other = await area.operator('owner')
  const csrf = await other.token('/')
  const origin = new URL(area.deskUrl).origin
  const form = { rub: '1', reason: 'r' }
  const before = (await area.run('balance', '--account', id, '--json')).stdout
  t.equal((await browser.postRaw(`/customers/${id}/credit`, { ...form, csrf }, { origin })).status, 403)
  t.equal((await browser.postRaw(`/customers/${id}/credit`, form, { origin })).status, 403)
  const own = { ...form, csrf: await browser.token('/') }
  t.equal(
    (await browser.postRaw(`/customers/${id}/credit`, own, { origin: 'https://evil.example' })).status,
    403,
  )
  t.equal((await area.run('balance', '--account', id, '--json')).stdout, before)
})

await t.test('a refused action leaves one line in the log, without the typed texts', async t => {
  const owner = await area.operator('owner')
  const support = await area.operator('support')
  const origin = new URL(area.deskUrl).origin
  const secret = 'canary-0123456789'
  const linesOf = async (act: () => Promise<unknown>) => {
    const { logLines } = area.test
    const before = logLines.length
    await act()
    await until(() => logLines.length > before)
    t.notMatch(logLines.join(''), secret)
    return logLines
      .slice(before)
      .map(line => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => /refused|could not be read/.test(String(msg)))
      .map(({ operator, path, status, failure }) => ({ operator, path, status, failure }))
  }
  const path = `/customers/${id}/credit`
  const values = { rub: '1', reason: secret }
  const operator = /./

  const denied = await linesOf(() => support.post(path, values, { from: '/' }))
  t.match(denied, [{ operator, path, status: 403, failure: 'denied' }])
  t.equal(denied.length, 1)
  t.match(await linesOf(() => support.get('/prices/preview')), [{ operator, status: 403, failure: 'denied' }])
  t.match(await linesOf(() => owner.postRaw(path, values, { origin })), [
    { operator, path, status: 403, failure: 'forbidden' },
  ])
  const preview = () => owner.post('/prices/preview', { usdRub: `92500${secret}` }, { from: '/' })
  t.match(await linesOf(preview), [{ operator, path: '/prices/preview', status: 422 }])
  const search = `/customers?q=${secret}${'a'.repeat(8000)}`
  t.match(await linesOf(() => owner.get(search)), [{ operator, path: '/customers', status: 422 }])

  let answer: { readonly status: number; readonly text: string } | undefined
  const unread = await linesOf(async () => {
    answer = await owner.get(`/customers?q=${secret}${'a'.repeat(65_536)}`)
  })
  t.match(unread, [{ status: 431 }])
  t.match(answer, { status: 431, text: /the headers of a request may have 16384 bytes together/ })
})
