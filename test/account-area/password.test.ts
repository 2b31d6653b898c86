import t from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import { until } from '../fixtures/until.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'

const area = await startAccountArea(t)
const newPassword = 'another good phrase'

async function askForReset(browser: AccountBrowser, email: string): Promise<string> {
  await browser.post('/forgot-password', { email })
  const { text } = await area.mail.emailTo(email, /\/reset-password\?token=/)
  return linkIn(text)
}

function tokenOf(path: string): string {
  return new URL(path, area.url).searchParams.get('token') ?? ''
}

await t.test('a forgotten password is replaced through an email, once, and all sessions end', async t => {
  const { email, browser: open } = await area.signUp()
  const browser = area.browser()
  const path = await askForReset(browser, email)
  const token = tokenOf(path)

  t.equal((await browser.get(path)).status, 200)
  const short = await browser.post('/reset-password', { token, newPassword: 'short' }, { from: path })
  t.equal(short.status, 422)
  const answer = await browser.post('/reset-password', { token, newPassword }, { from: path })

  t.equal(answer.location, '/security?notice=password-reset')
  t.equal((await open.get('/')).location, '/sign-in', 'the earlier session has ended')
  t.equal((await browser.get('/security')).status, 200, 'the browser that set it is signed in')
  const elsewhere = area.browser()
  t.equal((await elsewhere.post('/sign-in', { email, password: goodPassword })).status, 422)
  t.equal((await elsewhere.post('/sign-in', { email, password: newPassword })).location, '/')
  await area.mail.emailTo(email, /Пароль изменён/)
  const again = await area
    .browser()
    .post('/reset-password', { token, newPassword: goodPassword }, { from: path })
  t.equal(again.status, 410)
})

await t.test('the response to a reset does not show whether an address has a user', async t => {
  const { email } = await area.signUp()
  const known = await area.browser().post('/forgot-password', { email })
  await area.mail.emailTo(email, /reset-password/)
  const before = area.mail.emails.length

  const unknown = await area.browser().post('/forgot-password', { email: 'nobody@example.org' })

  t.same([unknown.status, unknown.location], [known.status, known.location])
  t.match((await area.browser().follow(unknown)).text, 'Если такой пользователь есть')
  t.equal(area.mail.emails.length, before)
})

await t.test('the number of reset emails to one mailbox is limited', async t => {
  const { email } = await area.signUp()
  const browser = area.browser()
  const count = (): number => area.mail.emails.filter(({ to }) => to === email).length

  for (let times = 0; times < 10; times += 1) {
    const { status } = await browser.post('/forgot-password', { email })
    t.equal(status, 303, 'the response does not show when the limit is reached')
  }

  await until(() => count() >= 7)
  t.equal(count(), 7, 'six emails beside the one for signing up')
})

await t.test('a network can request sixty emails an hour, of all kinds together', async t => {
  const own = await startAccountArea(t, { trustedProxies: ['127.0.0.1'] })
  const { email } = await own.signUp()
  const browserAt = (address: string): AccountBrowser => {
    const browser = own.browser()
    browser.headers['x-forwarded-for'] = address
    return browser
  }
  const stranger = browserAt('2001:db8:1:2::1')
  const csrf = await stranger.token('/forgot-password')
  for (let times = 0; times < 60; times += 1) {
    const headers = { origin: new URL(own.url).origin, 'x-forwarded-for': `2001:db8:1:2::${times + 1}` }
    const asked = await stranger.postRaw(
      '/forgot-password',
      { csrf, email: `x-${times}@example.org` },
      headers,
    )
    t.equal(asked.status, 303)
  }
  const before = own.mail.emails.length

  const neighbour = browserAt('2001:db8:1:2:ffff::9')
  const newcomer = { email: 'new@example.org', password: goodPassword, offer: 'yes', personalData: 'yes' }
  t.equal((await neighbour.post('/forgot-password', { email })).status, 303, 'the response does not show it')
  t.equal((await neighbour.post('/sign-up', newcomer)).status, 303)
  await browserAt('2001:db8:1:3::1').post('/forgot-password', { email })

  await own.mail.emailTo(email, /reset-password/)
  t.equal(own.mail.emails.length, before + 1, 'only the email that another network requested')
})

