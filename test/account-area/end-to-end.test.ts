import t from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'
import { accountJourney, journeyModels } from '../fixtures/account-journey.ts'
import { startBrowser } from '../fixtures/browser.ts'

const area = await startAccountArea(t, { models: journeyModels })
const chromium = await startBrowser(t)

for (const [language, screen, javaScriptEnabled] of [
  ['ru', 'desktop', true],
  ['en', 'phone', true],
  ['ru', 'phone', false],
  ['en', 'desktop', false],
] as const) {
  await t.test(
    `from signing up to a revoked key, ${javaScriptEnabled ? 'in a browser' : 'without script'}: ${language}, ${screen}`,
    t => accountJourney(t, { area, chromium, language, screen, javaScriptEnabled }),
  )
}
