import t from 'tap'
import { goodPassword, linkIn, startAccountArea } from '../fixtures/account-area.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { earlierCode, oneTimeCode } from '../fixtures/one-time-code.ts'

const area = await startAccountArea(t)
const chromium = await startBrowser(t)

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
      await page.goto(`${area.url}${linkIn((await area.mail.emailTo(email, /confirm/)).text)}`)
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
        'buttons that need script show only with it',
      )
      const secret = (await page.textContent('#factor-secret')) ?? ''
      await page.fill('#code', await earlierCode(secret.trim()))
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
