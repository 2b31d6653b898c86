import { join } from 'node:path'
import t from 'tap'
import type { Page } from 'playwright-core'
import { statementOf } from '../contracts/documents.ts'
import { goodPassword } from '../fixtures/account-area.ts'
import { locales } from '../fixtures/account-journey.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { sellerSection } from '../fixtures/companies.ts'
import { oneTimeCode } from '../fixtures/one-time-code.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, {
  payments: { provider: 'sandbox' },
  seller: sellerSection,
  prices: { usdRub: '100', coefficient: '1.5' },
  models: {
    chat: {
      provider: 'sandbox',
      upstreamModel: 'sandbox-chat',
      usdPerMillion: { input: '10', output: '40' },
    },
  },
})
const chromium = await startBrowser(t)

/** `DESK_SHOTS=FOLDER` keeps a screenshot of each step. */
async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env['DESK_SHOTS']
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

for (const [language, screen] of [
  ['ru', 'desktop'],
  ['en', 'phone'],
] as const) {
  await t.test(`an operator's day in a browser: ${language}, ${screen}`, async t => {
    const { email } = await area.signUp()
    const account = await area.accountOf(email)
    const name = `${language}-${screen}@desk.example`
    const added = await area.run('operator', 'add', '--email', name, '--role', 'owner', '--json')
    const { pathname, search } = new URL((JSON.parse(added.stdout) as { link: string }).link)
    const options = { ...screens[screen], locale: locales[language] }
    const { page, complaints } = await openWindow(chromium, options)
    const shot = (step: string) => shoot(page, `${language}-${screen}-${step}`)
    // How much of an element is cut off at its side, in pixels.
    const hidden = (selector: string) =>
      page.locator(selector).evaluate(element => element.scrollWidth - element.clientWidth)

    await page.goto(`${area.deskUrl}${pathname}${search}`)
    await page.fill('#newPassword', goodPassword)
    await page.click('main button')
    // An operator who sets a password by a link is signed in, and has a second factor to set up.
    await page.waitForURL(/\/security/)
    await page.fill('form[action="/security/two-factor"] input[name="password"]', goodPassword)
    await page.click('form[action="/security/two-factor"] button')
    await shot('1-factor')
    const secret = (await page.textContent('#factor-secret')) ?? ''
    await page.fill('#code', oneTimeCode(secret.trim()))
    await page.click('form[action="/security/two-factor/confirm"] button')
    await page.waitForURL(/two-factor-on/)

    await page.goto(`${area.deskUrl}/`)
    await shot('2-today')
    if (screen === 'desktop') {
      const tops = await page
        .locator('nav a')
        .evaluateAll(links => links.map(link => link.getBoundingClientRect().top))
      t.equal(new Set(tops).size, 1, 'all sections are in one row')
      t.equal(await hidden('.who .email'), 0, 'the whole email can be read')
    }
    await page.click('nav a[href="/customers"]')
    await page.fill('#q', email)
    await page.press('#q', 'Enter')
    await shot('3-found')
    await page.click(`a[href="/customers/${account}"]`)
    const credit = `form[action="/customers/${account}/credit"]`
    await page.fill(`${credit} [name="rub"]`, '1500')
    await page.fill(`${credit} [name="reason"]`, 'invoice 17')
    await page.click(`${credit} button`)
    await page.waitForURL(/notice=done/)
    await shot('4-customer')
    t.match(await page.textContent('main'), 'invoice 17')

    await page.goto(`${area.deskUrl}/transfers`)
    const paid = { number: language === 'ru' ? '41' : '42', date: '2026-11-20', amount: 70_000 }
    const purpose = 'Оплата за услуги доступа к моделям по договору оферты, без налога (НДС)'
    const buffer = Buffer.from(statementOf([{ ...paid, purpose }]))
    await page.setInputFiles('#file', { name: 'kl_to_1c.txt', mimeType: 'text/plain', buffer })
    await page.click('form[action="/transfers/import"] button')
    await page.waitForSelector('.notice')
    await page.fill('form[action$="/assign"] [name="account"]', account)
    await shot('5-queue')
    t.equal(await hidden('form[action$="/assign"] [name="account"]'), 0, 'the whole id is visible')
    if (screen === 'desktop') t.equal(await hidden('.table'), 0, 'all columns are visible')
    await page.click('form[action$="/assign"] button')
    await page.waitForURL(/notice=done/)

    const fits = async (what: string): Promise<void> => {
      await shot(what)
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      t.equal(overflow, 0, `${what} is as wide as the screen`)
    }
    for (const section of ['payments', 'documents', 'prices', 'alarms', 'requests', 'providers', 'log']) {
      await page.goto(`${area.deskUrl}/${section}`)
      await fits(`6-${section}`)
      const widths = await page
        .locator('.search .field')
        .evaluateAll(fields => fields.map(field => field.clientWidth))
      t.ok(
        widths.every(width => width >= 100),
        `${section}: search fields are wide enough`,
      )
    }

    await page.goto(`${area.deskUrl}/prices`)
    await page.fill('[name="coefficient"]', '2')
    await page.click('form[action="/prices/preview"] button')
    await page.waitForSelector('pre')
    t.match(await page.textContent('pre'), "prices: { coefficient: '2' }")
    await fits('7-preview')
    await page.goto(`${area.deskUrl}/prices`)
    await page.click('a[href^="/prices/history?model="]')
    await page.waitForURL(/history/)
    await fits('7-history')

    const { id: key } = await area.test.accounts.createKey({ accountId: account, name: 'laptop' })
    await page.goto(`${area.deskUrl}/customers/${account}`)
    await page.click(`a[href$="/keys/${key}"]`)
    await page.fill('#budget', '500')
    await page.fill('#expires', '2099-12-31')
    await page.fill('#reason', 'as agreed')
    await fits('8-key')
    await page.click('main form button')
    await page.waitForURL(/notice=done/)
    const edited = JSON.parse((await area.run('key', 'find', key, '--json')).stdout) as Record<
      string,
      unknown
    >
    t.match(edited, { budget: '500.000000', expiresAt: '2099-12-31T21:00:00.000Z' })
    const { stdout } = await area.run('balance', '--account', account, '--json')
    t.match(stdout, '"balance":"2200.000000"')
    t.same(complaints, [])
    t.same(await area.verify(), [])
  })
}
