import t from 'tap'
import { exactRoubles } from '../../lib/web/format.ts'
import { startAccountArea } from '../fixtures/account-area.ts'

const provider = 'sandbox'
const area = await startAccountArea(t, {
  providers: { sandbox: {}, openai: { credentials: ['${NOT_SET_ANYWHERE}'] } },
  models: {
    'chat-5': {
      provider,
      rubPerMillion: { input: '1234.5', cachedInput: '12.5', cacheWrite5m: '156.25', output: '1000' },
      rubPerUnit: { searches: '0.75' },
      above: [{ inputTokens: 200_000, mode: 'whole', rubPerMillion: { input: '2000' } }],
      factors: { batch: '0.5', flex: '1.25' },
      prices: [{ from: '2099-01-01', rubPerMillion: { input: '777', output: '1' } }],
    },
    'chat-5-20*': {
      provider,
      rubPerMillion: { input: '1234.5', cachedInput: '12.5', cacheWrite5m: '156.25', output: '1000' },
      rubPerUnit: { searches: '0.75' },
      above: [{ inputTokens: 200_000, mode: 'whole', rubPerMillion: { input: '2000' } }],
      factors: { batch: '0.5', flex: '1.25' },
      prices: [{ from: '2099-01-01', rubPerMillion: { input: '777', output: '1' } }],
    },
    'chat-5-mini*': { provider, rubPerMillion: { input: '5', output: '10' } },
    latest: { alias: 'chat-5' },
    mini: { alias: 'chat-5-mini-2026' },
    painter: { provider, rubPerUnit: { images: '12', 'images/1024x1024/hd': '8' } },
    moderation: { provider },
    later: { provider, prices: [{ from: '2099-01-01', rubPerMillion: { input: '1', output: '1' } }] },
    'off-model': { provider: 'openai', rubPerMillion: { input: '3', output: '3' } },
  },
})
const { browser } = await area.signUp()
const { browser: english } = await area.signUp()
await english.post('/appearance', { language: 'en', theme: 'system', next: '/' }, { from: '/models' })

/** The models that a page lists. */
function names(text: string): string[] {
  return [...text.matchAll(/class="model-name">([^<]+)</g)].map(match => match[1] ?? '')
}

await t.test('models with a price are listed with all of their prices', async t => {
  const { status, text } = await browser.get('/models')
  t.equal(status, 200)
  t.strictSame(names(text), ['chat-5', 'painter', 'chat-5-mini*'])
  const plain = text.replaceAll(/\s+/g, ' ')
  t.match(plain, exactRoubles('1234.5', 'ru').replaceAll(/\s/g, ' '))
  t.match(text, 'Также: chat-5-20*, latest')
  t.match(text, 'Также: mini')
  for (const words of [
    'Запись в кэш (5 мин): 156,25\u00a0₽',
    'Поиски: 0,75\u00a0₽',
    'Если вход длиннее 200\u202f000 токенов, весь запрос: вход 2\u202f000,00\u00a0₽',
    'Пакетом, ×0,5: вход 617,25\u00a0₽, вход из кэша 6,25\u00a0₽, выход 500,00\u00a0₽',
    'Уровень flex, ×1,25: вход 1\u202f543,125\u00a0₽',
    'С 2099-01-01: Вход: 777,00\u00a0₽',
    'Изображения, штук: 12,00\u00a0₽',
    'Изображения, штук 1024x1024 hd: 8,00\u00a0₽',
  ]) {
    t.match(text, words)
  }
  t.match((await english.get('/models')).text, 'Batched, ×0.5: input 617.25\u00a0₽')
})

await t.test('a search matches parts of names, aliases and providers, in any case', async t => {
  const found = async (q: string): Promise<string[]> =>
    names((await browser.get(`/models?q=${encodeURIComponent(q)}`)).text)
  t.strictSame(await found('MINI'), ['chat-5-mini*'])
  t.strictSame(await found(' latest '), ['chat-5'])
  t.strictSame(await found('sandbox paint'), ['painter'])
  t.strictSame(await found(''), ['chat-5', 'painter', 'chat-5-mini*'])
  t.strictSame(await found('off-model'), [])
})

await t.test('many models of several providers can be listed by provider', async t => {
  const price = { rubPerMillion: { input: '1', output: '2' } }
  const names12 = Array.from({ length: 12 }, (_, index) => `many-${index}`)
  const many = await startAccountArea(t, {
    providers: { sandbox: {}, mine: { like: 'sandbox', credentials: [] } },
    models: {
      ...Object.fromEntries(names12.map(name => [name, { provider, ...price }])),
      other: { provider: 'mine', ...price },
    },
  })
  const { browser: own } = await many.signUp()
  const all = (await own.get('/models')).text
  t.match(all, 'href="/models?provider=mine"')
  t.match(all, 'aria-current="true"')
  const mine = (await own.get('/models?provider=mine')).text
  t.strictSame(names(mine), ['other'])
  t.match(mine, '<input type="hidden" name="provider" value="mine" />', 'a search stays with the provider')
  t.match(
    (await own.get('/models?q=many-1&provider=mine')).text,
    'href="/models?q=many-1&amp;provider=sandbox"',
  )
  t.match((await own.get('/models?provider=%22%3E%3Cscript')).text, 'Ничего не нашлось')
  t.notMatch(
    (await browser.get('/models')).text,
    'class="contents choice"',
    'a short list has no choice of providers',
  )
})

await t.test('hostile searches are escaped, and refused at their field', async t => {
  const { text } = await browser.get(`/models?q=${encodeURIComponent('<script>"\'')}`)
  t.match(text, 'Ничего не нашлось')
  t.match(text, 'value="&lt;script&gt;&quot;&#39;"')
  t.notMatch(text, '<script>"')
  const long = await english.get(`/models?q=${'a'.repeat(101)}`)
  t.equal(long.status, 422)
  t.match(long.text, 'id="q-error">Too long')
  t.match((await area.browser().get('/models')).location, '/sign-in')
})
