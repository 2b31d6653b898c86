import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { hashPassword } from '../../lib/web/sign-in/password-hash.ts'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import type { SignedUp, TestAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser, PageAnswer } from '../fixtures/account-browser.ts'
import { inDatabase } from '../fixtures/in-database.ts'
import { earlierCode } from '../fixtures/one-time-code.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'

const newPassword = 'another good phrase'
const currentPassword = goodPassword
const from = '/security'

type Act = () => Promise<PageAnswer>

/** A link for a new password, ready to be used. */
async function linkOf(area: TestAccountArea, email: string): Promise<Act> {
  const browser = area.browser()
  await browser.post('/forgot-password', { email })
  const link = linkIn((await area.mail.emailTo(email, /reset-password/)).text)
  const token = new URL(link, area.url).searchParams.get('token') ?? ''
  const csrf = await browser.token(link)
  const { origin } = new URL(area.url)
  return () => browser.postRaw('/reset-password', { token, newPassword, csrf }, { origin })
}

/** A form that a browser has open, ready to be sent. */
async function formOf(
  browser: AccountBrowser,
  path: string,
  fields: Record<string, string>,
  page = path,
): Promise<Act> {
  const csrf = await browser.token(page)
  return () => browser.postRaw(path, { csrf, ...fields }, { origin: new URL(browser.url).origin })
}

async function secondFactorOf(browser: AccountBrowser): Promise<Act> {
  const { text } = await browser.post('/security/two-factor', { password: goodPassword }, { from })
  const secret = /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? ''
  return formOf(browser, '/security/two-factor/confirm', { code: await earlierCode(secret) }, from)
}

/** A hash that takes a second to check: a request with the old password is still in progress when another is sent. */
const slowHash = await hashPassword(goodPassword, { N: 2 ** 14, r: 8, p: 20 })
const setSlowHash = `UPDATE user_passwords SET password = '${slowHash}'`
/** Long enough for a request to have read the hash, and much shorter than the check. */
const begunMs = 150

interface Place {
  readonly area: TestAccountArea
  /** From now on checks of stored passwords take long. */
  readonly slowDown: () => unknown
}

/** Starts one request, and sends another while the first is in progress. */
async function during({ slowDown }: Place, first: Act, second: Act): Promise<readonly PageAnswer[]> {
  await slowDown()
  const begun = first()
  await delay(begunMs)
  const done = await second()
  return [await begun, done]
}

/** Actions that end the sessions opened by the password alone, and need no long check themselves. */
const endings: readonly (readonly [string, (place: Place, user: SignedUp) => Promise<Act>])[] = [
  ['a new password by a link', ({ area }, { email }) => linkOf(area, email)],
  ['a second factor that is switched on', (_place, { browser }) => secondFactorOf(browser)],
]

/** What a thief with the password and an earlier session may have in progress when the owner sets a new password. */
const acts: readonly (readonly [string, (thief: AccountBrowser) => Promise<Act>])[] = [
  [
    'a change of the password',
    thief => formOf(thief, '/security/password', { currentPassword, newPassword: 'stolen password' }, from),
  ],
  [
    'the second factor switched off',
    thief => formOf(thief, '/security/two-factor/remove', { password: goodPassword }, from),
  ],
  [
    'new backup codes',
    thief => formOf(thief, '/security/two-factor/backup-codes', { password: goodPassword }, from),
  ],
  [
    'the end of the account',
    thief => formOf(thief, '/settings/delete', { currentPassword, understood: 'yes' }),
  ],
]

async function refusesSignIn(t: Test, place: Place): Promise<void> {
  const { area } = place
  for (const [by, prepare] of endings) {
    const user = await area.signUp()
    const end = await prepare(place, user)
    const thief = area.browser()
    const signIn = await formOf(thief, '/sign-in', { email: user.email, password: goodPassword })

    const [signedIn, ended] = await during(place, signIn, end)

    t.match(ended?.location, /^\/security\?notice=(?:password-reset|two-factor-on)$/, by)
    t.not(signedIn?.location, '/', `${by}: a sign-in that began before does not pass`)
    t.match((await thief.get('/')).location, /^\/sign-in/, `${by}: it leaves no session`)
  }
}

async function refusesActs(t: Test, place: Place): Promise<void> {
  const { area } = place
  for (const [what, prepare] of acts) {
    const { email, browser } = await area.signUp()
    await (
      await secondFactorOf(browser)
    )()
    const thief = browser.copy()
    const act = await prepare(thief)
    const end = await linkOf(area, email)

    const [answer, ended] = await during(place, act, end)

    t.match(ended?.location, '/sign-in/code', what)
    t.not(answer?.status, 200, `${what}: the action is not done`)
    t.notMatch(answer?.location, 'notice=', `${what}: it is not reported as done`)
    t.match((await thief.get('/')).location, /^\/sign-in/, `${what}: the thief has no session`)
    const again = await area.browser().post('/sign-in', { email, password: newPassword })
    t.equal(again.location, '/sign-in/code?next=%2F', `${what}: password and second factor are the owner's`)
  }
}

const sqlite = await startAccountArea(t)
const server = await startPostgres(t)
const store = await server.createDatabase()
const postgres = await startAccountArea(t, { store })
const places: readonly (readonly [string, Place])[] = [
  [
    'SQLite',
    {
      area: sqlite,
      slowDown() {
        const database = new Database(sqlite.test.storeFile)
        database.exec(setSlowHash)
        database.close()
      },
    },
  ],
  ['PostgreSQL', { area: postgres, slowDown: () => inDatabase(store, client => client.query(setSlowHash)) }],
]

for (const [name, place] of places) {
  await t.test(`${name}: a sign-in with a password that is replaced meanwhile fails`, t =>
    refusesSignIn(t, place),
  )
  await t.test(`${name}: actions with a password that is replaced meanwhile are not done`, t =>
    refusesActs(t, place),
  )
}
