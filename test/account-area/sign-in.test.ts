import t from 'tap'
import { goodPassword, startAccountArea } from '../fixtures/account-area.ts'

const area = await startAccountArea(t)
const sessionCookie = 'account.session_token'

await t.test('a visitor is redirected to sign in, and then back to the requested page', async t => {
  const { email } = await area.signUp()
  const browser = area.browser()

  const sent = await browser.get('/security?x=1')
  t.equal(sent.status, 303)
  t.equal(sent.location, '/sign-in?next=%2Fsecurity%3Fx%3D1')
  const form = await browser.follow(sent)
  t.match(form.text, 'name="next" value="/security?x=1"')
  const answer = await browser.post('/sign-in', { email, password: goodPassword, next: '/security?x=1' })

  t.equal(answer.status, 303)
  t.equal(answer.location, '/security?x=1')
  t.match((await browser.follow(answer)).text, '<h1>Безопасность</h1>')
})

await t.test('signing in does not redirect to other sites', async t => {
  const { email, browser } = await area.signUp()
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'x',
  ]) {
    const { location } = await area.browser().post('/sign-in', { email, password: goodPassword, next })
    t.equal(location, '/', next)
    const signedIn = await browser.get(`/sign-in?next=${encodeURIComponent(next)}`)
    t.equal(signedIn.location, '/', next)
    const look = await browser.post('/appearance', { language: 'ru', theme: 'dark', next }, { from: '/' })
    t.equal(look.location, '/', next)
  }
})

await t.test('signing in replaces any session cookie that the browser had', async t => {
  const { email } = await area.signUp()
  const attacker = await area.signUp()
  const planted = attacker.browser.cookies.get(sessionCookie) ?? ''
  t.not(planted, '')
  for (const cookie of [planted, 'made-up', `${'a'.repeat(32)}.${'b'.repeat(43)}=`]) {
    const browser = area.browser()
    browser.cookies.set(sessionCookie, cookie)
    // The form is not shown to a browser with a session; its token is on other pages too.
    await browser.post('/sign-in', { email, password: goodPassword }, { from: '/documents/offer' })
    const own = browser.cookies.get(sessionCookie)
    t.not(own, cookie)
    t.match((await browser.get('/')).text, email)
  }
  const again = area.browser()
  await again.post('/sign-in', { email, password: goodPassword })
  const first = again.cookies.get(sessionCookie)
  await again.post('/sign-in', { email, password: goodPassword }, { from: '/documents/offer' })
  t.not(again.cookies.get(sessionCookie), first)
  const copy = area.browser()
  copy.cookies.set(sessionCookie, first ?? '')
  t.equal((await copy.get('/')).location, '/sign-in', 'the earlier session has ended')
})

await t.test('signing out ends the session, even for a copy of its cookie', async t => {
  const { browser } = await area.signUp()
  const copy = browser.copy()

  const answer = await browser.post('/sign-out', {}, { from: '/' })

  t.equal(answer.location, '/sign-in?notice=signed-out')
  t.match((await browser.follow(answer)).text, 'Вы вышли.')
  t.equal((await copy.get('/')).location, '/sign-in')
})

await t.test('a wrong password and an unknown email get the same response', async t => {
  const { email } = await area.signUp()
  const withoutOwn = (text: string): string =>
    text.replaceAll(/value="[^"]*"/g, '').replaceAll(/<code>[^<]*<\/code>/g, '')

  const wrong = await area.browser().post('/sign-in', { email, password: 'wrong password' })
  const unknown = await area
    .browser()
    .post('/sign-in', { email: 'nobody@example.org', password: 'wrong password' })

  t.equal(wrong.status, 422)
  t.match(wrong.text, 'Почта или пароль неверны')
  t.match(wrong.text, `value="${email}"`)
  t.notMatch(wrong.text, 'wrong password')
  t.equal(withoutOwn(wrong.text), withoutOwn(unknown.text))
})

await t.test(
  'cookies are for this site, not readable by scripts, and not sent along from other sites',
  async t => {
    const { email } = await area.signUp()
    const browser = area.browser()
    const { setCookies } = await browser.get('/sign-in')
    const signedIn = await browser.post('/sign-in', { email, password: goodPassword })

    const all = [...setCookies, ...signedIn.setCookies]
    t.ok(all.length >= 2)
    for (const cookie of all) {
      t.match(cookie, /; HttpOnly/i)
      t.match(cookie, /; SameSite=Lax/i)
      t.match(cookie, /; Path=\//i)
      t.notMatch(cookie, /; Domain=/i)
    }
  },
)

await t.test('behind HTTPS cookies are Secure and browsers are told to use HTTPS only', async t => {
  const secure = await startAccountArea(t, {
    trustedProxies: ['127.0.0.1'],
    accountArea: { publicUrl: 'https://account.example.org' },
  })
  const browser = secure.browser()
  const { setCookies, headers, text } = await browser.get('/sign-up')
  t.match(headers['strict-transport-security'], /^max-age=\d{8}/)
  t.match(setCookies[0], /^__Host-account\.visitor=.*; Secure/)
  const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const email = 'secure@example.org'
  const consents = { offer: 'yes', personalData: 'yes' }
  const forwarded = { origin: 'https://account.example.org', 'x-forwarded-for': '198.51.100.7' }
  await browser.postRaw('/sign-up', { csrf, email, password: goodPassword, ...consents }, forwarded)
  const received = await secure.mail.emailTo(email, /confirm/)
  const token = /token=(\S+)/.exec(received.text)?.[1] ?? ''
  t.match(received.text, 'https://account.example.org/confirm?token=')

  const answer = await browser.postRaw('/confirm', { csrf, token, password: goodPassword }, forwarded)

  t.equal(answer.location, '/')
  const session = answer.setCookies.find(cookie => cookie.includes('session_token'))
  t.match(session, /^__Secure-account\.session_token=.*; Secure/)
  t.match((await browser.get('/security')).text, '198.51.100.7', 'the address that the proxy reported')
})
