import t from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'

await t.test('who signs up confirms the e-mail by a letter and sees an empty account', async t => {
  const area = await startAccountArea(t)

  const { browser } = await area.signUp('new@example.org')

  const page = await browser.get('/')
  t.equal(page.status, 200)
  t.match(page.text, '<h1>Обзор</h1>')
  t.match(page.text, '0,00\u00a0₽')
})
