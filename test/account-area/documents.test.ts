import { unzipSync } from 'fflate'
import t from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { connectAccounts } from '../../lib/control/connect-accounts.ts'
import { documentEmailStep } from '../../lib/documents/document-emails.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { createLog } from '../../lib/observability/log.ts'
import type { Records } from '../../lib/stores/records/records.ts'
import { statementOf } from '../contracts/documents.ts'
import { linkIn, startAccountArea } from '../fixtures/account-area.ts'
import type { AccountBrowser } from '../fixtures/account-browser.ts'
import {
  company,
  companyFields,
  seller as plainSeller,
  sellerSection,
  soleProprietor,
} from '../fixtures/companies.ts'
import { pdfPages } from '../fixtures/pdf-text.ts'

const seller = { ...plainSeller, tax: sellerSection.tax }
const chat = { provider: 'sandbox', upstreamModel: 'sandbox-chat', outputTokensMax: 1000 }
const area = await startAccountArea(t, {
  models: { chat: { ...chat, rubPerMillion: { input: '100000', output: '400000' } } },
  seller: sellerSection,
})

const details = companyFields
const today = moscowDay(systemClock.now())

/** Does what the command line would do while the server runs. */
async function beside<T>(work: (records: Records) => Promise<T>, { configFile } = area.test): Promise<T> {
  const { config } = loadConfig(configFile, { env: {} })
  const log = createLog({ level: 'silent' })
  const connection = await connectAccounts(config.store, { clock: systemClock, log })
  try {
    return await work(await connection.records())
  } finally {
    await connection.close()
  }
}

async function makeInvoice(browser: AccountBrowser, amount = '10 000,50'): Promise<string> {
  const { location } = await browser.post(
    '/balance/invoices',
    { amount, form: newId() },
    { from: '/balance' },
  )
  return location
}

