import t from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'

const area = await startAccountArea(t, { startingCredit: { rub: '50.00', accountsPerDay: 4 } })
const newPassword = 'another correct horse'

async function balanceOf(browser: AccountBrowser): Promise<string> {
  const { text } = await browser.get('/balance')
  return /<dd>([^<]+)\u00a0₽<\/dd>/.exec(text)?.[1] ?? ''
}

await t.test('a new account gets its starting credit once the email is confirmed', async t => {
  const { browser } = await area.signUp('anna.petrova@gmail.com')

  t.equal(await balanceOf(browser), '50,00')
  const { text } = await browser.get('/balance')
  t.match(text, 'Стартовый кредит')
  t.notMatch(text, 'starting credit', 'a Russian page shows no English booking texts')
  t.strictSame(await area.test.breaches(), [])
})

await t.test('another spelling of the same mailbox gets no credit', async t => {
  for (const email of [
    'annapetrova@gmail.com',
    'a.n.n.a.petrova+2@gmail.com',
    'annapetrova+x@googlemail.com',
  ])
    t.equal(await balanceOf((await area.signUp(email)).browser), '0,00', email)
})

await t.test('a deleted account that signs up again, or a changed email, gets no credit', async t => {
  const { browser } = await area.signUp('boris@example.org')
  t.equal(await balanceOf(browser), '50,00')
  await browser.post(
    '/settings/email',
    { newEmail: 'boris-new@example.org', currentPassword: goodPassword },
    { from: '/settings' },
  )
  const link = linkIn((await area.mail.emailTo('boris-new@example.org', /settings\/email/)).text)
  const token = new URL(link, area.url).searchParams.get('token') ?? ''
  await browser.post('/settings/email/confirm', { token }, { from: link })
  t.equal(await balanceOf(browser), '50,00', 'changing the email gives no more')
  t.equal(await balanceOf((await area.signUp('boris@example.org')).browser), '0,00')

  await browser.post('/settings/delete', { currentPassword: goodPassword, understood: 'yes' })
  const again = await area.signUp('boris-new@example.org')

  t.equal(
    await balanceOf(again.browser),
    '50,00',
    'an address without an earlier credit counts as a new person',
  )
})

await t.test('setting a new password confirms the address too', async t => {
  const browser = area.browser()
  const email = 'vera@example.org'
  await browser.post('/sign-up', { email, password: goodPassword, offer: 'yes', personalData: 'yes' })
  await browser.post('/forgot-password', { email })
  const path = linkIn((await area.mail.emailTo(email, /reset-password/)).text)
  const token = new URL(path, area.url).searchParams.get('token') ?? ''
  await browser.post('/reset-password', { token, newPassword }, { from: path })
  t.equal(await balanceOf(browser), '50,00')

  await browser.post('/forgot-password', { email })
  t.equal(await balanceOf(browser), '50,00', 'once')
})

await t.test('the number of starting credits per day is limited', async t => {
  t.equal(await balanceOf((await area.signUp('fifth@example.org')).browser), '0,00')
  t.strictSame(await area.test.breaches(), [])
})
