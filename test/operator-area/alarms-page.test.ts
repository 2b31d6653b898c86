import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { oneTimeCode } from '../fixtures/one-time-code.ts'
import { goodPassword } from '../fixtures/account-area.ts'
import { locales } from '../fixtures/account-journey.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { providerCredential } from '../fixtures/dialect-call.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { textsOf } from '../../lib/operator-area/texts/texts.ts'
import { until } from '../fixtures/until.ts'

const json = ['content-type', 'application/json'] as const
const whole = (more: object): string =>
  JSON.stringify({
    id: 'c-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Once upon a time' } }],
    ...more,
  })
const usage = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 }

/** The provider's response to the request for each model. */
const answers: Readonly<Record<string, string>> = {
  'tells-no-usage-and-has-a-name-as-long-as-names-of-models-are-2026-11-24-preview': whole({}),
  'answers-as-another': whole({ model: 'another', usage }),
  'has-strange-usage': whole({ usage: { ...usage, total_tokens: -4 } }),
  // The last one: its account is in debt from then on.
  'costs-more-than-there-is': whole({ usage: { ...usage, completion_tokens: 900_000_000 } }),
}
const upstream = await startRawUpstream(t, ({ path, body }) => {
  if (path.startsWith('/rates')) return plainAnswer(200, json, '<ValCurs/>')
  const { model } = JSON.parse(String(body)) as { model: string }
  const answer = answers[model]
  return answer === undefined
    ? plainAnswer(401, json, '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
    : plainAnswer(200, json, answer)
})
const provider = {
  credentials: [{ name: 'main', value: providerCredential }],
  dialects: { openai: { baseUrl: `${upstream.origin}/v1` } },
  egress: ['direct'],
}
const area = await startOperatorArea(t, {
  timeZone: 'Asia/Yekaterinburg',
  providers: {
    sandbox: { egress: ['direct'] },
    answering: provider,
    refusing: {
      ...provider,
      credentials: [{ name: 'production-key-of-the-second-organisation', value: `${providerCredential}2` }],
    },
    behind: {
      ...provider,
      dialects: { openai: { baseUrl: 'https://behind.example.org/v1' } },
      egress: ['dead'],
    },
  },
  egress: { dead: { url: 'http://127.0.0.1:9' } },
  prices: { usdRub: { from: 'cbr', url: `${upstream.origin}/rates` } },
  models: Object.fromEntries(
    [
      ...Object.keys(answers).map(name => [name, 'answering']),
      ['refused', 'refusing'],
      ['unreachable', 'behind'],
    ].map(([name = '', of]) => [name, { provider: of, rubPerMillion: { input: '1000', output: '1000' } }]),
  ),
})
const { url, key, storeFile } = area.test
const ask = async (model: string): Promise<void> => {
  const body = JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
  await response.arrayBuffer()
}

async function raiseAll(): Promise<void> {
  for (const model of ['refused', 'unreachable', ...Object.keys(answers)]) await ask(model)
  const other = new Database(storeFile)
  other.exec('BEGIN IMMEDIATE')
  const held = ask('answers-as-another')
  await until(() => area.test.logLines.some(line => line.includes('"alarm":"store_unavailable"')))
  other.exec('ROLLBACK')
  other.close()
  await held
  await until(() => area.test.logLines.some(line => line.includes('"alarm":"store_available"')))
}

/** The alarms that the faults raise. */
const raised = [
  'credential_suspended',
  'egress_down',
  'model_mismatch',
  'overrun',
  'store_unavailable',
  'usage_missing',
] as const

await raiseAll()
const chromium = await startBrowser(t)

for (const language of ['ru', 'en'] as const) {
  for (const [screen, viewport] of [
    ['desktop', { width: 1280, height: 800 }],
    ['phone', { width: 390, height: 844 }],
  ] as const) {
    await t.test(`alarms can be read and worked on: ${language}, ${screen}`, async t => {
      const email = `${language}-${screen}@desk.example`
      const added = await area.run('operator', 'add', '--email', email, '--role', 'owner', '--json')
      const { pathname, search } = new URL((JSON.parse(added.stdout) as { link: string }).link)
      const { page } = await openWindow(chromium, { ...screens[screen], viewport, locale: locales[language] })
      await page.goto(`${area.deskUrl}${pathname}${search}`)
      await page.fill('#newPassword', goodPassword)
      await page.click('main button')
      await page.waitForURL(/\/security/)
      await page.fill('form[action="/security/two-factor"] input[name="password"]', goodPassword)
      await page.click('form[action="/security/two-factor"] button')
      await page.fill('#code', oneTimeCode(((await page.textContent('#factor-secret')) ?? '').trim()))
      await page.click('form[action="/security/two-factor/confirm"] button')
      await page.waitForURL(/two-factor-on/)

      await page.goto(`${area.deskUrl}/alarms?state=all`)

      const folder = process.env['DESK_SHOTS']
      if (folder !== undefined)
        await page.screenshot({ path: join(folder, `alarms-${language}-${screen}.png`), fullPage: true })
      const rows = await page.locator('tbody tr').allInnerTexts()
      const kinds = rows.map(row => row.split('\n')[0]?.trim() ?? '')
      t.same(
        raised.filter(kind => !kinds.includes(kind)),
        [],
        'each fault has its alarm',
      )
      const texts = textsOf(language)
      const others = textsOf(language === 'ru' ? 'en' : 'ru')
      for (const [index, row] of rows.entries()) {
        const kind = kinds[index] as (typeof raised)[number]
        t.match(row, texts.alarmSentences[kind])
        t.notMatch(row, others.alarmSentences[kind])
        t.equal(
          row.match(/20\d\d, \d\d:\d\d[,\s]+GMT\+5/g)?.length,
          kind === 'store_unavailable' ? 3 : 2,
          row,
        )
        t.equal(
          row.includes(texts.alarms.advice),
          kind !== 'store_unavailable',
          'an open alarm says what to do',
        )
      }
      const cutOff = (selector: string) =>
        page.locator(selector).evaluate(element => element.scrollWidth - element.clientWidth)
      t.equal(await cutOff('html'), 0, 'the page itself does not scroll sideways')
      if (screen === 'desktop') t.equal(await cutOff('.table'), 0, 'all columns are visible')
    })
  }
}
