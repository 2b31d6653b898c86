import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { accountTour, cookiesOf, speak } from '../fixtures/account-tour.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { startBusyArea } from '../fixtures/busy-account.ts'

// `npm run screenshots` takes a picture of every page; `npm run screenshots -- charges` of those named so.

const wanted = process.argv.slice(2)
const folder = join(import.meta.dirname, '..', '..', 'screenshots')
const days = 30

t.setTimeout(0)
await t.test('every page is taken a picture of', async t => {
  const busyArea = await startBusyArea(t, days)
  const stops = (await accountTour(busyArea)).filter(
    ({ name }) => wanted.length === 0 || wanted.some(word => name.startsWith(word)),
  )
  const chromium = await startBrowser(t)
  if (wanted.length === 0) rmSync(folder, { recursive: true, force: true })
  for (const language of ['ru', 'en'] as const) {
    await speak(stops, language)
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [screen, size] of Object.entries(screens)) {
        const look = join(folder, `${language}-${colorScheme}-${screen}`)
        mkdirSync(look, { recursive: true })
        for (const { name, path, who, act } of stops) {
          const { page, context } = await openWindow(chromium, { ...size, colorScheme })
          const { url } = busyArea.area
          await context.addCookies([...cookiesOf(who), { name: 'account.language', value: language, url }])
          await page.goto(url + path)
          await act?.(page)
          await page.screenshot({ path: join(look, `${name}.png`), fullPage: true })
          await context.close()
        }
        t.pass(look)
      }
    }
  }
})
