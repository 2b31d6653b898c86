import t from 'tap'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { until } from '../fixtures/until.ts'
import type { Role } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, {
  payments: { provider: 'sandbox' },
  models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '1', output: '1' } } },
})
const { email } = await area.signUp()
const id = await area.accountOf(email)

const { id: keyId } = await area.test.accounts.createKey({ accountId: id, name: 'laptop' })

const everybody: readonly Role[] = ['owner', 'finance', 'support']
const money: readonly Role[] = ['owner', 'finance']

/** Every page and form with the roles that may use it. */
const pages: readonly (readonly [path: string, roles: readonly Role[]])[] = [
  ['/', everybody],
  ['/alarms', everybody],
  ['/alarms.csv', everybody],
  ['/customers', everybody],
  ['/customers.csv', everybody],
  ['/customers?q=%25', everybody],
  [`/customers/${id}`, everybody],
  [`/customers/${id}/keys/${keyId}`, ['owner']],
  [`/customers/${id}/delete`, ['owner']],
  ['/payments', everybody],
  ['/payments.csv', everybody],
  ['/payments?state=differing', everybody],
  ['/transfers', everybody],
  ['/transfers.csv', everybody],
  ['/documents', everybody],
  ['/documents.csv', everybody],
  [`/movements?account=${id}`, everybody],
  [`/movements.csv?account=${id}`, everybody],
  ['/requests', everybody],
  ['/requests.csv', everybody],
  ['/providers', everybody],
  ['/prices', everybody],
  ['/prices/history?model=sandbox-chat', everybody],
  ['/prices/preview', ['owner']],
  ['/log', everybody],
  ['/log.csv', everybody],
  ['/security', everybody],
]
const forms: readonly (readonly [path: string, roles: readonly Role[]])[] = [
  [`/customers/${id}/note`, everybody],
  [`/customers/${id}/credit`, money],
  [`/customers/${id}/debit`, money],
  [`/customers/${id}/correct`, money],
  [`/customers/${id}/block`, ['owner']],
  [`/customers/${id}/unblock`, ['owner']],
  [`/customers/${id}/end-sessions`, ['owner']],
  [`/customers/${id}/delete`, ['owner']],
  [`/customers/${id}/keys/${keyId}`, ['owner']],
  ['/alarms/x/take', everybody],
  ['/alarms/x/close', everybody],
  ['/payments/x/refund', money],
  ['/transfers/import', money],
  ['/transfers/x/assign', money],
  ['/transfers/x/return', money],
  ['/transfers/x/undo', money],
  ['/documents/close', money],
  ['/providers/sandbox/pause', ['owner']],
  ['/providers/sandbox/resume', ['owner']],
  ['/providers/sandbox/try', ['owner']],
  ['/prices/accept', ['owner']],
  ['/prices/preview', ['owner']],
]

for (const role of everybody) {
  await t.test(`what the role ${role} sees and may do`, async t => {
    const browser = await area.operator(role)
    for (const [path, roles] of pages) {
      t.equal((await browser.get(path)).status, roles.includes(role) ? 200 : 403, path)
    }
    for (const [path, roles] of forms) {
      // Nothing is filled in: whoever may is told so, or that there is nothing of that name.
      const { status } = await browser.post(path, {}, { from: '/' })
      if (roles.includes(role)) t.ok([303, 404, 422].includes(status), `${path}: ${status}`)
      else t.equal(status, 403, path)
    }
    const { text } = await browser.get(`/customers/${id}`)
    const shown = [...text.matchAll(new RegExp(`action="(/customers/${id}/[a-z-]+)"`, 'g'))].map(
      ([, path]) => path,
    )
    const expected = forms.filter(([path, roles]) => path.startsWith('/customers/') && roles.includes(role))
    t.same(
      new Set(shown),
      new Set(expected.map(([path]) => path).filter(path => !/unblock|delete$|keys/.test(path))),
    )
  })
}

await t.test('a form of another page, or of nobody, is refused', async t => {
  const browser = await area.operator('owner')
  const other = await area.operator('owner')
  const csrf = await other.token('/')
  const origin = new URL(area.deskUrl).origin
  const form = { rub: '1', reason: 'r' }
  t.equal((await browser.postRaw(`/customers/${id}/credit`, { ...form, csrf }, { origin })).status, 403)
  t.equal((await browser.postRaw(`/customers/${id}/credit`, form, { origin })).status, 403)
  const own = { ...form, csrf: await browser.token('/') }
  t.equal(
    (await browser.postRaw(`/customers/${id}/credit`, own, { origin: 'https://evil.example' })).status,
    403,
  )
  const { stdout } = await area.run('balance', '--account', id, '--json')
  t.match(stdout, '"balance":"0.000000"')
})

await t.test(
  'what is refused leaves one line, with who asked for what and nothing of what they typed',
  async t => {
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
    t.match(await linesOf(() => support.get('/prices/preview')), [
      { operator, status: 403, failure: 'denied' },
    ])
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
  },
)
