import t from 'tap'
import { goodPassword, startAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'
import { earlierCode, oneTimeCode } from '../fixtures/one-time-code.ts'
import { readQrCode } from '../fixtures/read-qr-code.ts'

const area = await startAccountArea(t)
const from = '/security'

/** Switches it on; returns the secret and the backup codes. */
async function setUp(browser: AccountBrowser): Promise<{ secret: string; backupCodes: string[] }> {
  const { text } = await browser.post('/security/two-factor', { password: goodPassword }, { from })
  const secret = /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? ''
  const backupCodes = (/id="backup-codes">([^<]+)</.exec(text)?.[1] ?? '').trim().split('\n')
  const answer = await browser.post(
    '/security/two-factor/confirm',
    { code: await earlierCode(secret) },
    { from },
  )
  t.equal(answer.location, '/security?notice=two-factor-on')
  return { secret, backupCodes }
}

async function passwordStep(email: string): Promise<AccountBrowser> {
  const own = area.browser()
  const answer = await own.post('/sign-in', { email, password: goodPassword, next: '/security' })
  t.equal(answer.location, '/sign-in/code?next=%2Fsecurity')
  return own
}

await t.test('the QR code contains the secret that is shown beside it', async t => {
  const { email, browser } = await area.signUp()
  const { text } = await browser.post('/security/two-factor', { password: goodPassword }, { from })
  const secret = /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? ''
  const uri = new URL(readQrCode(text))
  t.equal(uri.protocol, 'otpauth:')
  t.match(decodeURIComponent(uri.pathname), email)
  t.equal(uri.searchParams.get('secret'), secret)
})

await t.test('with a second factor the password alone gives no access', async t => {
  const { email, browser } = await area.signUp()
  const { secret } = await setUp(browser)

  const own = await passwordStep(email)
  t.equal((await own.get('/')).location, '/sign-in')
  const wrong = await own.post('/sign-in/code', { code: '000000', next: '/security' })
  t.equal(wrong.status, 422)
  t.match(wrong.text, 'Код неверен')
  const code = oneTimeCode(secret)
  const answer = await own.post('/sign-in/code', {
    code: `${code.slice(0, 3)} ${code.slice(3)}`,
    next: '/security',
  })

  t.equal(answer.location, '/security')
  t.match((await own.get('/security')).text, 'Включён: кроме пароля')
})

await t.test('the second factor is on only after a correct first code', async t => {
  const { email, browser } = await area.signUp()
  await browser.post('/security/two-factor', { password: goodPassword }, { from })

  const wrong = await browser.post('/security/two-factor/confirm', { code: '000000' }, { from })

  t.equal(wrong.status, 422)
  t.equal((await area.browser().post('/sign-in', { email, password: goodPassword })).location, '/')
})

await t.test('a wrong first code leaves the QR code and the backup codes on the page', async t => {
  const { email, browser } = await area.signUp()
  const shown = (text: string) => ({
    secret: /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? '',
    codes: /id="backup-codes">([^<]+)</.exec(text)?.[1],
    qr: text.includes('<svg') ? new URL(readQrCode(text)).searchParams.get('secret') : undefined,
    setup: (/name="setup" value="([^"]+)"/.exec(text)?.[1] ?? '')
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&'),
  })
  const first = shown((await browser.post('/security/two-factor', { password: goodPassword }, { from })).text)
  const confirm = (code: string, setup = first.setup) =>
    browser.post('/security/two-factor/confirm', { code, setup }, { from })

  for (const code of ['000000', '', 'x'.repeat(100)]) {
    const again = await confirm(code)
    t.equal(again.status, 422)
    t.match(again.text, /id="code"[^>]*aria-invalid="true"/)
    t.strictSame(shown(again.text), first)
  }
  for (const setup of ['', '{', '{"uri":"javascript:alert(1)"}', 'x'.repeat(5000)])
    t.notMatch((await confirm('000000', setup)).text, 'factor-secret')

  t.equal((await confirm(oneTimeCode(first.secret))).location, '/security?notice=two-factor-on')
  const code = first.codes?.trim().split('\n')[3] ?? ''
  t.equal((await (await passwordStep(email)).post('/sign-in/code', { code })).location, '/')
})

await t.test('new backup codes need the password, and invalidate the old ones', async t => {
  const { email, browser } = await area.signUp()
  const path = '/security/two-factor/backup-codes'
  t.notMatch((await browser.get(from)).text, path, 'not before it is on')
  t.equal(
    (await browser.post(path, { password: goodPassword }, { from })).location,
    '/security?notice=two-factor-off',
  )
  const { backupCodes } = await setUp(browser)
  const refused = await browser.post(path, { password: 'wrong password' }, { from })
  t.equal(refused.status, 422)
  t.match(refused.text, /id="backup-password"[^>]*aria-invalid="true"/)

  const { status, text } = await browser.post(path, { password: goodPassword }, { from })

  t.equal(status, 200)
  const made = (/id="backup-codes">([^<]+)</.exec(text)?.[1] ?? '').trim().split('\n')
  t.equal(made.length, backupCodes.length)
  const old = await (await passwordStep(email)).post('/sign-in/code', { code: backupCodes[0] ?? '' })
  t.equal(old.status, 422)
  t.equal((await (await passwordStep(email)).post('/sign-in/code', { code: made[0] ?? '' })).location, '/')
  t.match(await area.mail.emailTo(email, /новые резервные коды.*Если это были не вы/s), {
    subject: /резервные/,
  })
})