await t.test('a user whom an operator made signs in with a new password, and must consent first', async t => {
  const own = await startAccountArea(t)
  const email = 'made@example.org'
  const { id } = await own.test.accounts.createAccount({ email })
  await own.test.accounts.credit({ accountId: id, amountMicros: 12_345_000_000, reason: 'test' })
  const browser = own.browser()
  await browser.post('/forgot-password', { email })
  const path = linkIn((await own.mail.emailTo(email, /reset-password/)).text)
  await browser.post('/reset-password', { token: tokenOf(path), newPassword }, { from: path })

  t.equal((await browser.get('/')).location, '/consents')
  const refused = await browser.post('/consents', { offer: 'yes' })
  t.equal(refused.status, 422)
  t.equal((await browser.post('/consents', { offer: 'yes', personalData: 'yes' })).location, '/')

  t.match((await browser.get('/')).text, '12\u202f345,00\u00a0₽', 'the user sees the account')
  t.equal((await browser.get('/consents')).location, '/')
})

await t.test('a used or invalid link is reported before a password is entered', async t => {
  const { email, browser } = await area.signUp()
  await browser.post('/forgot-password', { email })
  const path = linkIn((await area.mail.emailTo(email, /reset-password/)).text)
  t.match((await browser.get(path)).text, 'id="newPassword"')
  await browser.post('/reset-password', { token: tokenOf(path), newPassword }, { from: path })

  for (const dead of [path, '/reset-password', '/reset-password?token=x', '/reset-password?token=%00%27']) {
    const { status, text } = await browser.get(dead)
    t.equal(status, 410, dead)
    t.match(text, 'href="/forgot-password"')
    t.notMatch(text, 'newPassword')
  }
})

await t.test('changing the password invalidates the old one, and ends the other sessions', async t => {
  const { email, browser } = await area.signUp()
  const other = area.browser()
  await other.post('/sign-in', { email, password: goodPassword })
  const copy = browser.copy()
  const change = { currentPassword: goodPassword, newPassword }

  const wrong = await browser.post(
    '/security/password',
    { ...change, currentPassword: 'wrong password' },
    { from: '/security' },
  )
  t.equal(wrong.status, 422)
  t.match(wrong.text, /id="currentPassword-error">Пароль неверен/)
  const answer = await browser.post('/security/password', change, { from: '/security' })

  t.equal(answer.location, '/security?notice=password-changed')
  const received = await area.mail.emailTo(email, /остальные сеансы завершены.*Если это были не вы/s)
  t.match(received.subject, 'Пароль изменён')
  t.equal(linkIn(received.text), '/forgot-password')
  t.match((await browser.follow(answer)).text, 'остальные сеансы завершены')
  t.equal((await other.get('/')).location, '/sign-in')
  t.equal((await copy.get('/')).location, '/sign-in', 'a copy of the old cookie is invalid')
  t.equal((await area.browser().post('/sign-in', { email, password: newPassword })).location, '/')
})

await t.test('a new password invalidates earlier links to set one', async t => {
  const { email, browser } = await area.signUp()
  const linkAfter = async (count: number): Promise<string> => {
    await browser.post('/forgot-password', { email })
    const sent = () => area.mail.emails.filter(({ to, text }) => to === email && /reset-password/.test(text))
    await until(() => sent().length === count)
    return linkIn(sent().at(-1)?.text ?? '')
  }
  const set = async (link: string, phrase: string): Promise<number> => {
    const fields = { token: tokenOf(link), newPassword: phrase }
    return (await area.browser().post('/reset-password', fields, { from: link })).status
  }
  const links = [await linkAfter(1), await linkAfter(2)]
  await browser.post(
    '/security/password',
    { currentPassword: goodPassword, newPassword },
    { from: '/security' },
  )
  t.equal(await set(links[0] ?? '', 'stolen password'), 410, 'not after a change')

  const own = await linkAfter(3)
  links.push(await linkAfter(4))
  t.equal(await set(own, newPassword), 303)

  for (const link of links.slice(1)) t.equal(await set(link, 'stolen password'), 410, 'nor after a reset')
})
