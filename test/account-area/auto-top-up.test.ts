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

/** Pays once by a card that is saved; returns the id by which the form names it. */
async function saveCard({ browser }: SignedUp): Promise<string> {
  const { path, shopUrl } = await makePayment(browser, { ...topUp, amount: '150', saveCard: 'yes' })
  await atShop(shopUrl, { pay: 'bank_card' })
  await pageThatSays(browser, path, 'Оплачено')
  const { text } = await browser.get(from)
  return /<option value="([0-9a-z]{26})"/.exec(text)?.[1] ?? ''
}

await t.test(
  'a card is saved, charged when the balance is low, and each charge is told by an email',
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
      (await area.mail.letterTo(email, /включено автопополнение/)).text,
      'Не больше 650,00\u00a0₽ в месяц',
    )
    await pageThatSays(browser, '/balance', /Автопополнение<\/a>[^]*\+300,00/)
    const letter = await area.mail.letterTo(email, /пополнен автоматически на 300,00/)
    t.match(letter.text, 'Сейчас на балансе 450,00\u00a0₽')
    t.match(letter.text, `${area.url}/balance/auto`)
    const { text } = await browser.get(from)
    t.match(text, 'В этом месяце списано 300,00\u00a0₽ из 650,00\u00a0₽')
    t.match((await browser.get('/balance.csv')).text, 'Автопополнение;')
    t.strictSame(await area.test.breaches(), [])
  },
)

await t.test('an unlinked card is forgotten at once, and its owner is told', async t => {
  const person = await area.signUp()
  const { browser, email } = person
  const card = await saveCard(person)
  const stranger = await area.signUp()
  await stranger.browser.post('/balance/auto/unlink', { card }, { from: '/balance' })
  t.equal((await stranger.browser.post(from, { ...terms, card }, { from: '/balance' })).status, 422)
  t.match((await browser.get(from)).text, card, "another's card is nobody else's to unlink or to charge")

  const answer = await browser.post('/balance/auto/unlink', { card }, { from })

  t.match((await browser.follow(answer)).text, 'Карта отвязана')
  t.notMatch((await browser.get(from)).text, card)
  await area.mail.letterTo(email, /Списать с неё деньги мы больше не можем/)
  t.equal((await browser.post('/balance/auto/unlink', { card }, { from })).status, 303, 'twice is once')
})

await t.test('it is switched off at once, and its owner is told', async t => {
  const person = await area.signUp()
  const { browser, email } = person
  const card = await saveCard(person)
  await browser.post(from, { ...terms, below: '100', card }, { from })
  t.match((await browser.get(from)).text, 'Выключить автопополнение')

  const answer = await browser.post('/balance/auto/off', {}, { from })

  t.equal(answer.location, '/balance/auto?notice=auto-off')
  t.match((await browser.get('/balance')).text, 'Выключено.')
  await area.mail.letterTo(email, /списаний больше не будет/)
})

await t.test('terms that make no sense are marked at their field', async t => {
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

await t.test('in English amounts and emails are English', async t => {
  const person = await area.signUp()
  const { browser, email } = person
  const card = await saveCard(person)
  await browser.post('/settings/profile', { name: '', language: 'en' }, { from: '/settings' })

  await browser.post(from, { below: '200', amount: '1,000', monthMax: '1,000.00', card }, { from })

  const letter = await area.mail.letterTo(email, /topped up automatically by 1,000\.00/)
  t.equal(letter.subject, 'Balance topped up by 1,000.00\u00a0₽: Gateway')
})

await t.test('nothing is charged for an account that was deleted', async t => {
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

await t.test('as shipped there is nothing of it', async t => {
  const plain = await startAccountArea(t, { payments: { provider: 'sandbox' } })
  const { browser } = await plain.signUp()

  const { text } = await browser.get('/balance')

  t.notMatch(text, 'saveCard')
  t.notMatch(text, 'Автопополнение')
  t.equal((await browser.post(from, { ...terms, card: 'x' }, { from: '/balance' })).status, 404)
})