await t.test('switching it on ends the sessions that the password alone has opened', async t => {
  const { email, browser } = await area.signUp()
  const other = area.browser()
  await other.post('/sign-in', { email, password: goodPassword })

  await setUp(browser)

  t.equal((await other.get('/security')).location, '/sign-in?next=%2Fsecurity')
  t.match((await browser.get('/security')).text, 'Включён: кроме пароля')
})

await t.test('a browser that is asked for a code loses its earlier session, on the server too', async t => {
  const { email, browser } = await area.signUp()
  await setUp(browser)
  const copy = browser.copy()

  await browser.post('/sign-in', { email, password: goodPassword }, { from: '/documents/offer' })

  t.equal((await browser.get('/')).location, '/sign-in')
  t.equal((await copy.get('/')).location, '/sign-in')
})

await t.test('a backup code is valid once', async t => {
  const { email, browser } = await area.signUp()
  const { backupCodes } = await setUp(browser)
  t.ok(backupCodes.length >= 8)
  const code = backupCodes[0] ?? ''

  t.equal((await (await passwordStep(email)).post('/sign-in/code', { code })).location, '/')
  const second = await (await passwordStep(email)).post('/sign-in/code', { code })

  t.equal(second.status, 422)
})

await t.test('the code that switched it on cannot be used to sign in', async t => {
  const { email, browser } = await area.signUp()
  const { secret } = await setUp(browser)

  const answer = await (await passwordStep(email)).post('/sign-in/code', { code: await earlierCode(secret) })

  t.equal(answer.status, 422)
  t.match(answer.text, 'код уже использован')
})

await t.test('a code of the app is valid once, too', async t => {
  const { email, browser } = await area.signUp()
  const { secret } = await setUp(browser)
  const code = oneTimeCode(secret)
  const [one, other] = [await passwordStep(email), await passwordStep(email)]

  const answers = await Promise.all([one, other].map(own => own.post('/sign-in/code', { code })))
  const third = await passwordStep(email)
  answers.push(await third.post('/sign-in/code', { code }))

  t.equal(answers.filter(({ status }) => status === 422).length, 2)
  t.match(answers[2]?.text, 'код уже использован')
  t.equal((await third.get('/')).location, '/sign-in')
  const { text } = await browser.get('/security')
  t.equal([...text.matchAll(/name="id" value=/g)].length, 1, 'the refused sign-ins left no session')
})

await t.test('a form from before the second factor was on changes nothing', async t => {
  const { email, browser } = await area.signUp()
  const { secret } = await setUp(browser)

  const answer = await browser.post('/security/two-factor', { password: goodPassword }, { from })

  t.equal(answer.location, '/security?notice=two-factor-on')
  t.equal(
    (await (await passwordStep(email)).post('/sign-in/code', { code: oneTimeCode(secret) })).status,
    303,
  )
})

await t.test('the number of wrong codes is limited', async t => {
  const { email, browser } = await area.signUp()
  const { secret } = await setUp(browser)
  const own = await passwordStep(email)
  const token = await own.token('/sign-in/code')
  const origin = new URL(area.url).origin

  let text = ''
  for (let times = 0; times < 6; times += 1)
    text = (await own.postRaw('/sign-in/code', { csrf: token, code: '000000' }, { origin })).text

  t.match(text, 'попыток было слишком много')
  const right = await own.post('/sign-in/code', { code: oneTimeCode(secret) })
  t.equal(right.status, 422, 'nor is a correct code accepted after that')
  t.equal((await own.get('/')).location, '/sign-in')
})

await t.test('switching it on or off needs the password', async t => {
  const { email, browser } = await area.signUp()
  const refused = await browser.post('/security/two-factor', { password: 'wrong password' }, { from })
  t.equal(refused.status, 422)
  t.notMatch(refused.text, 'factor-secret')
  await setUp(browser)
  const kept = await browser.post('/security/two-factor/remove', { password: 'wrong password' }, { from })
  t.equal(kept.status, 422)

  const answer = await browser.post('/security/two-factor/remove', { password: goodPassword }, { from })

  t.equal(answer.location, '/security?notice=two-factor-off')
  t.equal((await area.browser().post('/sign-in', { email, password: goodPassword })).location, '/')
})

await t.test('an email reports that it was switched on, and off', async t => {
  const { email, browser } = await area.signUp()
  await browser.post('/settings/profile', { name: '', language: 'en' }, { from: '/settings' })
  await setUp(browser)

  const on = await area.mail.emailTo(email, /now takes a code.*If it was not you/s)
  t.match(on.subject, 'Codes from an app were switched on')
  await browser.post('/settings/profile', { name: '', language: 'ru' }, { from: '/settings' })
  await browser.post('/security/two-factor/remove', { password: goodPassword }, { from })

  const off = await area.mail.emailTo(email, /снова достаточно пароля.*Если это были не вы/s)
  t.match(off.subject, 'Вход по коду отключён')
  t.equal(
    area.mail.emails.filter(({ to }) => to === email).length,
    3,
    'two emails beside the one for signing up',
  )
})
