import t from 'tap'
import { notificationsPath } from '../../lib/payments/open-payments.ts'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import { accountPaths } from '../fixtures/account-pages.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'
import { payByCard, sandboxPayments } from '../fixtures/account-payment.ts'

const chat = { provider: 'sandbox', outputTokensMax: 1000, rubPerMillion: { input: '100', output: '400' } }
const area = await startAccountArea(t, {
  models: { chat: { ...chat, upstreamModel: 'sandbox-chat' } },
  payments: sandboxPayments,
})

/** Whether an accountant may open each page of a signed-in user, and send each form: the whole list. */
const mayAccountant: Readonly<Record<'GET' | 'POST', Readonly<Record<string, boolean>>>> = {
  GET: {
    '/consents': true,
    '/balance': true,
    '/balance.csv': true,
    '/balance/payments/:id': true,
    '/balance/receipts': true,
    '/balance/receipts/:id': true,
    '/balance/auto': false,
    '/balance/invoices/:id': true,
    '/balance/invoices/:id/pdf': true,
    '/documents': true,
    '/documents/closing/:id': true,
    '/documents/months/:month': true,
    '/documents/reconciliation': true,
    '/settings/company': true,
    '/keys': false,
    '/keys/new': false,
    '/keys/:id/revoke': false,
    '/charges': false,
    '/charges.csv': false,
    '/charges/:requestId': false,
    '/models': true,
    '/quick-start': false,
    '/settings': true,
    '/settings/email': true,
    '/settings/delete': false,
    '/settings/members': false,
    '/security': true,
    '/accounts': true,
  },
  POST: {
    '/consents': true,
    '/balance/top-up': true,
    '/balance/auto': false,
    '/balance/auto/off': false,
    '/balance/auto/unlink': false,
    '/balance/invoices': true,
    '/balance/invoices/:id/cancel': true,
    '/settings/company': true,
    '/settings/company/check': true,
    '/keys/new': false,
    '/keys/:id/revoke': false,
    '/settings/profile': true,
    '/settings/email': true,
    '/settings/email/confirm': true,
    '/settings/alert': false,
    '/settings/delete': false,
    '/settings/members': false,
    '/settings/members/withdraw': false,
    '/settings/members/remove': false,
    '/security/password': true,
    '/security/sessions/end': true,
    '/security/sessions/end-others': true,
    '/security/two-factor': true,
    '/security/two-factor/confirm': true,
    '/security/two-factor/remove': true,
    '/security/two-factor/backup-codes': true,
    '/accounts/use': true,
    '/accounts/leave': true,
    '/accounts/accept': true,
    '/accounts/decline': true,
  },
}

/** Pages and forms that need no session, or that owners reach in another way. */
const openPaths = {
  GET: [
    '/',
    '/sign-up',
    '/check-mail',
    '/confirm',
    '/sign-in',
    '/sign-in/code',
    '/forgot-password',
    '/forgot-password/sent',
    '/reset-password',
    '/documents/offer',
    '/documents/personal-data',
    '/invoices/:token',
    '/invoices/:token/pdf',
  ],
  POST: [
    '/sign-up',
    '/check-mail',
    '/confirm',
    '/sign-in',
    '/sign-in/code',
    '/forgot-password',
    '/reset-password',
    '/sign-out',
    '/appearance',
    notificationsPath,
  ],
}

const noAccess = 'Эта страница — для владельца лицевого счёта.'

interface Couple {
  readonly owner: AccountBrowser
  readonly ownerEmail: string
  readonly accountId: string
  readonly accountant: AccountBrowser
  readonly accountantEmail: string
}

/** An owner and an accountant invited by the owner. */
async function couple(): Promise<Couple> {
  const owner = await area.signUp()
  const accountant = await area.signUp()
  const accountId = await area.accountOf(owner.email)
  await owner.browser.post('/settings/members', { email: accountant.email })
  await accountant.browser.post('/accounts/accept', { account: accountId }, { from: '/accounts' })
  return {
    owner: owner.browser,
    ownerEmail: owner.email,
    accountId,
    accountant: accountant.browser,
    accountantEmail: accountant.email,
  }
}

