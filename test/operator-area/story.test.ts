import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { formatRoubles } from '../../lib/money/amount.ts'
import { plugins } from '../../plugins/index.ts'
import { statementOf } from '../contracts/documents.ts'
import { cookiesOf } from '../fixtures/account-tour.ts'
import { openWindow, startBrowser } from '../fixtures/browser.ts'
import { startCentralBank } from '../fixtures/central-bank.ts'
import { sellerSection } from '../fixtures/companies.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { until } from '../fixtures/until.ts'

// Every action of an operator, in a real browser, one after the other. After each one the test checks the ledger,
// the page, and the line in the log.

const today = moscowDay(Date.now())
const bank = await startCentralBank(t, { [moscowDay(Date.now() - 3 * 86_400_000)]: '100,0000' })
const area = await startOperatorArea(t, {
  payments: { provider: 'sandbox' },
  seller: sellerSection,
  prices: { usdRub: { from: 'cbr', changePercentMax: 5, url: bank.url }, coefficient: '1.5' },
  models: {
    chat: {
      provider: 'sandbox',
      upstreamModel: 'sandbox-chat',
      usdPerMillion: { input: '10', output: '40' },
    },
  },
})
const { accounts, configFile, gateway } = area.test
const { browser: customer, email } = await area.signUp()
const account = await area.accountOf(email)
const { key, id: keyId } = await accounts.createKey({ accountId: account, name: 'laptop' })
const desk = await area.operator('owner')
const { page, context, complaints } = await openWindow(await startBrowser(t))
await context.addCookies(cookiesOf(desk))

const home = `/customers/${account}`
let balanceMicros = 0
let chargedMicros = 0
let logged = (await logLines()).length

/** The JSON that a command prints, line by line. */
async function byCommand(...words: string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { code, stdout, stderr } = await area.run(...words, '--json')
  if (code !== 0) throw new Error(stderr)
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

/** Roubles as commands print them, negative ones too. */
function microsOf(amount: unknown): number {
  return Math.round(Number(amount) * 1e6)
}

function logLines() {
  return byCommand('operator', 'log')
}

/** Fills the form with this action, and sends it. */
async function send(
  action: string,
  fields: Readonly<Record<string, string>> = {},
  button = 'button:not([formaction])',
): Promise<void> {
  const form = page.locator(`form[action="${action}"]`).first()
  for (const [name, value] of Object.entries(fields)) await form.locator(`[name="${name}"]`).fill(value)
  await form.locator(button).first().click()
}

async function goTo(path: string): Promise<void> {
  await page.goto(area.deskUrl + path)
}

/** Sends a request as the customer, and deducts its cost from the expected balance. */
async function ask(): Promise<{
  readonly status: number
  readonly requestId: string
  readonly micros: number
}> {
  const answer = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  const charges = await byCommand('charges', '--account', account)
  const micros = microsOf(charges.find(one => one['requestId'] === requestId)?.['amount'] ?? 0)
  balanceMicros -= micros
  chargedMicros += micros
  return { status: answer.status, requestId, micros }
}

interface Done {
  /** Its name in the log; undefined where nothing was changed. */
  readonly action?: string
  readonly reason?: string
  /** A deletion blocks the account first, which has a line of its own. */
  readonly lines?: number
  /** The change of the customer's balance. */
  readonly rub?: number
  /** A text of the page after it. */
  readonly says: string
}

let steps = 0

/** Checks the effects of the last action: on the page, in the ledger, in the log. */
async function check({ action, reason = '', lines: count = 1, rub = 0, says }: Done): Promise<void> {
  await page.waitForLoadState()
  const what = `${(steps += 1)} ${action ?? says}`
  const folder = process.env['DESK_SHOTS']
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true })
    await page.screenshot({ path: join(folder, `story-${what.replaceAll(/\W+/g, '-')}.png`), fullPage: true })
  }
  const text = (await page.textContent('main')) ?? ''
  t.ok(text.includes(says), `${what}: the page contains ${says}`)
  balanceMicros += rub * 1_000_000
  const [shown] = await byCommand('balance', '--account', account)
  t.equal(shown?.['balance'], formatRoubles(balanceMicros), what)
  const entries = await byCommand('account', 'entries', account)
  const sum = entries.reduce((total, { amount }) => total + microsOf(amount), 0)
  t.equal(sum - chargedMicros, balanceMicros, `${what}: entries and charges add up to the balance`)
  const lines = await logLines()
  t.equal(lines.length, logged + (action === undefined ? 0 : count), `${what}: lines of the log`)
  logged = lines.length
  if (action === undefined) return
  const line = lines.slice(0, count).find(one => one['action'] === action)
  t.match(line, { action, operator: /^owner-\d+@desk\.example$/ }, what)
  t.match(String(line?.['reason']), reason, what)
  await goTo('/log')
  t.match(await page.textContent('tbody tr'), reason, `${what}: the page of the log has it`)
}

