import t from 'tap'
import { newId } from '../../lib/platform/new-id.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import { runHere } from '../cli/run-gateway.ts'
import {
  atShop,
  makePayment,
  pageThatSays,
  payByCard,
  sandboxPayments,
  topUp,
} from '../fixtures/account-payment.ts'

const area = await startAccountArea(t, {
  payments: sandboxPayments,
})

await t.test('a customer tops up by card, sees the balance rise, and opens the receipt', async t => {
  const { browser } = await area.signUp()
  const before = (await browser.get('/balance')).text
  t.match(before, 'Пополнить')
  t.notMatch(before, 'Удержано', 'nothing is held')

  const { path, shopUrl } = await makePayment(browser)
  t.match((await browser.get(`${path}?go=1`)).text, `content="0;url=${shopUrl}"`)
  t.match((await browser.get(path)).text, 'Ждём оплату')
  const back = await atShop(shopUrl, { pay: 'bank_card' })

  t.equal(new URL(back).pathname, path)
  t.match(await pageThatSays(browser, path, 'Оплачено'), '1\u202f500,50')
  const balance = await pageThatSays(browser, '/balance', 'зарегистрирован<')
  t.match(balance, '+1\u202f500,50')
  t.match(balance, 'Чек оплаты')
  const receipt = /href="(\/balance\/receipts\/\w+)"/.exec(balance)?.[1] ?? ''
  t.match((await browser.get(receipt)).text, 'bill@example.org')
  t.match((await browser.get('/balance.csv')).text, /Пополнение.*;1500,500000;1500,500000/)
  t.strictSame(await area.test.breaches(), [])
})

await t.test('a payment by SBP shows a code to scan and a link for the phone', async t => {
  const { browser } = await area.signUp()

  const { path, shopUrl } = await makePayment(browser, { ...topUp, method: 'sbp' })

  const { text } = await browser.get(path)
  t.match(text, '<svg')
  t.match(text, 'Открыть приложение банка')
  t.match(text, '<noscript><meta http-equiv="refresh"')
  await atShop(shopUrl, { pay: 'sbp' })
  await pageThatSays(browser, path, 'Оплачено')
})

await t.test("a declined payment says why in the customer's words, and credits nothing", async t => {
  const { browser } = await area.signUp()
  const { path, shopUrl } = await makePayment(browser)

  await atShop(shopUrl, { decline: 'insufficient_funds' })

  const text = await pageThatSays(browser, path, 'Оплата не прошла')
  t.match(text, 'не хватило денег')
  t.match(text, 'href="/balance?rub=1500.5#amount"')
  t.match((await browser.get('/balance')).text, 'Здесь будут пополнения')
})

await t.test('invalid amounts are marked at their field, which keeps what was typed', async t => {
  const { browser } = await area.signUp()

  for (const [amount, said] of [
    ['49,99', 'меньше наименьшей'],
    ['350001', 'больше, чем принимает'],
    ['100,555', 'с точностью до копейки'],
    ['сто', 'Введите сумму'],
    ['', 'Заполните'],
    ['-5', 'Введите сумму'],
  ] as const) {
    const { status, text } = await browser.post('/balance/top-up', { ...topUp, amount }, { from: '/balance' })
    t.equal(status, 422, amount)
    t.match(text, said)
    t.match(text, `value="${amount}"`)
  }
})

await t.test(
  'amounts pasted with spaces and a currency are accepted, in the format of each language',
  async t => {
    for (const [language, amount, shown] of [
      ['ru', '1\u00a0500,50\u00a0₽', '1\u202f500,50'],
      ['ru', ' 1 500,5 руб. ', '1\u202f500,50'],
      ['en', '1,500.50 ₽', '1,500.50'],
      ['en', '1,500', '1,500.00'],
    ] as const) {
      const { browser } = await area.signUp()
      await browser.post('/appearance', { language, theme: 'system', next: '/' }, { from: '/' })
      const { path } = await makePayment(browser, { ...topUp, amount })
      t.match((await browser.get(path)).text, `: ${shown}\u00a0₽</h1>`)
    }
  },
)

