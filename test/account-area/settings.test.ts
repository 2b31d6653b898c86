import { writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { get } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { startGateway } from '../../lib/gateway/gateway.ts'
import { createLog } from '../../lib/observability/log.ts'
import { plugins } from '../../plugins/index.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import { AccountBrowser } from '../fixtures/account-browser.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

await t.test("the operator's name and texts replace the shipped ones", async t => {
  const folder = t.testdir()
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const offer = {
    version: 'v7',
    ru: file('offer.ru.txt', '# Оферта\n\nНаши <b>условия</b>.\n'),
    en: file('offer.en.txt', '# Offer\n\nOur terms.'),
  }
  const area = await startAccountArea(t, { accountArea: { name: 'Пример & Ко', documents: { offer } } })
  const browser = area.browser()

  const { text } = await browser.get('/documents/offer')

  t.match(text, 'Пример &amp; Ко')
  t.match(text, '<h1>Оферта</h1>')
  t.match(text, 'Наши &lt;b&gt;условия&lt;/b&gt;.')
  t.match(text, 'редакция v7')
  t.match((await browser.get('/documents/personal-data')).text, 'черновик', 'the other is still a draft')
  t.match((await browser.get('/sign-up')).text, 'редакция v7')
})

await t.test('without a mail server the link is in the log of this machine', async t => {
  const test = await startTestGateway(t, {
    config: { providers: { sandbox: {} }, accountArea: { listen: { host: '127.0.0.1', port: 0 } } },
  })
  const browser = new AccountBrowser(test.gateway.accountAreaUrl ?? '')
  const password = 'correct horse battery'
  await browser.post('/sign-up', { email: 'a@example.org', password, offer: 'yes', personalData: 'yes' })

  const line = test.logLines.find(line => line.includes('/confirm?token='))
  const token = /token=([\w.-]+)/.exec(line ?? '')?.[1] ?? ''

  t.equal((await browser.post('/confirm', { token, password })).location, '/')
})

await t.test('without the setting there are no pages, and closing the gateway ends them', async t => {
  const none = await startTestGateway(t, { config: { providers: { sandbox: {} } } })
  t.equal(none.gateway.accountAreaUrl, undefined)
  const area = await startAccountArea(t)
  t.equal((await area.browser().get('/sign-in')).status, 200)

  await area.test.gateway.close(0)

  await t.rejects(area.browser().get('/sign-in'), { code: 'ECONNREFUSED' })
})

await t.test('with a certificate pages are served over HTTPS, and cookies are HTTPS only', async t => {
  const tls = fileURLToPath(new URL('../fixtures/tls', import.meta.url))
  const area = await startAccountArea(t, {
    tls: { cert: join(tls, 'good.pem'), key: join(tls, 'good.key') },
  })
  t.match(area.url, /^https:/)

  const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
    get(`${area.url}/sign-in`, { rejectUnauthorized: false, agent: false }, answer => {
      answer.resume().on('end', () => resolve(answer.headers))
    }).on('error', reject)
  })

  t.match(headers['set-cookie']?.[0], /^__Host-account\.visitor=.*; Secure/)
  t.match(headers['strict-transport-security'], 'max-age')
})

await t.test("the store's secret is kept, so that a restart signs no user out", async t => {
  const area = await startAccountArea(t)
  const { browser, email } = await area.signUp()
  const { config } = loadConfig(area.test.configFile, { env: {} })
  await area.test.gateway.close(0)
  const log = createLog({ level: 'silent' })
  const again = await startGateway({ config, plugins, log })
  t.teardown(() => again.close(0))
  const other = new AccountBrowser(again.accountAreaUrl ?? '')
  for (const [name, value] of browser.cookies) other.cookies.set(name, value)

  t.match((await other.get('/')).text, email)
})