t.setTimeout(600_000)

await t.test('money is credited and debited', async t => {
  await goTo(home)
  await send(`${home}/credit`, { rub: '1000', reason: 'счёт 17' })
  await check({ action: 'credit', reason: 'счёт 17', rub: 1000, says: 'Сделано' })
  t.match((await customer.get('/balance')).text, 'счёт 17', 'the customer sees why')
  await goTo(home)
  await send(`${home}/debit`, { rub: '100,50', reason: 'дважды' })
  await check({ action: 'debit', reason: 'дважды', rub: -100.5, says: 'Сделано' })
})

await t.test('a charge is corrected', async t => {
  const { status, requestId, micros } = await ask()
  t.equal(status, 200)
  t.ok(micros > 0)
  await goTo(home)
  await send(`${home}/correct`, { request: requestId, rub: '0', reason: 'пустой ответ' })
  await check({ action: 'correct', reason: 'пустой ответ', rub: micros / 1e6, says: requestId })
  t.match((await customer.get(`/charges/${requestId}`)).text, 'Возвращено')
})

await t.test('a payment is refunded', async t => {
  const [made] = await byCommand('payment', 'create', '--account', account, '--rub', '500')
  const payment = String(made?.['id'])
  await fetch(String(made?.['confirmationUrl']), {
    method: 'POST',
    body: new URLSearchParams({ pay: 'bank_card' }),
  })
  await area.run('payment', 'reconcile', '--days', '1')
  balanceMicros += 500_000_000
  await goTo(`/payments/${payment}`)
  await send(`/payments/${payment}/refund`, { rub: '200', reason: 'по просьбе' })
  await check({ action: 'refund', reason: 'по просьбе', rub: -200, says: 'по просьбе' })
  t.match((await byCommand('payment', 'show', payment))[0], { status: 'succeeded' })
})

await t.test('an account is blocked, and its keys at once, until it is unblocked', async t => {
  await goTo(home)
  await send(`${home}/block`, { reason: 'чужая карта' })
  await check({ action: 'block', reason: 'чужая карта', says: 'Заблокирован' })
  t.equal((await ask()).status, 403)
  await goTo(home)
  await send(`${home}/unblock`, { reason: 'разобрались' })
  await check({ action: 'unblock', reason: 'разобрались', says: 'Сделано' })
  t.equal((await ask()).status, 200)
})

await t.test('a key is limited', async t => {
  await goTo(home)
  await page.click(`a[href$="/keys/${keyId}"]`)
  await page.fill('#models', 'chta')
  await page.fill('#reason', 'договор')
  await page.click('main form button')
  await check({ says: 'chta' })
  await page.fill('#models', 'chat')
  await page.fill('#budget', '500')
  await page.click('main form button')
  await page.waitForURL(/notice=done/)
  await check({ action: 'edit-key', reason: 'договор', says: 'Сделано' })
  t.match((await byCommand('key', 'find', keyId))[0], { budget: '500.000000', models: ['chat'] })
})

await t.test('sessions end, and a note stays', async t => {
  t.equal((await customer.get('/balance')).status, 200)
  await goTo(home)
  await send(`${home}/end-sessions`, { reason: 'чужой вход' })
  await check({ action: 'end-sessions', reason: 'чужой вход', says: 'Сделано' })
  t.match((await customer.get('/balance')).location, '/sign-in')
  await goTo(home)
  await send(`${home}/note`, { note: 'Просил счёт до пятницы' })
  await check({ says: 'Просил счёт до пятницы' })
})

await t.test('an alarm is taken and closed, and the rate in it accepted', async t => {
  bank.rates.set(today, '120,0000')
  const reload = async () => gateway.reload(loadConfig(configFile, { env: {}, plugins }).config)
  await reload()
  await until(async () => (await byCommand('alarms')).length === 1)
  const [alarm] = await byCommand('alarms')
  const path = `/alarms/${String(alarm?.['id'])}`
  await goTo('/alarms')
  await send(`${path}/take`)
  await check({ action: 'take-alarm', reason: 'rate_jump', says: 'принята' })
  await goTo('/')
  await page.click('a[href="/prices"]')
  const { micros: before } = await ask()
  await send('/prices/accept')
  await check({ action: 'accept-rate', reason: '120', says: 'Сделано' })
  await reload()
  t.equal((await ask()).micros, (before * 120) / 100)
  await goTo('/alarms')
  await send(`${path}/close`, { reason: 'курс верный' })
  await check({ action: 'close-alarm', reason: 'курс верный', says: 'Ничего не требует внимания' })
})

