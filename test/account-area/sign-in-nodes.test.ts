import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import { AccountBrowser } from '../fixtures/account-browser.ts'
import { goodPassword, linkIn } from '../fixtures/account-area.ts'
import { inDatabase } from '../fixtures/in-database.ts'
import { earlierCode, oneTimeCode } from '../fixtures/one-time-code.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { plainNode } from '../fixtures/process-environment.ts'

const server = await startPostgres(t)

interface Addresses {
  readonly accountAreaUrl: string
  readonly operatorAreaUrl: string
}

/** Another node on the same database, in a process of its own; returns the addresses of its pages. */
async function serveBeside(t: Test, configFile: string): Promise<Addresses> {
  const config = parse(readFileSync(configFile, 'utf8')) as Record<string, unknown>
  const file = join(t.testdir(), 'gateway.yaml')
  writeFileSync(file, stringify(config))
  const bin = join(import.meta.dirname, '../../bin/gateway.ts')
  const child = spawn('env', [...plainNode, bin, 'serve', '--config', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  let written = ''
  for await (const line of createInterface(child.stderr)) {
    written += `${line}\n`
    if (!line.includes('accountAreaUrl')) continue
    child.stderr.resume()
    return JSON.parse(line) as Addresses
  }
  throw new Error(`it has ended:\n${written}`)
}

const store = await server.createDatabase()
const area = await startOperatorArea(t, { store, trustedProxies: ['127.0.0.1'] })
const { accountAreaUrl: other, operatorAreaUrl: otherDesk } = await serveBeside(t, area.test.configFile)

/** A browser in a network, at one of the two nodes. */
function browserOf(address: string, url: string): AccountBrowser {
  const browser = new AccountBrowser(url)
  browser.headers['x-forwarded-for'] = address
  return browser
}

/** Tries wrong passwords at both nodes at once, and then the right one from that network and from another. */
async function guess(t: Test, urls: readonly string[], email: string): Promise<void> {
  const strangers = urls.map(url => browserOf('203.0.113.9', url))
  const wrong = async (browser: AccountBrowser): Promise<number> =>
    (await browser.post('/sign-in', { email, password: 'wrong password', next: '' })).status
  const statuses = await Promise.all(Array.from({ length: 5 }, () => strangers.map(wrong)).flat())
  t.same(new Set(statuses), new Set([422]))

  const right = { email, password: goodPassword, next: '' }
  for (const browser of strangers) t.equal((await browser.post('/sign-in', right)).status, 422, 'locked out')
  for (const url of urls)
    t.equal((await browserOf('198.51.100.7', url).post('/sign-in', right)).location, '/')
}

await t.test('two nodes count wrong passwords together, and the owner can sign in at both', async t => {
  const { email } = await area.signUp()
  await guess(t, [area.url, other], email)
})

await t.test("the operators' pages of two nodes count them together as well", async t => {
  await area.invite('owner@desk.example', 'owner')
  await guess(t, [area.deskUrl, otherDesk], 'owner@desk.example')
})

await t.test('while the database cannot count, all sign-ins are refused, and the page says so', async t => {
  const { email } = await area.signUp()
  const signIn = () => browserOf('198.51.100.9', other).post('/sign-in', { email, password: goodPassword })
  await inDatabase(store, client => client.query('ALTER TABLE rate_counts RENAME TO gone'))
  const refused = await signIn()
  await inDatabase(store, client => client.query('ALTER TABLE gone RENAME TO rate_counts'))

  t.equal(refused.status, 503)
  t.equal((await signIn()).location, '/')
})

await t.test('a link by email ends a lockout, at the other node too', async t => {
  const { email } = await area.signUp()
  const owner = browserOf('203.0.113.10', area.url)
  await Promise.all(
    Array.from({ length: 10 }, (_, count) =>
      owner.post('/sign-in', { email, password: `wrong password ${count}` }),
    ),
  )
  t.equal((await owner.post('/sign-in', { email, password: goodPassword })).status, 422)

  await owner.post('/forgot-password', { email })
  const path = linkIn((await area.mail.emailTo(email, /reset-password/)).text)
  const token = new URL(path, area.url).searchParams.get('token') ?? ''
  const newPassword = 'another good phrase'
  const set = await owner.post('/reset-password', { token, newPassword }, { from: path })

  t.equal(set.location, '/security?notice=password-reset')
  t.equal((await owner.get('/')).status, 200)
  const there = browserOf('203.0.113.10', other)
  t.equal((await there.post('/sign-in', { email, password: newPassword })).location, '/')
})

await t.test('a code of an app that was used at one node is invalid at the other', async t => {
  const { email, browser } = await area.signUp()
  const from = '/security'
  const { text } = await browser.post('/security/two-factor', { password: goodPassword }, { from })
  const secret = /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? ''
  await browser.post('/security/two-factor/confirm', { code: await earlierCode(secret) }, { from })
  const [here, there] = [browserOf('192.0.2.1', area.url), browserOf('192.0.2.2', other)]
  await here.post('/sign-in', { email, password: goodPassword })
  await there.post('/sign-in', { email, password: goodPassword })
  const code = oneTimeCode(secret)

  t.equal((await here.post('/sign-in/code', { code })).location, '/')
  t.equal((await there.post('/sign-in/code', { code })).status, 422)
  t.equal((await there.get('/')).location, '/sign-in')
})
