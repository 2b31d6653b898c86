import t from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'

const area = await startAccountArea(t)
const from = '/settings'
const currentPassword = goodPassword

/** Requests another email; returns the target of the link in the email. */
async function askForEmail(browser: AccountBrowser, newEmail: string): Promise<string> {
  const { location, text: page } = await browser.post(
    '/settings/email',
    { newEmail, currentPassword },
    { from },
  )
  if (location !== '/settings?notice=email-letter-sent') throw new Error(page)
  const { text } = await area.mail.emailTo(newEmail.trim().toLowerCase(), /\/settings\/email\?token=/)
  return linkIn(text)
}

function tokenOf(path: string): string {
  return new URL(path, area.url).searchParams.get('token') ?? ''
}

await t.test('name and language are stored, and no other field that is sent', async t => {
  const { email, browser } = await area.signUp()

  const answer = await browser.post(
    '/settings/profile',
    {
      name: ' <b>Анна</b> ',
      language: 'en',
      email: 'x@example.org',
      role: 'house',
      balance_micros: '1000000',
    },
    { from },
  )

  t.equal(answer.location, '/settings?notice=profile-saved')
  const { text } = await browser.follow(answer)
  t.match(text, '<html lang="en"')
  t.match(text, 'Saved.')
  t.match(text, 'value="&lt;b&gt;Анна&lt;/b&gt;"')
  t.match(text, email)
  t.notMatch(text, '<b>')
  t.match((await browser.get('/')).text, '0.00\u00a0₽')
  const long = await browser.post('/settings/profile', { name: 'x'.repeat(101), language: 'en' }, { from })
  t.equal(long.status, 422)
  t.match(long.text, /id="name-error">Too long/)
  t.match(long.text, 'x'.repeat(101), 'what was typed stays in the field')
  const odd = await browser.post('/settings/profile', { name: 'x', language: 'xx' }, { from })
  t.equal(odd.status, 422)
})

await t.test('a new email takes effect once its link is confirmed, and only once', async t => {
  const { email, browser } = await area.signUp()
  const newEmail = 'another@example.org'
  const path = await askForEmail(browser, ' Another@Example.org ')
  t.match((await browser.get(from)).text, email, 'the request changes nothing')
  t.match((await browser.get(path)).text, newEmail)
  t.match((await browser.get(from)).text, email, 'following the link changes nothing')

  const answer = await browser.post('/settings/email/confirm', { token: tokenOf(path) }, { from: path })

  t.equal(answer.location, '/settings?notice=email-changed')
  t.match((await browser.follow(answer)).text, newEmail)
  await area.mail.emailTo(email, /another@example\.org/)
  t.equal((await area.browser().post('/sign-in', { email, password: goodPassword })).status, 422)
  const again = area.browser()
  t.equal((await again.post('/sign-in', { email: newEmail, password: goodPassword })).location, '/')
  t.not(await area.accountOf(newEmail), '', 'the account has the new email too')
  t.equal(await area.accountOf(email), '')
  t.equal((await browser.get(path)).status, 410)
  const twice = await browser.post('/settings/email/confirm', { token: tokenOf(path) }, { from })
  t.equal(twice.status, 410)
})

await t.test('changing the email needs the password, and mistakes are reported at their fields', async t => {
  const { email, browser } = await area.signUp()
  const wrong = await browser.post(
    '/settings/email',
    { newEmail: 'kept@example.org', currentPassword: 'wrong password' },
    { from },
  )
  t.equal(wrong.status, 422)
  t.match(wrong.text, /id="currentPassword-error">Пароль неверен/)
  t.match(wrong.text, 'value="kept@example.org"')
  t.notMatch(wrong.text, 'wrong password')
  const same = await browser.post('/settings/email', { newEmail: email, currentPassword }, { from })
  t.match(same.text, /id="newEmail-error">Это и есть ваша почта/)
  const none = await browser.post('/settings/email', { newEmail: 'x', currentPassword }, { from })
  t.match(none.text, /id="newEmail-error">Это не похоже на адрес/)
})

await t.test('only the owner of an address learns that it is in use', async t => {
  const owner = await area.signUp()
  const { browser } = await area.signUp()

  const answer = await browser.post('/settings/email', { newEmail: owner.email, currentPassword }, { from })

  t.equal(answer.location, '/settings?notice=email-letter-sent', 'the same as for an unused address')
  const { text } = await area.mail.emailTo(owner.email, /Кто-то хотел/)
  t.notMatch(text, 'token')
})

await t.test('an address that came into use meanwhile is not assigned twice', async t => {
  const { email, browser } = await area.signUp()
  const path = await askForEmail(browser, 'wanted@example.org')
  await area.signUp('wanted@example.org')

  const answer = await browser.post('/settings/email/confirm', { token: tokenOf(path) }, { from })

  t.equal(answer.status, 410)
  t.match((await browser.get(from)).text, email)
})

await t.test('links of another user and forged links have no effect', async t => {
  const attacker = await area.signUp()
  const victim = await area.signUp()
  const path = await askForEmail(attacker.browser, 'mine@example.org')
  const [head = '', claims = ''] = tokenOf(path).split('.')
  const { text } = await area.mail.emailTo(victim.email, /\/confirm\?token=/)
  for (const token of [tokenOf(path), '', 'x.y.z', `${head}.${claims}.`, tokenOf(linkIn(text))]) {
    const shown = await victim.browser.get(`/settings/email?token=${encodeURIComponent(token)}`)
    t.equal(shown.status, 410)
    const answer = await victim.browser.post('/settings/email/confirm', { token }, { from })
    t.equal(answer.status, 410)
  }
  t.equal(
    (await area.browser().get(path)).status,
    303,
    'a visitor who is not signed in is redirected to sign in',
  )
  t.match((await victim.browser.get(from)).text, victim.email)
  const confirm = await area
    .browser()
    .post('/confirm', { token: tokenOf(path), password: goodPassword }, { from: '/sign-in' })
  t.equal(confirm.status, 410, 'the link does not confirm a sign-up either')
})

await t.test('earlier links are invalid once a new password is set', async t => {
  const { email, browser } = await area.signUp()
  const path = await askForEmail(browser, 'late@example.org')
  await browser.post('/forgot-password', { email })
  const reset = linkIn((await area.mail.emailTo(email, /reset-password/)).text)

  await browser.post('/settings/email/confirm', { token: tokenOf(path) }, { from: path })

  const answer = await area
    .browser()
    .post('/reset-password', { token: tokenOf(reset), newPassword: 'stolen password' }, { from: reset })
  t.equal(answer.status, 410, 'the old mailbox gives no access')
})
