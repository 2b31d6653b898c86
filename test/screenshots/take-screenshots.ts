import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { accountTour, cookiesOf, speak } from '../fixtures/account-tour.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { startBusyArea } from '../fixtures/busy-account.ts'

// `npm run screenshots` takes a screenshot of every page; `npm run screenshots -- charges` of those with this name.

const wanted = process.argv.slice(2)
const folder = join(import.meta.dirname, '..', '..', 'screenshots')
const days = 30

t.setTimeout(0)
const busyArea = await startBusyArea(t, days)
const stops = (await accountTour(busyArea)).filter(
  ({ name }) => wanted.length === 0 || wanted.some(word => name.startsWith(word)),
)

type Stop = (typeof stops)[number]
type Look = Parameters<typeof openWindow>[1] & { readonly language: 'ru' | 'en' }

/** Takes a screenshot of one page, in a window of its own. */
async function take(chromium: Browser, { name, path, who, act }: Stop, look: Look, into: string) {
  const { language, ...size } = look
  const { page, context } = await openWindow(chromium, size)
  try {
    const { url } = busyArea.area
    await context.addCookies([...cookiesOf(who), { name: 'account.language', value: language, url }])
    await page.goto(url + path)
    await act?.(page)
    await page.screenshot({ path: join(into, `${name}.png`), fullPage: true })
  } finally {
    await context.close().catch(() => undefined)
  }
}

// One test around all, because the runner ends what seems to be over between two.
await t.test('a screenshot of every page is taken', async t => {
  if (wanted.length === 0) rmSync(folder, { recursive: true, force: true })
  for (const language of ['ru', 'en'] as const) {
    await speak(stops, language)
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [screen, size] of Object.entries(screens)) {
        const look = `${language}-${colorScheme}-${screen}`
        await t.test(look, async t => {
          const into = join(folder, look)
          mkdirSync(into, { recursive: true })
          // After a page as tall as the models on a phone, a browser may fail to take screenshots; another one can.
          let chromium = await startBrowser(t)
          for (const stop of stops) {
            const options = { ...size, colorScheme, language }
            try {
              await take(chromium, stop, options, into)
            } catch (error) {
              t.comment(`${stop.name} once more in another browser: ${String(error)}`)
              chromium = await startBrowser(t)
              await take(chromium, stop, options, into)
            }
          }
        })
      }
    }
  }
})
