import t from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import { earlierCode, oneTimeCode } from '../fixtures/one-time-code.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'

const server = await startPostgres(t)

await t.test('on PostgreSQL a user signs up, signs in, uses a code, and sets a new password', async t => {
  const area = await startAccountArea(t, { store: await server.createDatabase() })
  const { email, browser } = await area.signUp()
  t.match((await browser.get('/')).text, '0,00\u00a0₽')

  const { text } = await browser.post(
    '/security/two-factor',
    { password: goodPassword },
    { from: '/security' },
  )
  const secret = /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? ''
  const on = await browser.post(
    '/security/two-factor/confirm',
    { code: await earlierCode(secret) },
    { from: '/security' },
  )
  t.match(on, { status: 303, location: '/security?notice=two-factor-on' })

  const other = area.browser()
  const first = await other.post('/sign-in', { email, password: goodPassword })
  t.match(first.location, '/sign-in/code')
  t.equal((await other.post('/sign-in/code', { code: '000000' })).status, 422)
  t.equal((await other.post('/sign-in/code', { code: oneTimeCode(secret) })).location, '/')

  await other.post('/forgot-password', { email })
  const path = linkIn((await area.mail.emailTo(email, /reset-password/)).text)
  const token = new URL(path, area.url).searchParams.get('token') ?? ''
  const newPassword = 'another good phrase'
  await other.post('/reset-password', { token, newPassword }, { from: path })
  t.equal((await browser.get('/')).location, '/sign-in')
  t.match((await other.post('/sign-in', { email, password: newPassword })).location, '/sign-in/code')
  t.strictSame(await area.test.breaches(), [])
})

await t.test('a value that the database rejects is treated as unknown, not as a failure', async t => {
  const area = await startAccountArea(t, { store: await server.createDatabase() })
  const { browser } = await area.signUp()

  t.equal((await browser.get('/keys/%00/revoke')).status, 404)
  t.equal((await browser.get('/charges/%00')).status, 404)
  t.equal((await browser.get('/charges?key=%00&model=%00&before=%00')).status, 422)
  const fields = { name: 'a\0b', language: 'ru' }
  const { status, text } = await browser.post('/settings/profile', fields, { from: '/settings' })
  t.equal(status, 422)
  t.match(text, 'id="name-error"')
  const newPassword = goodPassword
  t.equal((await area.browser().post('/reset-password', { token: 'a\0b', newPassword })).status, 410)
})

await t.test('a store that cannot be reached is reported on a styled page', async t => {
  const area = await startAccountArea(t, { store: await server.createDatabase() })
  const { browser } = await area.signUp()
  await server.stop()

  const { status, text } = await browser.get('/')

  t.equal(status, 503)
  t.match(text, 'Временно недоступно')
  await server.start()
})