await t.test('an accountant is invited by email, signs up with the address and sees the account', async t => {
  const owner = await area.signUp()
  const accountId = await area.accountOf(owner.email)
  const email = 'buh@example.org'

  const sent = await owner.browser.post('/settings/members', { email: 'Buh@Example.org ' })
  t.match((await owner.browser.follow(sent)).text, 'Приглашение отправлено.')
  const { text, subject } = await area.mail.emailTo(email, /приглашает/)
  t.match(subject, 'Приглашение вести бухгалтерию')
  t.match(text, owner.email)
  t.equal(linkIn(text), '/accounts')
  const { browser } = await area.signUp(email)
  t.match((await browser.get('/')).text, 'Вас пригласили к чужому лицевому счёту.')
  t.match((await browser.get('/accounts')).text, `Вас приглашают вести бухгалтерию: ${owner.email}`)
  const accepted = await browser.post('/accounts/accept', { account: accountId }, { from: '/accounts' })

  t.equal(accepted.location, '/')
  t.equal((await browser.get('/')).location, '/balance')
  const balance = await browser.get('/balance')
  t.equal(balance.status, 200)
  t.match(balance.text, `title="Лицевые счета">${owner.email}<`)
  t.notMatch(balance.text, /href="\/(keys|charges|quick-start)"/)
  t.match((await owner.browser.get('/settings/members')).text, /buh@example\.org[^]*Бухгалтер/)
})

await t.test('the list covers every page and form of the router', async t => {
  for (const method of ['GET', 'POST'] as const) {
    t.strictSame(
      accountPaths(method).toSorted(),
      [...openPaths[method], ...Object.keys(mayAccountant[method])].toSorted(),
      method,
    )
  }
})

await t.test('each page and form is refused to an accountant exactly where the list says so', async t => {
  const { owner, accountant } = await couple()
  const { payment, receipt } = await payByCard(owner)
  const ids: Record<string, string> = {
    '/balance/payments/:id': payment,
    '/balance/receipts/:id': receipt,
  }
  for (const [route, isAllowed] of Object.entries(mayAccountant.GET)) {
    const path = ids[route] ?? route.replaceAll(/:\w+/g, '0'.repeat(26))
    const { status, text } = await accountant.get(path)
    t.equal(status === 403 && text.includes(noAccess), !isAllowed, `GET ${route}`)
    if (isAllowed) t.ok([200, 303, 404, 410, 422].includes(status), `GET ${route} is ${status}`)
    t.not((await owner.get(path)).status, 403, `GET ${route} of the owner`)
    t.match((await area.browser().get(path)).location, /^\/sign-in/, `GET ${route} of a visitor`)
  }
  for (const [route, isAllowed] of Object.entries(mayAccountant.POST)) {
    const path = route.replaceAll(/:\w+/g, '0'.repeat(26))
    const { status, text } = await accountant.post(path, {}, { from: '/accounts' })
    t.equal(status === 403, !isAllowed, `POST ${route} is ${status}`)
    if (!isAllowed) t.ok(text.includes(noAccess))
  }
})

await t.test('no page of an accountant shows keys or requests', async t => {
  const { owner, accountant, accountId } = await couple()
  const { accounts, url } = area.test
  await accounts.credit({ accountId, amountMicros: 100_000_000, reason: 'test' })
  const { id, key } = await accounts.createKey({ accountId, name: 'Ключ Анны' })
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await response.text()
  const requestId = response.headers.get('x-gateway-request-id') ?? ''
  await area.test.chargeOf(requestId)
  t.match((await owner.get('/charges')).text, requestId)

  for (const [route, isAllowed] of Object.entries(mayAccountant.GET)) {
    const { text } = await accountant.get(route)
    for (const secret of [requestId, id, key.slice(-4), 'Ключ Анны'])
      t.notOk(text.includes(secret), `${route}${isAllowed ? '' : ', refused'}`)
  }
})