async function pdfText(browser: AccountBrowser, path: string): Promise<string> {
  const response = await fetch(new URL(path, area.url), {
    headers: { cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
  })
  t.equal(response.headers.get('content-type'), 'application/pdf', path)
  t.match(
    response.headers.get('content-disposition'),
    /^attachment; filename="document.pdf"; filename\*=UTF-8''%D0/,
  )
  return (await pdfPages(Buffer.from(await response.arrayBuffer()))).join(' ')
}

await t.test('company details are validated, and the message names the digit that is wrong', async t => {
  const { browser } = await area.signUp()
  const page = '/settings/company'
  t.match((await browser.get('/balance')).text, 'href="/settings/company">Указать реквизиты')
  t.match((await browser.get('/documents')).text, 'Указать реквизиты')

  for (const [field, value, message] of [
    ['inn', '7736207544', 'Цифра 10 — 4, а по остальным должна быть 3. Сверьте номер с документом.'],
    ['inn', '77362075', 'Цифр: 8, а должно быть 10.'],
    ['inn', '77362o7543', 'На месте 6 стоит «o», а должна быть цифра.'],
    ['kpp', '', 'Заполните это поле.'],
    ['ogrn', '1027700229194', 'Цифра 13 — 4, а по остальным должна быть 3.'],
    ['name', 'ООО \u202eамор', 'Знак 5 (U+202E) нельзя напечатать. Удалите его.'],
    ['name', 'Я'.repeat(1001), 'Знаков: 1001, а помещается не больше 1000.'],
    ['email', 'buh', 'Это не похоже на адрес электронной почты.'],
    ['bank.bic', '144525225', 'Начинается с 1, а должно начинаться с 0.'],
    ['ediId', 'x', 'Это не идентификатор участника ЭДО.'],
  ] as const) {
    const { status, text } = await browser.post(page, { ...details, [field]: value })
    t.equal(status, 422, `${field}: ${value.slice(0, 20)}`)
    t.match(text, message)
    t.ok(text.includes(`id="${field}-error"`))
    const checked = await browser.post(`${page}/check`, { ...details, [field]: value }, { from: page })
    t.equal(
      (JSON.parse(checked.text) as Record<string, string>)[field]?.includes(message),
      true,
      'the field is checked while typing',
    )
  }
  t.same(JSON.parse((await browser.post(`${page}/check`, details, { from: page })).text), {})
  t.match((await browser.get(page)).text, /id="inn"[^>]*value=""/, 'no invalid value was stored')

  const odd = { ...details, name: `ООО «Рога & "Копыта"»` }
  const saved = await browser.post(page, odd)
  t.match((await browser.follow(saved)).text, 'Реквизиты сохранены.')
  t.match((await browser.get(page)).text, 'value="ООО «Рога &amp; &quot;Копыта&quot;»"')
  const sole = {
    ...details,
    kind: 'sole',
    name: soleProprietor.name,
    inn: soleProprietor.inn,
    ogrn: soleProprietor.ogrn,
  }
  t.match((await browser.post(page, sole)).text, 'У ИП нет КПП')
  t.equal((await browser.post(page, { ...sole, kpp: '' })).status, 303)
})

await t.test('an invoice is made on the balance page, emailed, and open by its link', async t => {
  const { browser } = await area.signUp()
  await browser.post('/settings/company', details)
  const form = newId()
  const fields = { amount: '10 000,50', form }
  const made = await browser.post('/balance/invoices', fields, { from: '/balance' })
  const again = await browser.post('/balance/invoices', fields, { from: '/balance' })

  t.match(made.location, /^\/balance\/invoices\/[0-9a-z]{26}$/)
  t.equal(again.location, made.location, 'sending the same form again makes no second invoice')
  const { text } = await browser.follow(made)
  t.match(text, 'ждёт оплаты')
  const number = /Счёт № (\d+)/.exec(text)?.[1] ?? ''
  t.match(await pdfText(browser, `${made.location}/pdf`), `Счёт на оплату № ${number}`)
  const email = await area.mail.emailTo('buh@romashka.example', new RegExp(`Счёт № ${number} `))
  t.match(email.text, /Оплата по счету № \d+ от/)
  t.match(email.messageId, '<invoice-made.')
  t.match(email.attachments, [{ name: new RegExp(`^Счёт № ${number} от .*\\.pdf$`) }])
  t.match((await pdfPages(email.attachments[0]?.bytes ?? Buffer.alloc(0)))[0], `Счёт на оплату № ${number}`)

  const link = linkIn(email.text)
  const visitor = area.browser()
  const open = await visitor.get(link)
  t.equal(open.status, 200)
  t.equal(open.headers['x-robots-tag'], 'noindex')
  t.match(open.text, `Счёт № ${number}`)
  t.match(await pdfText(visitor, `${link}/pdf`), 'Десять тысяч рублей 50 копеек')
  t.equal((await visitor.get(`${link.slice(0, -1)}_`)).status, 404)
  t.equal((await visitor.get(`${link.slice(0, -1)}_/pdf`)).status, 404)
  t.match((await visitor.get(made.location)).location, /^\/sign-in/)

  const cancelled = await browser.post(`${made.location}/cancel`, {}, { from: made.location })
  t.match((await browser.follow(cancelled)).text, 'Счёт отменён.')
  t.match((await visitor.get(link)).text, 'отменён')
})

await t.test('a reminder requests the rest of an invoice, with the tax on that rest', async t => {
  const tax = [{ from: '2020-01-01', rate: 22 as const }]
  const taxed = await startAccountArea(t, { seller: { ...sellerSection, tax } })
  const { browser } = await taxed.signUp()
  await browser.post('/settings/company', details)
  const invoice = await makeInvoice(browser, '122')
  const id = invoice.split('/').at(-1) ?? ''
  const number = /Счёт № (\d+)/.exec((await browser.get(invoice)).text)?.[1] ?? ''
  await taxed.mail.emailTo(details.email, /К оплате|НДС 22% 22\.00/)
  const payment = { amount: 6_100, date: today, inn: details.inn, purpose: `по счету № ${number}` }
  const bytes = statementOf([payment], today)
  await beside(async records => {
    const at = systemClock.now()
    await importStatement(records, { ...seller, tax }, { bytes, at, isDryRun: false })
    const [{ account_id } = { account_id: '' }] = await records.all(
      records.build.selectFrom('invoices').select('account_id').where('id', '=', id),
    )
    const email = { document_id: id, account_id, kind: 'invoice-reminder', created_at: at } as const
    await records.write([documentEmailStep(records, email)])
  }, taxed.test)

  const reminder = await taxed.mail.emailTo(details.email, /Напоминаем/)

  t.match(reminder.text, /К оплате 61,00\u00a0₽/)
  t.match(reminder.text, `Оплата по счету № ${number} от`)
  t.match(reminder.text, /НДС 22% 11\.00\n/)
  const page = (await browser.get(invoice)).text
  t.match(page, /Осталось оплатить<\/dt>\s*<dd>61,00\u00a0₽/)
  t.match(page, 'НДС 22% 11.00')
  t.match((await pdfPages(reminder.attachments[0]?.bytes ?? Buffer.alloc(0)))[0], 'НДС 22% 22.00')
})

await t.test('an invalid amount makes no invoice', async t => {
  const { browser } = await area.signUp()
  t.equal(await makeInvoice(browser), '/settings/company', 'without a company')
  await browser.post('/settings/company', details)
  for (const [amount, message] of [
    ['', 'Заполните это поле.'],
    ['0', 'Введите сумму в рублях больше нуля.'],
    ['-5', 'Введите сумму в рублях больше нуля.'],
    ['10,555', 'Введите сумму с точностью до копейки.'],
    ['100000001', 'Счёт может быть не больше'],
    ['много', 'Введите сумму в рублях больше нуля.'],
  ] as const) {
    const { status, text } = await browser.post(
      '/balance/invoices',
      { amount, form: newId() },
      { from: '/balance' },
    )
    t.equal(status, 422, amount)
    t.match(text, message)
  }
  for (let count = 1; count <= 20; count += 1) t.match(await makeInvoice(browser, '1'), /invoices/)
  const { status, text } = await browser.post(
    '/balance/invoices',
    { amount: '1', form: newId() },
    { from: '/balance' },
  )
  t.equal(status, 422)
  t.match(text, 'Сегодня выставлено уже 20 счетов')
})

await t.test(
  'a transfer pays the invoice, the month is closed, and its documents are downloaded',
  async t => {
    const { email, browser } = await area.signUp()
    const accountId = await area.accountOf(email)
    await browser.post('/settings/company', { ...details, email: 'month@romashka.example' })
    const invoice = await makeInvoice(browser, '5000')
    const number = /Счёт № (\d+)/.exec((await browser.get(invoice)).text)?.[1] ?? ''
    const purpose = `Оплата по счету № ${number} от ${today.split('-').toReversed().join('.')}`
    const payment = { number: '7', date: today, amount: 500_000, inn: company.inn, purpose }
    const bytes = statementOf([payment], today)
    const result = await beside(records =>
      importStatement(records, seller, { bytes, at: systemClock.now(), isDryRun: false }),
    )
    t.match(result, { credited: [{ account: accountId }] })

    t.match((await browser.get('/balance')).text, /5\u202f000,00\u00a0₽/)
    t.match((await browser.get('/balance')).text, 'Банковский перевод')
    t.match((await browser.get(invoice)).text, 'оплачен')
    const { key } = await area.test.accounts.createKey({ accountId })
    const response = await fetch(`${area.test.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await response.text()
    await area.test.chargeOf(response.headers.get('x-gateway-request-id') ?? '')
    const month = today.slice(0, 7)
    await beside(records => closeMonth(records, seller, { month, at: systemClock.now() }))

    const sent = await area.mail.emailTo('month@romashka.example', /^Акт № /)
    t.equal(linkIn(sent.text), `/documents?year=${month.slice(0, 4)}`, 'in January the link is to last year')
    t.match((await pdfPages(sent.attachments[0]?.bytes ?? Buffer.alloc(0)))[0], /Акт № \d+ от/)
    const { text } = await browser.get('/documents')
    t.match(text, /Акт № \d+ от/)
    t.match(text, `Счёт № ${number} от`)
    const closing = /href="(\/documents\/closing\/\w+)"/.exec(text)?.[1] ?? ''
    t.match(await pdfText(browser, closing), /Акт № \d+ от .*ООО «Ромашка»/)
    const archive = await fetch(new URL(`/documents/months/${month}`, area.url), {
      headers: { cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    t.equal(archive.headers.get('content-type'), 'application/zip')
    const files = unzipSync(new Uint8Array(await archive.arrayBuffer()))
    t.match(Object.keys(files).toSorted(), [
      /-act-\d+-7736207543\.pdf$/,
      /^ON_NSCHFDOPPR_.*\.xml$/,
      'register.csv',
    ])
    t.match((await browser.get('/documents')).text, `href="/documents/months/${month}"`)
    t.equal((await browser.get('/documents/months/2020-01')).status, 404)
    const statement = `/documents/reconciliation?from=${month}-01&to=${today}`
    t.match(await pdfText(browser, statement), /Акт сверки .*Оплата \(п\/п № 7/)
    t.equal((await browser.get('/documents/reconciliation?from=2026-02-31&to=x')).status, 422)
    t.equal((await browser.get(`/documents/reconciliation?from=${today}&to=2020-01-01`)).status, 422)
    const lastYear = Number(today.slice(0, 4)) - 1
    const earlier = (await browser.get(`/documents?year=${lastYear}`)).text
    t.match(earlier, 'Документов за этот год нет.')
    t.match(earlier, 'Счетов за этот год нет.')
    t.match(earlier, `value="${lastYear}-12-31"`, 'the statement is of that year too')
    t.match(
      (await browser.get('/documents?year=1')).text,
      /Акт № \d+ от/,
      'a year without documents shows the current one',
    )
    const other = (await area.signUp()).browser
    t.equal((await other.get(closing)).status, 404)
    t.equal((await other.get(invoice)).status, 404)
    t.strictSame(await area.test.breaches(), [])
  },
)
