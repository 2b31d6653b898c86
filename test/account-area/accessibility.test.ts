import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { oneTimeCode } from '../fixtures/one-time-code.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const area = await startAccountArea(t)
const chromium = await startBrowser(t)

/** What axe finds wrong by WCAG 2.2 AA, and what is wider than the screen. */
async function findings(page: Page): Promise<string[]> {
  // The page's own policy keeps foreign script out; the driver's evaluation is not bound by it.
  await page.evaluate(axe)
  const found = await page.evaluate<string[]>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] })
       .then(result => result.violations.map(({ id, nodes }) => id + ': ' + nodes.map(node => node.html).join(' ')))`,
  )
  const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
  return isTooWide === true ? [...found, 'the page is wider than the screen'] : found
}

const looks = [
  { screen: 'desktop', locale: 'ru-RU', colorScheme: 'light' },
  { screen: 'phone', locale: 'en-GB', colorScheme: 'dark' },
] as const

for (const { screen, locale, colorScheme } of looks) {
  await t.test(`nothing keeps people out on a ${screen}, ${locale}, ${colorScheme}`, async t => {
    const { page, context, complaints } = await openWindow(chromium, {
      ...screens[screen],
      locale,
      colorScheme,
    })
    t.teardown(() => context.close())
    const { browser, email } = await area.signUp()
    const paths = ['/sign-up', '/sign-in', '/check-mail', '/confirm?token=x', '/forgot-password']
    for (const path of [
      ...paths,
      '/sign-in/code',
      '/reset-password?token=x',
      '/documents/offer',
      '/nowhere',
    ]) {
      await page.goto(`${area.url}${path}`)
      t.same(await findings(page), [], path)
    }
    await page.goto(`${area.url}/sign-up`)
    await page.click('main button')
    t.same(await findings(page), [], 'a form with errors')
    await context.addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url: area.url })))
    for (const path of ['/', '/security']) {
      await page.goto(`${area.url}${path}`)
      t.match(await page.textContent('body'), email)
      t.same(await findings(page), [], path)
    }
    t.same(complaints, [])
  })
}

for (const javaScriptEnabled of [true, false]) {
  await t.test(
    `a person signs up and sets up a code ${javaScriptEnabled ? 'with' : 'without'} script`,
    async t => {
      const { page, context, complaints } = await openWindow(chromium, {
        ...screens.phone,
        javaScriptEnabled,
        locale: 'ru-RU',
      })
      t.teardown(() => context.close())
      const email = `person-${javaScriptEnabled}@example.org`
      await page.goto(area.url)
      await page.click('text=Регистрация')
      await page.fill('#email', email)
      await page.fill('#password', goodPassword)
      await page.check('#offer')
      await page.check('#personalData')
      await page.click('main button')
      t.match(await page.textContent('h1'), 'Проверьте почту')
      await page.goto(`${area.url}${linkIn((await area.mail.letterTo(email, /confirm/)).text)}`)
      await page.fill('#password', goodPassword)
      await page.click('main button')
      t.match(await page.textContent('h1'), 'Обзор')

      await page.click('text=Настройки')
      await page.click('text=Безопасность')
      await page.fill('#password', goodPassword)
      await page.click('text=Включить')
      t.equal(
        await page.isVisible('[data-copy]'),
        javaScriptEnabled,
        'buttons that need script show with it only',
      )
      const secret = (await page.textContent('#factor-secret')) ?? ''
      await page.fill('#code', oneTimeCode(secret.trim()))
      await page.click('text=Подтвердить код')
      t.match(await page.textContent('.notice'), 'Вход по коду включён')

      await page.click('text=Выйти')
      t.match(await page.textContent('.notice'), 'Вы вышли')
      await page.fill('#email', email)
      await page.fill('#password', goodPassword)
      await page.keyboard.press('Enter')
      await page.fill('#code', oneTimeCode(secret.trim()))
      await page.keyboard.press('Enter')
      await page.waitForSelector('text=Доступно')
      t.same(complaints, [])
    },
  )
}
