import t from 'tap'
import type { Test } from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import type { Config } from '../../lib/config/config.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { startGateway } from '../../lib/gateway/gateway.ts'
import type { Gateway } from '../../lib/gateway/gateway.ts'
import { createLog } from '../../lib/observability/log.ts'
import { openReports } from '../../lib/stores/open-store.ts'
import { plugins } from '../../plugins/index.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'
import type { TestAccountArea } from '../fixtures/account-area.ts'
import type { ReceivedEmail } from '../fixtures/mail-server.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { until } from '../fixtures/until.ts'

const from = '/settings'
const rouble = 1_000_000
/** Alerts are checked every two seconds, on a machine that may be busy. */
const patienceMs = 60_000
const models = {
  chat: {
    provider: 'sandbox',
    upstreamModel: 'sandbox-chat',
    outputTokensMax: 1000,
    rubPerMillion: { input: '100', output: '400' },
  },
}

interface Payer {
  readonly email: string
  readonly browser: AccountBrowser
  readonly accountId: string
  readonly key: string
}

/** A user with 100 roubles who gets an alert as soon as there is less. */
async function payerWith(area: TestAccountArea, language: string): Promise<Payer> {
  const { email, browser } = await area.signUp()
  const accountId = await area.accountOf(email)
  await area.test.accounts.credit({ accountId, amountMicros: 100 * rouble, reason: 'test' })
  const { key } = await area.test.accounts.createKey({ accountId })
  await browser.post('/settings/profile', { name: '', language }, { from })
  const answer = await browser.post('/settings/alert', { below: '100,00' }, { from })
  if (answer.location !== '/settings?notice=alert-on') throw new Error(answer.text)
  return { email, browser, accountId, key }
}

/** Sends a request, which has been charged when this returns. Returns its cost. */
async function spend(
  { test: { configFile } }: TestAccountArea,
  { url }: Gateway,
  { accountId, key }: Payer,
): Promise<number> {
  const reports = await openReports(loadConfig(configFile, { env: {} }).config.store, systemClock)
  try {
    const balance = async (): Promise<number> => (await reports.balance(accountId))?.balanceMicros ?? 0
    const before = await balance()
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await answer.text()
    t.equal(answer.status, 200)
    await until(async () => (await balance()) < before, patienceMs)
    return before - (await balance())
  } finally {
    await reports.close()
  }
}

function alertsTo(area: TestAccountArea, email: string): readonly ReceivedEmail[] {
  return area.mail.emails.filter(
    received => received.to === email && /опустился ниже|fallen below/.test(received.text),
  )
}

async function untilAlerted(area: TestAccountArea, { email }: Payer, count: number): Promise<void> {
  await until(() => alertsTo(area, email).length >= count, patienceMs)
  t.equal(alertsTo(area, email).length, count)
}

/** Waits until every due alert has been sent: another user's alert has arrived twice, in two consecutive checks. */
async function settled(area: TestAccountArea, gateway: Gateway, other: Payer): Promise<void> {
  const { accountId, email } = other
  for (let times = 0; times < 2; times += 1) {
    const before = alertsTo(area, email).length
    const amountMicros = await spend(area, gateway, other)
    await untilAlerted(area, other, before + 1)
    await area.test.accounts.credit({ accountId, amountMicros, reason: 'test' })
  }
}

async function anotherGateway(t: Test, config: Config): Promise<Gateway> {
  const gateway = await startGateway({ config, plugins, log: createLog({ level: 'silent' }) })
  t.teardown(() => gateway.close(0))
  return gateway
}

await t.test('an alert comes when the balance falls below, and again only after it was above', async t => {
  const area = await startAccountArea(t, { models })
  const { gateway, accounts } = area.test
  const payer = await payerWith(area, 'en')
  const other = await payerWith(area, 'ru')
  const { accountId, email, browser } = payer

  const first = await spend(area, gateway, payer)
  await untilAlerted(area, payer, 1)
  const [received] = alertsTo(area, email)
  t.match(received?.text, /fallen below 100\.00\u00a0₽: 99\.9\d\u00a0₽ is left/)
  t.match(received?.text, `${area.url}/`)

  const second = await spend(area, gateway, payer)
  await settled(area, gateway, other)
  t.equal(alertsTo(area, email).length, 1, 'falling further sends no second alert')

  await accounts.credit({ accountId, amountMicros: first + second, reason: 'test' })
  const third = await spend(area, gateway, payer)
  await untilAlerted(area, payer, 2)

  await accounts.credit({ accountId, amountMicros: third, reason: 'test' })
  const off = await browser.post('/settings/alert', { below: '' }, { from })
  t.equal(off.location, '/settings?notice=alert-off')
  await spend(area, gateway, payer)
  await settled(area, gateway, other)
  t.equal(alertsTo(area, email).length, 2, 'no alert comes once it is switched off')
})

await t.test('a crossing before a restart is reported once after it', async t => {
  const area = await startAccountArea(t, { models })
  const payer = await payerWith(area, 'ru')
  const other = await payerWith(area, 'ru')
  const { config } = loadConfig(area.test.configFile, { env: {} })
  const { accountArea: _, ...withoutPages } = config
  await area.test.gateway.close(0)
  const silent = await anotherGateway(t, withoutPages)
  await spend(area, silent, payer)
  await silent.close(0)
  t.same(alertsTo(area, payer.email), [])

  const second = await anotherGateway(t, config)
  await untilAlerted(area, payer, 1)
  await second.close(0)

  const third = await anotherGateway(t, config)
  await spend(area, third, payer)
  await settled(area, third, other)
  t.equal(alertsTo(area, payer.email).length, 1)
})

await t.test('an invalid amount is reported at its field', async t => {
  const area = await startAccountArea(t)
  const { browser } = await area.signUp()
  for (const below of ['-1', '0', '1e9', 'сто', '1,2345678', '99999999999', '<b>']) {
    const { status, text } = await browser.post('/settings/alert', { below }, { from })
    t.equal(status, 422, below)
    t.match(text, /id="below-error">Введите сумму/)
    t.match(text, `value="${below.replace('<b>', '&lt;b&gt;')}"`)
  }

  const answer = await browser.post('/settings/alert', { below: ' 1 000,50 ₽' }, { from })

  t.match((await browser.follow(answer)).text, /id="below"[^>]*value="1000,5"/)
})

await t.test('of several gateways on one database, one sends the alert', async t => {
  const server = await startPostgres(t)
  const area = await startAccountArea(t, { models, store: await server.createDatabase() })
  const { config } = loadConfig(area.test.configFile, { env: {} })
  const second = await anotherGateway(t, config)
  const payer = await payerWith(area, 'en')
  const other = await payerWith(area, 'en')

  await spend(area, second, payer)

  await untilAlerted(area, payer, 1)
  await settled(area, second, other)
  t.equal(alertsTo(area, payer.email).length, 1)
})
