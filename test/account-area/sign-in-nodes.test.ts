import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import { AccountBrowser } from '../fixtures/account-browser.ts'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import { oneTimeCode } from '../fixtures/one-time-code.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'

const server = await startPostgres(t)

/** Another node on the same database, in a process of its own; answers where its pages are. */
async function serveBeside(t: Test, configFile: string): Promise<string> {
  const config = parse(readFileSync(configFile, 'utf8')) as Record<string, unknown>
  const file = join(t.testdir(), 'gateway.yaml')
  writeFileSync(file, stringify(config))
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../bin/gateway.ts'), 'serve', '--config', file],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  let written = ''
  for await (const line of createInterface(child.stderr)) {
    written += `${line}\n`
    if (!line.includes('accountAreaUrl')) continue
    child.stderr.resume()
    return (JSON.parse(line) as { accountAreaUrl: string }).accountAreaUrl
  }
  throw new Error(`it has ended:\n${written}`)
}

const area = await startAccountArea(t, {
  store: await server.createDatabase(),
  trustedProxies: ['127.0.0.1'],
})
const other = await serveBeside(t, area.test.configFile)

/** A browser in a network, at one of the two processes. */
function browserOf(address: string, url: string): AccountBrowser {
  const browser = new AccountBrowser(url)
  browser.headers['x-forwarded-for'] = address
  return browser
}

await t.test('two processes count wrong passwords together, and the owner gets in at both', async t => {
  const { email } = await area.signUp()
  const strangers = [area.url, other].map(url => browserOf('203.0.113.9', url))
  const wrong = async (browser: AccountBrowser): Promise<number> =>
    (await browser.post('/sign-in', { email, password: 'wrong password' })).status
  const statuses = await Promise.all(Array.from({ length: 5 }, () => strangers.map(wrong)).flat())
  t.same(new Set(statuses), new Set([422]))

  for (const browser of strangers)
    t.equal((await browser.post('/sign-in', { email, password: goodPassword })).status, 422, 'locked out')
  for (const url of [area.url, other]) {
    const owner = browserOf('198.51.100.7', url)
    t.equal((await owner.post('/sign-in', { email, password: goodPassword })).location, '/')
  }
})

await t.test('a link by email opens what was locked, at the other process too', async t => {
  const { email } = await area.signUp()
  const owner = browserOf('203.0.113.10', area.url)
  await Promise.all(
    Array.from({ length: 10 }, (_, count) =>
      owner.post('/sign-in', { email, password: `wrong password ${count}` }),
    ),
  )
  t.equal((await owner.post('/sign-in', { email, password: goodPassword })).status, 422)

  await owner.post('/forgot-password', { email })
  const path = linkIn((await area.mail.letterTo(email, /reset-password/)).text)
  const token = new URL(path, area.url).searchParams.get('token') ?? ''
  const newPassword = 'another good phrase'
  const set = await owner.post('/reset-password', { token, newPassword }, { from: path })

  t.equal(set.location, '/security?notice=password-reset')
  t.equal((await owner.get('/')).status, 200)
  const there = browserOf('203.0.113.10', other)
  t.equal((await there.post('/sign-in', { email, password: newPassword })).location, '/')
})

await t.test('a code of an app that was used at one process is of no use at the other', async t => {
  const { email, browser } = await area.signUp()
  const from = '/security'
  const { text } = await browser.post('/security/two-factor', { password: goodPassword }, { from })
  const secret = /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? ''
  await browser.post('/security/two-factor/confirm', { code: oneTimeCode(secret) }, { from })
  const [here, there] = [browserOf('192.0.2.1', area.url), browserOf('192.0.2.2', other)]
  await here.post('/sign-in', { email, password: goodPassword })
  await there.post('/sign-in', { email, password: goodPassword })
  const code = oneTimeCode(secret)

  t.equal((await here.post('/sign-in/code', { code })).location, '/')
  t.equal((await there.post('/sign-in/code', { code })).status, 422)
  t.equal((await there.get('/')).location, '/sign-in')
})
