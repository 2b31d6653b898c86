import t from 'tap'
import { goodPassword, startAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'

const area = await startAccountArea(t)
const from = '/security'

async function sessionIds(browser: AccountBrowser): Promise<string[]> {
  const { text } = await browser.get('/security')
  return [...text.matchAll(/name="id" value="([^"]+)"/g)].map(([, id = '']) => id)
}

async function secondBrowser(email: string, userAgent: string): Promise<AccountBrowser> {
  const browser = area.browser()
  browser.headers['user-agent'] = userAgent
  await browser.post('/sign-in', { email, password: goodPassword })
  return browser
}

await t.test('a user sees the list of sessions, and ends one of them', async t => {
  const { email, browser } = await area.signUp()
  const phone = await secondBrowser(
    email,
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Mobile Safari/604.1',
  )
  const { text } = await browser.get('/security')
  t.match(text, 'Safari, iPhone')
  t.match(text, 'этот сеанс')
  t.match(text, 'МСК')
  const [id = ''] = await sessionIds(browser)

  const answer = await browser.post('/security/sessions/end', { id }, { from })

  t.equal(answer.location, '/security?notice=session-ended')
  t.equal((await phone.get('/')).location, '/sign-in')
  t.equal((await browser.get('/')).status, 200)
})

await t.test('all other sessions are ended at once', async t => {
  const { email, browser } = await area.signUp()
  const others = [await secondBrowser(email, 'One/1'), await secondBrowser(email, 'Two/2')]

  await browser.post('/security/sessions/end-others', {}, { from })

  for (const other of others) t.equal((await other.get('/')).location, '/sign-in')
  t.same(await sessionIds(browser), [])
  t.equal((await browser.get('/')).status, 200)
})

await t.test("the id of another user's session has no effect", async t => {
  const { email, browser: victim } = await area.signUp()
  await secondBrowser(email, 'Victim/1')
  const [id = ''] = await sessionIds(victim)
  const { browser: attacker } = await area.signUp()

  await attacker.post('/security/sessions/end', { id }, { from })

  t.same(await sessionIds(victim), [id])
})

await t.test("the browser's name is escaped", async t => {
  const { email, browser } = await area.signUp()
  await secondBrowser(email, '<script>alert(1)</script>"\'><img src=x>')

  const { text } = await browser.get('/security')

  t.match(text, '&lt;script&gt;alert(1)')
  t.notMatch(text, '<script>alert')
  t.notMatch(text, '<img')
  t.notMatch(text, /session_token|"token"/, 'no token of a session is on the page')
})

await t.test('a form that arrives slowly does not outlive its session', async t => {
  const { browser } = await area.signUp()
  const other = browser.copy()

  const { status, text } = await browser.postSlowly('/keys/new', { name: 'late' }, () =>
    other.post('/settings/delete', { currentPassword: goodPassword }),
  )

  t.equal((await other.get('/')).location, '/sign-in', 'the account is deleted')
  t.equal(status, 403)
  t.notMatch(text, 'new-key')
})