await t.test('a stranger and a removed member have no access', async t => {
  const { owner, ownerEmail, accountant, accountantEmail, accountId } = await couple()
  const stranger = await area.signUp()
  const from = '/accounts'
  for (const action of ['use', 'accept', 'leave'])
    t.equal(
      (await stranger.browser.post(`/accounts/${action}`, { account: accountId }, { from })).status,
      404,
    )
  stranger.browser.cookies.set('account.current', accountId)
  t.notMatch((await stranger.browser.get('/balance')).text, ownerEmail, 'a cookie alone gives no access')

  const user = /name="user" value="(\w+)"/.exec((await owner.get('/settings/members')).text)?.[1] ?? ''
  const token = await accountant.token('/balance')
  const removed = await owner.post('/settings/members/remove', { user }, { from: '/settings/members' })
  t.match((await owner.follow(removed)).text, 'Доступ закрыт.')
  t.notMatch((await accountant.get('/balance')).text, ownerEmail)
  const origin = new URL(area.url).origin
  const late = await accountant.postRaw('/balance/top-up', { csrf: token, amount: '100' }, { origin })
  t.equal(late.status, 403, "a form shown before is not accepted for the user's own account")

  await owner.post('/settings/members', { email: accountantEmail })
  t.match((await owner.get('/settings/members')).text, 'Отозвать')
  await owner.post('/settings/members/withdraw', { email: accountantEmail }, { from: '/settings/members' })
  t.equal((await accountant.post('/accounts/accept', { account: accountId }, { from })).status, 404)
  await owner.post('/settings/members', { email: accountantEmail })
  const declined = await accountant.post('/accounts/decline', { account: accountId }, { from })
  t.match((await accountant.follow(declined)).text, 'Приглашение отклонено.')
  t.equal((await accountant.post('/accounts/accept', { account: accountId }, { from })).status, 404)
})

await t.test('a form is valid only for the account that it was shown for', async t => {
  const { accountant, accountantEmail, accountId } = await couple()
  const ownId = await area.accountOf(accountantEmail)
  const token = await accountant.token('/settings')
  const used = await accountant.post('/accounts/use', { account: ownId }, { from: '/accounts' })
  t.equal(used.location, '/')
  t.equal((await accountant.get('/keys')).status, 200)
  const origin = new URL(area.url).origin
  const fields = { csrf: token, name: 'x', language: 'ru' }
  t.equal((await accountant.postRaw('/settings/profile', fields, { origin })).status, 403)

  await accountant.post('/accounts/use', { account: accountId }, { from: '/accounts' })
  t.equal((await accountant.get('/keys')).status, 403)
  t.equal((await accountant.postRaw('/settings/profile', fields, { origin })).status, 303)
  await accountant.post('/accounts/leave', { account: accountId }, { from: '/accounts' })
  t.equal((await accountant.get('/keys')).status, 200)
})

await t.test('an invitation that cannot be sent shows why', async t => {
  const { owner, ownerEmail, accountantEmail } = await couple()
  for (const [email, message] of [
    ['nobody', 'Это не похоже на адрес'],
    [ownerEmail, 'У этого человека уже есть доступ.'],
    [accountantEmail, 'У этого человека уже есть доступ.'],
  ] as const) {
    const { status, text } = await owner.post('/settings/members', { email })
    t.equal(status, 422)
    t.match(text, message)
  }
  for (let count = 1; count <= 6; count += 1)
    await owner.post('/settings/members', { email: 'often@example.org' })
  const { status, text } = await owner.post('/settings/members', { email: 'often@example.org' })
  t.equal(status, 422)
  t.match(text, 'Слишком много писем.')
})

await t.test('a deleted accountant keeps nothing of the account', async t => {
  const { owner, accountant, accountantEmail } = await couple()
  const own = await area.accountOf(accountantEmail)
  await accountant.post('/accounts/use', { account: own }, { from: '/accounts' })

  const fields = { currentPassword: goodPassword, understood: 'yes' }
  t.match((await accountant.post('/settings/delete', fields)).location, /account-deleted/)

  t.notMatch((await owner.get('/settings/members')).text, accountantEmail)
  t.match((await owner.get('/balance')).text, 'Баланс', 'the owner is not affected')
})
