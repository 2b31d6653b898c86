import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t from 'tap'
import { accountTour, cookiesOf, speak } from '../fixtures/account-tour.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { startBusyArea } from '../fixtures/busy-account.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const busyArea = await startBusyArea(t, 5)
const stops = await accountTour(busyArea)
const chromium = await startBrowser(t)

/** What axe reports by WCAG 2.2 AA, and whether the page is wider than the screen. */
async function findings(page: Page): Promise<string[]> {
  // The page's own policy blocks foreign scripts; the driver's evaluation is not bound by it.
  await page.evaluate(axe)
  const found = await page.evaluate<string[]>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] })
       .then(result => result.violations.map(({ id, nodes }) => id + ': ' + nodes.map(node => node.html).join(' ')))`,
  )
  const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
  return isTooWide === true ? [...found, 'the page is wider than the screen'] : found
}

/** How many endings of keys a narrow column would break, for example at a hyphen. */
function brokenEndings(page: Page): Promise<number> {
  return page.evaluate<number>(`[...document.querySelectorAll('.mono')].filter(one =>
    /^(gw-)?…[^ ]{4}$/.test(one.textContent.trim()) && getComputedStyle(one).whiteSpace !== 'nowrap').length`)
}

for (const [language, screen, colorScheme] of [
  ['ru', 'phone', 'light'],
  ['en', 'desktop', 'dark'],
] as const) {
  await t.test(`no page has an accessibility problem: ${language}, ${screen}, ${colorScheme}`, async t => {
    await speak(stops, language)
    const { page, context, complaints } = await openWindow(chromium, { ...screens[screen], colorScheme })
    t.teardown(() => context.close())
    for (const { name, path, who, act } of stops) {
      const { url } = busyArea.area
      await context.clearCookies()
      await context.addCookies([...cookiesOf(who), { name: 'account.language', value: language, url }])
      await page.goto(url + path)
      await act?.(page)
      t.equal(await page.getAttribute('html', 'lang'), language, name)
      if (act === undefined) t.equal(page.url(), url + path, 'the page does not redirect')
      t.same(await findings(page), [], name)
      t.equal(await brokenEndings(page), 0, `${name}: endings of keys are on one line`)
      t.same(complaints.splice(0), [], name)
    }
  })
}

for (const language of ['ru', 'en'] as const) {
  await t.test(
    `the sections, the email and the sign-out button are in one row of a desktop: ${language}`,
    async t => {
      await speak(
        [{ name: 'settings', route: '/settings', path: '/settings', who: busyArea.busy.browser }],
        language,
      )
      const { page, context } = await openWindow(chromium, screens.desktop)
      t.teardown(() => context.close())
      await context.addCookies(cookiesOf(busyArea.busy.browser))

      await page.goto(`${busyArea.area.url}/settings`)

      const middles = await page
        .locator('.brand, .top nav a, .who .email, .who button')
        .evaluateAll(parts =>
          parts.map(part => part.getBoundingClientRect()).map(({ top, height }) => top + height / 2),
        )
      t.equal(middles.length, 11)
      t.ok(Math.max(...middles) - Math.min(...middles) < 5, middles.join(', '))
    },
  )
}
