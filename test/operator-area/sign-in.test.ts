import t from 'tap'
import { goodPassword } from '../fixtures/account-area.ts'
import { AccountBrowser } from '../fixtures/account-browser.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import type { Role } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t)

await t.test('without a second factor an operator sees how to set one up, and nothing else', async t => {
  const browser = await area.invite('first@desk.example', 'owner')

  for (const path of ['/', '/customers', '/payments', '/transfers', '/documents', '/prices', '/log']) {
    t.equal((await browser.get(path)).location, '/security?notice=second-factor-needed', path)
  }
  t.equal((await browser.get('/security')).status, 200)
})

await t.test('a visitor is redirected to sign in', async t => {
  const stranger = new AccountBrowser(area.deskUrl)
  t.match((await stranger.get('/customers?q=a')).location, '/sign-in?next=')
  t.match((await stranger.get('/security')).location, '/sign-in')
})

await t.test('a customer cannot sign in as an operator, nor an operator as a customer', async t => {
  const { browser, email } = await area.signUp()
  const desk = new AccountBrowser(area.deskUrl)
  for (const [name, value] of browser.cookies) {
    desk.cookies.set(name, value)
    desk.cookies.set(name.replace('account.', 'operator.'), value)
  }
  t.match((await desk.get('/')).location, '/sign-in')
  const signed = await new AccountBrowser(area.deskUrl).post('/sign-in', {
    email,
    password: goodPassword,
    next: '/',
  })
  t.equal(signed.status, 422)

  await area.invite('only@desk.example', 'support')
  const other = await area
    .browser()
    .post('/sign-in', { email: 'only@desk.example', password: goodPassword, next: '/' })
  t.equal(other.status, 422)
})

await t.test('a removed operator is signed out at once, and the last owner cannot be removed', async t => {
  const browser = await area.operator('support')
  t.equal((await browser.get('/')).status, 200)
  const { stdout } = await area.run('operator', 'list', '--json')
  const all = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { email: string; role: Role; hasSecondFactor: boolean })
  const { email } = all.find(one => one.role === 'support' && one.hasSecondFactor) ?? { email: '' }

  t.match(await area.run('operator', 'remove', '--email', email), { code: 0 })

  t.match((await browser.get('/')).location, '/sign-in')
  const owners = all.filter(one => one.role === 'owner')
  t.equal(owners.length, 1)
  t.match(await area.run('operator', 'remove', '--email', owners[0]?.email ?? ''), {
    code: 1,
    stderr: /only owner/,
  })
  t.match(await area.run('operator', 'remove', '--email', 'nobody@desk.example'), {
    code: 1,
    stderr: /no operator/,
  })
  t.match(await area.run('operator', 'add', '--email', 'x', '--role', 'owner'), { code: 2 })
  t.match(await area.run('operator', 'add', '--email', 'x@y.z', '--role', 'king'), {
    code: 2,
    stderr: /owner, finance, support/,
  })
})

await t.test('a link to set a password works once', async t => {
  const { stdout } = await area.run(
    'operator',
    'add',
    '--email',
    'twice@desk.example',
    '--role',
    'finance',
    '--json',
  )
  const { pathname, search, searchParams } = new URL((JSON.parse(stdout) as { link: string }).link)
  const token = searchParams.get('token') ?? ''
  const browser = new AccountBrowser(area.deskUrl)
  const short = await browser.post(
    pathname,
    { token, newPassword: 'short' },
    { from: `${pathname}${search}` },
  )
  t.equal(short.status, 422)
  const set = await browser.post(
    pathname,
    { token, newPassword: goodPassword },
    { from: `${pathname}${search}` },
  )
  t.equal(set.location, '/security?notice=password-set')
  t.equal((await browser.get(`${pathname}${search}`)).status, 410)
  t.equal((await browser.get('/set-password?token=x')).status, 410)
})

await t.test('a form that arrives slowly is refused if its operator is removed meanwhile', async t => {
  const browser = await area.operator('owner')
  const { stdout } = await area.run('operator', 'list')
  const [email = ''] = stdout.match(/owner-\d+@desk\.example/g)?.slice(-1) ?? []

  const { status } = await browser.postSlowly('/prices/preview', { usdRub: '90' }, () =>
    area.run('operator', 'remove', '--email', email),
  )

  t.match((await browser.get('/')).location, '/sign-in', 'the operator is removed')
  t.equal(status, 403)
})