await t.test('a preview of prices changes nothing', async t => {
  const configured = readFileSync(configFile, 'utf8')
  await goTo('/prices')
  await send('/prices/preview', { coefficient: '2' })
  await page.waitForSelector('pre')
  await check({ says: "prices: { coefficient: '2' }" })
  t.equal(readFileSync(configFile, 'utf8'), configured)
})

await t.test('a provider is paused, resumed and tested', async t => {
  for (const [button, action, status] of [
    ['button:not([formaction])', 'pause-provider', 502],
    ['[formaction$="/resume"]', 'resume-provider', 200],
    ['[formaction$="/try"]', 'try-provider', 200],
  ] as const) {
    await goTo('/providers')
    await send('/providers/sandbox/pause', { reason: `причина ${action}` }, button)
    await page.waitForURL(/notice=done/)
    await check({ action, reason: `причина ${action}`, says: 'Сделано' })
    t.equal((await ask()).status, status, action)
  }
})

await t.test('a statement is imported, and its payments are decided', async () => {
  const paid = [41, 42].map(number => ({ number: String(number), date: '2026-11-20', amount: 70_000 }))
  const buffer = Buffer.from(statementOf(paid.map(one => ({ ...one, purpose: 'за услуги' }))))
  const file = { name: 'kl_to_1c.txt', mimeType: 'text/plain', buffer }
  for (const isDry of [true, false]) {
    await goTo('/transfers')
    await page.setInputFiles('#file', file)
    if (isDry) await page.check('[name="dryRun"]')
    await send('/transfers/import')
    await page.waitForSelector('.notice')
    await check(
      isDry
        ? { says: 'ничего не изменилось' }
        : { action: 'import-statement', reason: '2', says: 'Документов: 2' },
    )
  }
  const decide = async (end: string, list: string, fields: Readonly<Record<string, string>>) => {
    await goTo(list)
    const path = (await page.getAttribute(`form[action$="/${end}"]`, 'action')) ?? ''
    await send(path, fields)
    await page.waitForURL(/notice=done/)
  }
  await decide('assign', '/transfers', { account, note: 'письмо клиента' })
  await check({ action: 'assign-transfer', reason: 'письмо клиента', rub: 700, says: 'Сделано' })
  await decide('undo', '/transfers?state=credited', { note: 'не тот счёт' })
  await check({ action: 'undo-transfer', reason: 'не тот счёт', rub: -700, says: 'Сделано' })
  await decide('return', '/transfers', { note: 'вернули банку' })
  await check({ action: 'return-transfer', reason: 'вернули банку', says: 'Сделано' })
})

await t.test('a month is closed', async () => {
  await goTo('/documents')
  await send('/documents/close', { month: '2026-01' })
  await page.waitForSelector('.notice')
  await check({ action: 'close-month', reason: '2026-01', says: 'Сделано документов: 0' })
})

await t.test('an account is deleted once nothing prevents it', async () => {
  const other = await area.signUp()
  const gone = await area.accountOf(other.email)
  await accounts.credit({ accountId: gone, amountMicros: 5_000_000, reason: 'r' })
  logged = (await logLines()).length
  const path = `/customers/${gone}`
  await goTo(`${path}/delete`)
  t.equal(await page.locator(`form[action="${path}/delete"]`).count(), 0, 'there is money')
  await goTo(path)
  await send(`${path}/debit`, { rub: '5', reason: 'вернули' })
  await check({ action: 'debit', reason: 'вернули', says: 'Сделано' })
  await goTo(`${path}/delete`)
  await send(`${path}/delete`, { reason: 'по заявлению' })
  await page.waitForURL(/notice=/)
  await check({ action: 'delete-account', reason: 'по заявлению', lines: 2, says: 'Сделано' })
  t.match((await other.browser.get('/balance')).location, '/sign-in')
  t.notMatch((await desk.get(`/customers?q=${gone}`)).text, other.email)
})

await t.test('the ledger is in order, and no page reported an error', async t => {
  t.same(await area.verify(), [])
  t.same(complaints, [])
  await goTo('/')
  const text = await page.textContent('main')
  t.match(text, 'account_blocked')
  t.match(text, 'Списано за запросы')
})