await t.test('bookings of the operator are listed with their reasons, and a debt is shown', async t => {
  const { browser, email } = await area.signUp()
  const accountId = await area.accountOf(email)
  const { accounts } = area.test
  await accounts.credit({ accountId, amountMicros: 300_000_000, reason: 'за простой <b>' })
  await accounts.debit({ accountId, amountMicros: 100_000_000, reason: 'исправление' })

  const { text } = await browser.get('/balance')

  t.match(text, /Зачислено оператором[^]*за простой &lt;b&gt;/)
  t.match(text, /Списано оператором[^]*исправление/)
  t.match(text, '\u2212100,00')
  t.match(text, 'Доступно')
  t.match(
    (await browser.get('/balance.csv')).text,
    /Списано оператором: исправление;[^;]*;-100,000000;200,000000/,
  )
})

await t.test('a movement below a kopeck is as exact as the charge that it corrects', async t => {
  const { browser, email } = await area.signUp()
  const accountId = await area.accountOf(email)
  await area.test.accounts.credit({ accountId, amountMicros: 10_004_900, reason: 'r' })
  await area.test.accounts.debit({ accountId, amountMicros: 4_900, reason: 'r' })

  const { text } = await browser.get('/balance')

  t.match(text, '+10,0049\u00a0₽')
  t.match(text, '\u22120,0049\u00a0₽')
})

await t.test('a refund is shown with its payment and in the history, with a receipt of its own', async t => {
  const { browser } = await area.signUp()
  const { payment } = await payByCard(browser)
  const id = payment.split('/').at(-1) ?? ''
  const words = ['payment', 'refund', id, '--rub', '500.50', '--reason', 'по заявлению']
  t.equal((await runHere([...words, '--config', area.test.configFile])).code, 0)

  const text = await pageThatSays(browser, payment, 'Чек возврата')
  t.match(text, /Возвращено[^]*по заявлению/)
  const { text: balance } = await browser.get('/balance')
  t.match(balance, /Возврат[^]*\u2212500,50[^]*1\u202f000,00/)
  t.match((await browser.get('/balance/receipts')).text, 'Чек возврата')
  t.strictSame(await area.test.breaches(), [])
})

await t.test('an unfinished payment can be continued', async t => {
  const { browser } = await area.signUp()
  const { path, shopUrl } = await makePayment(browser)
  t.match((await browser.get('/balance')).text, `href="${path}"`)

  await atShop(shopUrl, { pay: 'sbp' })
  await pageThatSays(browser, path, 'Оплачено')

  t.notMatch((await browser.get('/balance')).text, 'Незавершённые')
})

await t.test('payments and receipts of another account are not shown', async t => {
  const { browser } = await area.signUp()
  const { path } = await makePayment(browser)
  const { browser: other } = await area.signUp()

  t.equal((await other.get(path)).status, 404)
  t.equal((await other.get(`${path}?part=1`)).status, 404)
  t.equal((await other.get(`/balance/payments/${newId()}`)).status, 404)
  t.equal((await other.get(`/balance/receipts/${newId()}`)).status, 404)
  t.notMatch((await other.get('/balance')).text, path)
})

await t.test(
  'notifications that are too long, not JSON, forged or of another shop change nothing',
  async t => {
    const send = async (body: string): Promise<number> =>
      (await fetch(`${area.url}/payments/yookassa/notifications`, { method: 'POST', body })).status

    t.equal(await send('x'.repeat(1_000_000)), 413)
    t.equal(await send('{"event":'), 200)
    t.equal(await send('[]'), 200)
    t.equal(await send(JSON.stringify({ event: 'payment.succeeded', object: { id: newId() } })), 200)
    t.equal(await send(JSON.stringify({ event: 'payment.succeeded', object: { id: '../refunds/1' } })), 200)
    t.strictSame(await area.test.breaches(), [])
  },
)

await t.test('without payments the page names a contact, and nothing can be paid', async t => {
  const closed = await startAccountArea(t, { payments: null })
  const { browser, email } = await closed.signUp()

  const { text } = await browser.get('/balance')

  t.match(text, await closed.accountOf(email))
  t.equal((await browser.post('/balance/top-up', topUp, { from: '/balance' })).status, 404)
  t.equal((await fetch(`${closed.url}/payments/yookassa/notifications`, { method: 'POST' })).status, 404)
})
