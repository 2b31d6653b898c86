import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import { textsOf } from '../../lib/account-area/texts/texts.ts'
import { runHere } from '../cli/run-gateway.ts'
import { statementOf } from '../contracts/documents.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import type { TestAccountArea } from '../fixtures/account-area.ts'
import { locales, makeKey, signUp } from '../fixtures/account-journey.ts'
import { openWindow, screens, startBrowser } from '../fixtures/browser.ts'
import { company, companyFields, sellerSection } from '../fixtures/companies.ts'
import { pdfPages } from '../fixtures/pdf-text.ts'

const chromium = await startBrowser(t)
const today = moscowDay(systemClock.now())
const month = today.slice(0, 7)
const language = 'ru'

/** `DOCUMENTS_SHOTS=FOLDER` keeps a screenshot of each step. */
async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env['DOCUMENTS_SHOTS']
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

async function fillCompany(page: Page): Promise<void> {
  const { kind, ...fields } = companyFields
  await page.selectOption('#kind', kind)
  for (const [name, value] of Object.entries(fields)) await page.fill(`[name="${name}"]`, value)
}

/** The file that a link on the page downloads. */
async function downloaded(page: Page, link: string): Promise<Buffer> {
  const download = page.waitForEvent('download')
  await page.click(link)
  return readFileSync(await (await download).path())
}

const textOf = async (pdf: Uint8Array): Promise<string> => (await pdfPages(pdf)).join(' ')

/** Sends a request that costs something, so that the month gets a document. */
async function ask(t: Test, area: TestAccountArea, key: string): Promise<void> {
  const response = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 50,
    }),
  })
  t.equal(response.status, 200)
  await response.text()
  await area.test.chargeOf(response.headers.get('x-gateway-request-id') ?? '')
}

for (const screen of ['desktop', 'phone'] as const) {
  await t.test(`from a company's details to the documents of its month, in a browser: ${screen}`, async t => {
    // A month is closed once, so each has a seller of its own.
    const area = await startAccountArea(t, {
      models: {
        'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100000', output: '100000' } },
      },
      seller: sellerSection,
    })
    const gateway = (...words: string[]) => runHere([...words, '--config', area.test.configFile])
    const { page, context, complaints } = await openWindow(chromium, {
      ...screens[screen],
      locale: locales[language],
    })
    t.teardown(() => context.close())
    const texts = textsOf(language)
    const name = (step: string) => `${screen}-${step}`
    const email = `documents-${screen}@example.org`
    await signUp(page, { area, language }, email)

    await page.goto(`${area.url}/balance`)
    await page.click('a[href="/settings/company"]')
    await fillCompany(page)
    await page.fill('[name="inn"]', '7736207544')
    await page.press('[name="inn"]', 'Tab')
    await page.waitForSelector('#inn-error')
    await shoot(page, name('1-wrong-digit'))
    t.match(await page.textContent('#inn-error'), 'Цифра 10 — 4, а по остальным должна быть 3.')
    await page.fill('[name="inn"]', company.inn)
    await page.click('main form button')
    await page.getByRole('status').waitFor()
    await shoot(page, name('2-company'))

    await page.goto(`${area.url}/balance`)
    await page.fill('#invoice-amount', '5 000')
    await page.getByRole('button', { name: texts.invoices.make }).click()
    await page.waitForURL(/\/balance\/invoices\//)
    const invoice = page.url()
    await shoot(page, name('3-invoice'))
    const pdf = await textOf(await downloaded(page, 'a[href$="/pdf"]'))
    const [, purpose = ''] = /(Оплата по счету № .*?)\. НДС не облагается/.exec(pdf) ?? []
    t.match(purpose, /^Оплата по счету № \d+ от /)

    const file = join(t.testdir(), 'bank.txt')
    const payment = { number: '7', date: today, amount: 500_000, inn: company.inn, purpose }
    writeFileSync(file, statementOf([payment], today))
    t.match(await gateway('statement', 'import', file, '--dry-run'), { code: 0 })
    await page.reload()
    t.notMatch(await page.textContent('main'), texts.invoices.states.paid, 'a dry run pays nothing')
    t.match(await gateway('statement', 'import', file), { code: 0, stdout: /1 credited/ })
    await page.goto(invoice)
    t.match(await page.textContent('main'), texts.invoices.states.paid)
    await shoot(page, name('4-paid'))
    await page.goto(`${area.url}/balance`)
    t.match(await page.textContent('.figure.main dd'), /5\u202f000,00/)
    await shoot(page, name('5-balance'))

    await ask(t, area, await makeKey(page, { language }, 'first'))
    t.match(await gateway('documents', 'close', '--month', month), { code: 0 })
    const { stdout } = await gateway('documents', 'list', '--month', month, '--json')
    const { id } = JSON.parse(stdout) as { id: string }
    t.match(await gateway('documents', 'mark', id, '--state', 'signed'), { code: 0 })
    await page.goto(`${area.url}/documents`)
    t.match(await page.textContent('main table'), texts.documents.states.signed)
    await shoot(page, name('6-documents'))
    const act = await textOf(await downloaded(page, 'a[href^="/documents/closing/"]'))
    t.match(act, /Акт № \d+ от .*ООО «Ромашка»/)
    const zip = unzipSync(await downloaded(page, 'a[href^="/documents/months/"]'))
    t.match(Object.keys(zip).toSorted(), [/-act-\d+-7736207543\.pdf$/, /\.xml$/, 'register.csv'])
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: texts.documents.make }).click()
    const statement = readFileSync(await (await download).path())
    t.match(await textOf(statement), /Акт сверки .*Оплата \(п\/п № 7/)
    t.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    t.strictSame(complaints, [])
    t.strictSame(await area.test.breaches(), [])
  })
}
