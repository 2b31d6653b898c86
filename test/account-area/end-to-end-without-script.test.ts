import t from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'
import { accountJourney, journeyModels } from '../fixtures/account-journey.ts'
import { startBrowser } from '../fixtures/browser.ts'

const area = await startAccountArea(t, { models: journeyModels })
const chromium = await startBrowser(t)

for (const [language, screen] of [
  ['ru', 'phone'],
  ['en', 'desktop'],
] as const) {
  await t.test(`from signing up to a revoked key, without script: ${language}, ${screen}`, t =>
    accountJourney(t, { area, chromium, language, screen, javaScriptEnabled: false }),
  )
}
