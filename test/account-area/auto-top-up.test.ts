import Database from 'better-sqlite3'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { goodPassword, startAccountArea } from '../fixtures/account-area.ts'
import type { SignedUp } from '../fixtures/account-area.ts'
import { atShop, makePayment, pageThatSays, topUp } from '../fixtures/account-payment.ts'

const area = await startAccountArea(t, {
  payments: { provider: 'sandbox', autoTopUp: true, receipts: { vatCode: 1 } },
})
const from = '/balance/auto'
const terms = { below: '200', amount: '300', monthMax: '650' }

/** Pays once by a card that is saved; returns the card's id in the form. */
async function saveCard({ browser }: SignedUp): Promise<string> {
  const { path, shopUrl } = await makePayment(browser, { ...topUp, amount: '150', saveCard: 'yes' })
  await atShop(shopUrl, { pay: 'bank_card' })
  await pageThatSays(browser, path, 'Оплачено')
  const { text } = await browser.get(from)
  return /<option value="([0-9a-z]{26})"/.exec(text)?.[1] ?? ''
}

await t.test(
  'a card is saved and charged when the balance is low, and each charge is reported by an email',
  async t => {
    const person = await area.signUp()
    const { browser, email } = person
    t.match((await browser.get(from)).text, 'Сохранённых карт нет')
    t.match((await browser.get('/balance?save=1')).text, /id="saveCard"[^>]*checked/)
    const card = await saveCard(person)
    t.match((await browser.get(from)).text, 'карта\u00a0••\u00a04477')

    const on = await browser.post(from, { ...terms, card }, { from })

    t.equal(on.location, '/balance/auto?notice=auto-on')
    t.match(
      (await area.mail.emailTo(email, /включено автопополнение/)).text,
      'Не больше 650,00\u00a0₽ в месяц',
    )
    await pageThatSays(browser, '/balance', /Автопополнение<\/a>[^]*\+300,00/)
    const received = await area.mail.emailTo(email, /пополнен автоматически на 300,00/)
    t.match(received.text, 'Сейчас на балансе 450,00\u00a0₽')
    t.match(received.text, `${area.url}/balance/auto`)
    const { text } = await browser.get(from)
    t.match(text, 'В этом месяце списано 300,00\u00a0₽ из 650,00\u00a0₽')
    t.match((await browser.get('/balance.csv')).text, 'Автопополнение;')
    t.strictSame(await area.test.breaches(), [])
  },
)

await t.test('a card that its owner unlinks is forgotten at once, and an email reports it', async t => {
  const person = await area.signUp()
  const { browser, email } = person
  const card = await saveCard(person)
  const stranger = await area.signUp()
  await stranger.browser.post('/balance/auto/unlink', { card }, { from: '/balance' })
  t.equal((await stranger.browser.post(from, { ...terms, card }, { from: '/balance' })).status, 422)
  t.match((await browser.get(from)).text, card, 'the card of another account cannot be unlinked or charged')

  const answer = await browser.post('/balance/auto/unlink', { card }, { from })

  t.match((await browser.follow(answer)).text, 'Карта отвязана')
  t.notMatch((await browser.get(from)).text, card)
  await area.mail.emailTo(email, /Списать с неё деньги мы больше не можем/)
  t.equal(
    (await browser.post('/balance/auto/unlink', { card }, { from })).status,
    303,
    'unlinking twice is the same as once',
  )
})

await t.test('automatic top-up is switched off at once, and an email reports it', async t => {
  const person = await area.signUp()
  const { browser, email } = person
  const card = await saveCard(person)
  await browser.post(from, { ...terms, below: '100', card }, { from })
  t.match((await browser.get(from)).text, 'Выключить автопополнение')

  const answer = await browser.post('/balance/auto/off', {}, { from })

  t.equal(answer.location, '/balance/auto?notice=auto-off')
  t.match((await browser.get('/balance')).text, 'Выключено.')
  await area.mail.emailTo(email, /списаний больше не будет/)
})

await t.test('invalid terms are marked at their field', async t => {
  const person = await area.signUp()
  const { browser } = person
  const card = await saveCard(person)
  for (const [change, field, said] of [
    [{ amount: '99' }, 'amount', 'меньше наименьшей'],
    [{ amount: '350001', monthMax: '900000' }, 'amount', 'больше, чем принимает'],
    [{ amount: '300,005' }, 'amount', 'с точностью до копейки'],
    [{ monthMax: '299' }, 'monthMax', 'меньше одного пополнения'],
    [{ below: '0' }, 'below', 'Введите сумму'],
    [{ below: '' }, 'below', 'Заполните'],
    [{ card: 'x' }, 'card', 'использовать нельзя'],
  ] as const) {
    const { status, text } = await browser.post(from, { ...terms, card, ...change }, { from })
    t.equal(status, 422)
    t.match(text, new RegExp(`id="${field}-error">[^<]*${said}`))
  }
})

await t.test('amounts and emails are in English for English users', async t => {
  const person = await area.signUp()
  const { browser, email } = person
  const card = await saveCard(person)
  await browser.post('/settings/profile', { name: '', language: 'en' }, { from: '/settings' })

  await browser.post(from, { below: '200', amount: '1,000', monthMax: '1,000.00', card }, { from })

  const received = await area.mail.emailTo(email, /topped up automatically by 1,000\.00/)
  t.equal(received.subject, 'Balance topped up by 1,000.00\u00a0₽: Gateway')
})

await t.test('a deleted account is not charged', async t => {
  const person = await area.signUp()
  const { browser } = person
  const card = await saveCard(person)
  await browser.post(from, { ...terms, below: '100', card }, { from })
  const accountId = await area.accountOf(person.email)
  await browser.post('/settings/delete', { currentPassword: goodPassword, understood: 'yes' })
  await area.test.accounts.debit({ accountId, amountMicros: 100_000_000, reason: 'test' })

  await delay(5000)

  const store = new Database(area.test.storeFile, { readonly: true })
  t.teardown(() => store.close())
  t.match(store.prepare('SELECT method_id, forgotten_by FROM saved_cards WHERE id = ?').get(card), {
    method_id: null,
    forgotten_by: 'owner',
  })
  t.match(store.prepare('SELECT state FROM auto_top_ups WHERE account_id = ?').get(accountId), {
    state: 'off',
  })
  const automatic = "SELECT count(*) AS count FROM payments WHERE origin = 'automatic' AND account_id = ?"
  t.match(store.prepare(automatic).get(accountId), { count: 0 })
})

await t.test('the shipped configuration has no automatic top-up', async t => {
  const plain = await startAccountArea(t, { payments: { provider: 'sandbox' } })
  const { browser } = await plain.signUp()

  const { text } = await browser.get('/balance')

  t.notMatch(text, 'saveCard')
  t.notMatch(text, 'Автопополнение')
  t.equal((await browser.post(from, { ...terms, card: 'x' }, { from: '/balance' })).status, 404)
})
