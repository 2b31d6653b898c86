import { join } from 'node:path'
import t from 'tap'
import type { Page } from 'playwright-core'
import { startAccountArea } from '../fixtures/account-area.ts'
import { formatRoubles } from '../../lib/money/amount.ts'
import { runHere } from '../cli/run-gateway.ts'
import { locales, makeKey, signUp } from '../fixtures/account-journey.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { until } from '../fixtures/until.ts'

const area = await startAccountArea(t, {
  models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100000', output: '100000' } } },
})
const chromium = await startBrowser(t)

const texts = {
  ru: { paid: 'Оплачено', payCard: 'Оплатить картой', paySbp: 'Оплатить через СБП', receipt: 'Чек оплаты' },
  en: { paid: 'Paid', payCard: 'Pay by card', paySbp: 'Pay by SBP', receipt: 'Payment receipt' },
}

const gateway = (...words: string[]) => runHere([...words, '--config', area.test.configFile])

/** `BALANCE_SHOTS=FOLDER` keeps a screenshot of each step. */
async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env['BALANCE_SHOTS']
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

for (const [language, screen] of [
  ['ru', 'desktop'],
  ['ru', 'phone'],
  ['en', 'desktop'],
  ['en', 'phone'],
] as const) {
  const text = texts[language]
  await t.test(
    `from signing up to the refund of the unspent money, in a browser: ${language}, ${screen}`,
    async t => {
      const { page, context, complaints } = await openWindow(chromium, {
        ...screens[screen],
        locale: locales[language],
      })
      const email = `${language}-${screen}@example.org`
      await signUp(page, { area, language }, email)
      await page.click('a.button[href="/balance"]')
      await page.click('.presets a >> nth=0')
      await shoot(page, `${language}-${screen}-1-balance`)

      await page.click('form[action="/balance/top-up"] button')
      await page.waitForURL(/\/pay\//)
      await shoot(page, `${language}-${screen}-2-sandbox`)
      await page.click(`text=${text.payCard}`)
      await page.waitForURL(/\/balance\/payments\//)
      await page.waitForSelector(`h2:has-text("${text.paid}")`)
      await shoot(page, `${language}-${screen}-3-paid`)

      await page.goto(`${area.url}/balance`)
      await page.fill('#amount', language === 'ru' ? '250,50' : '250.50')
      await page.check('input[value="sbp"]')
      await page.click('form[action="/balance/top-up"] button')
      const link = await page.getAttribute('.payment a[href*="/pay/"]', 'href')
      await shoot(page, `${language}-${screen}-4-sbp`)
      const phone = await context.newPage()
      await phone.goto(link ?? '')
      await phone.click(`text=${text.paySbp}`)
      // The waiting page reloads itself.
      await page.waitForSelector(`h2:has-text("${text.paid}")`)

      await page.goto(`${area.url}/balance`)
      await shoot(page, `${language}-${screen}-5-history`)
      t.match(await page.textContent('.figure.main dd'), /750.50/)
      await page.click(`text=${text.receipt} >> nth=0`)
      await shoot(page, `${language}-${screen}-6-receipt`)

      const accountId = await area.accountOf(email)
      const key = await makeKey(page, { language }, 'first')
      const response = await fetch(`${area.test.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'sandbox-chat',
          messages: [{ role: 'user', content: 'Hello' }],
          max_tokens: 50,
        }),
      })
      t.equal(response.status, 200, 'the first request is paid from it')
      await response.arrayBuffer()
      const shown = async () => {
        const { stdout } = await gateway('balance', '--account', accountId, '--json')
        return JSON.parse(stdout) as { balance: string; held: string }
      }
      await until(async () => (await shown()).held === '0.000000')
      const cost = 750_500_000 - Math.round(Number((await shown()).balance) * 1_000_000)
      t.ok(cost > 0 && cost % 10_000 === 0, `it cost some kopecks: ${cost} micro-roubles`)

      // Money is spent from the first payment first.
      const first = formatRoubles(500_000_000 - cost)
      const rests = [
        ['250.50', '250.50'],
        ['500.00', first.slice(0, -4)],
      ] as const
      const { stdout } = await gateway('payment', 'list', '--account', accountId, '--json')
      const paid = stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as { id: string; amount: string })
      for (const [amount, rest] of rests) {
        const { id = '' } = paid.find(payment => payment.amount === `${amount}0000`) ?? {}
        t.match(
          await gateway('payment', 'refund', id, '--rub', rest, '--reason', 'the rest'),
          { code: 0 },
          `${rest} of ${amount}`,
        )
      }
      await page.goto(`${area.url}/balance`)
      await shoot(page, `${language}-${screen}-7-refunded`)
      t.match(await page.textContent('.figure.main dd'), language === 'ru' ? /^\s*0,00/ : /0\.00/)
      t.match(await shown(), { balance: '0.000000', held: '0.000000' }, 'all the money was spent or refunded')
      t.strictSame(complaints, [])
      t.strictSame(await area.test.breaches(), [])
      await context.close()
    },
  )
}
