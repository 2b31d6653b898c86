import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { callConfig } from '../fixtures/dialect-call.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { googleClient } from '../fixtures/sdk-clients.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const made = Date.parse('2026-08-19T14:00:00Z')
const tokens = 9609
const cacheJson = (minutes: number, isBare: boolean): string =>
  JSON.stringify({
    name: 'cachedContents/abc',
    model: 'models/gemini-2.5-flash',
    createTime: new Date(made).toISOString(),
    updateTime: new Date(made + 1000).toISOString(),
    expireTime: new Date(made + minutes * 60_000).toISOString(),
    ...(!isBare && { usageMetadata: { totalTokenCount: tokens } }),
  })
const answered = JSON.stringify({
  candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: 9619,
    cachedContentTokenCount: tokens,
    candidatesTokenCount: 2,
    totalTokenCount: 9621,
  },
})

async function start(t: Test) {
  const state = { minutes: 60, isBare: false }
  const upstream = await startRawUpstream(t, ({ method, path }) => {
    const isUse = path.includes(':generateContent')
    const body = isUse ? answered : method === 'DELETE' ? '{}' : cacheJson(state.minutes, state.isBare)
    return plainAnswer(200, ['content-type', 'application/json'], body)
  })
  const models = {
    'gemini-2.5-flash': {
      provider: 'google',
      rubPerMillion: { input: '100', cachedInput: '10', output: '400', cacheStorage: '50' },
    },
    short: { alias: 'gemini-2.5-flash' },
  }
  // Two credentials: only the one that created cached content knows it.
  const config = callConfig(upstream.origin, { credentials: ['sk-one', 'sk-two'] }, { models })
  const gateway = await startTestGateway(t, { config })
  return { state, upstream, gateway, google: googleClient(gateway) }
}

await t.test('cached content is charged when it is created, for its whole term', async t => {
  const { state, upstream, gateway, google } = await start(t)
  const cache = await google.caches.create({
    model: 'gemini-2.5-flash',
    config: { contents: [{ role: 'user', parts: [{ text: 'Long words. '.repeat(100) }] }], ttl: '3600s' },
  })
  t.equal(cache.name, 'cachedContents/abc')
  const [first] = await gateway.charges()
  t.match(first, { model: 'gemini-2.5-flash', operation: 'cached-content', usageSource: 'provider' })
  t.same(first?.usage, { input: tokens, cacheStorage: tokens })
  t.equal(first?.amount, '1.441350', '9609 tokens at 100, and at 50 for an hour')

  state.minutes = 90
  await google.caches.update({ name: 'cachedContents/abc', config: { ttl: '5400s' } })
  state.minutes = 30
  await google.caches.update({ name: 'cachedContents/abc', config: { ttl: '1800s' } })
  state.minutes = 120
  await google.caches.update({ name: 'cachedContents/abc', config: { ttl: '7200s' } })
  const later = (await gateway.charges()).slice(1)
  t.same(
    later.map(({ usage, amount }) => [usage['cacheStorage'] ?? 0, amount]),
    [
      [tokens / 2, '0.240225'],
      [0, '0.000000'],
      [tokens / 2, '0.240225'],
    ],
    'only the time that was not charged before',
  )
  t.match(await google.caches.get({ name: 'cachedContents/abc' }), { name: 'cachedContents/abc' })

  const answer = await google.models.generateContent({
    model: 'gemini-2.5-flash',
    contents: 'Go on.',
    config: { cachedContent: 'cachedContents/abc' },
  })
  t.equal(answer.text, 'Hi')
  const used = (await gateway.charges()).at(-1)
  t.same(used?.usage, { input: 10, cachedInput: tokens, output: 2 })
  await google.caches.delete({ name: 'cachedContents/abc' })
  t.equal((await gateway.charges()).length, 5, 'reading and deleting are free')
  const credentials = upstream.requests.map(({ headers }) => headers[headers.indexOf('x-goog-api-key') + 1])
  t.equal(new Set(credentials).size, 1, 'every request used the credential of the content')
  t.same(await gateway.breaches(), [])
})

await t.test('a term with an expireTime is held for by the time until then', async t => {
  const { state, upstream, google, gateway } = await start(t)
  const hours = 10_000
  const expireTime = new Date(Date.now() + hours * 3_600_000).toISOString()
  const contents = [{ role: 'user', parts: [{ text: 'Long words. '.repeat(1000) }] }]
  // At least 4000 tokens for 10,000 hours, at 50 roubles a million for an hour: two thousand roubles.
  await t.rejects(
    google.caches.create({ model: 'gemini-2.5-flash', config: { contents, expireTime } }),
    /balance_insufficient/,
  )
  t.equal(upstream.requests.length, 0)

  await google.caches.create({ model: 'gemini-2.5-flash', config: { contents, ttl: '3600s' } })
  await t.rejects(
    google.caches.update({ name: 'cachedContents/abc', config: { expireTime } }),
    /balance_insufficient/,
  )
  state.minutes = 90
  const soon = new Date(Date.now() + 5_400_000).toISOString()
  await google.caches.update({ name: 'cachedContents/abc', config: { expireTime: soon } })
  t.equal((await gateway.charges()).length, 2)
  t.same(await gateway.breaches(), [])
})

await t.test('cached media are held for by the hour, like text', async t => {
  const { upstream, google } = await start(t)
  const video = { fileData: { mimeType: 'video/mp4', fileUri: 'https://www.youtube.com/watch?v=abc' } }
  const create = (ttl: string) =>
    google.caches.create({
      model: 'gemini-2.5-flash',
      config: { contents: [{ role: 'user', parts: [video] }], ttl },
    })
  // 2700 tokens of video: an hour costs a few kopecks, ten thousand hours cost more than the balance.
  await t.rejects(create('36000000s'), /balance_insufficient/)
  await t.rejects(create('315576000000s'), /balance_insufficient/)
  t.equal(upstream.requests.length, 0)
  await create('3600s')
  t.equal(upstream.requests.length, 1)
})

await t.test('an invalid term is refused, since its cost is unknown', async t => {
  const { upstream, google } = await start(t)
  for (const term of [{ ttl: '1h' }, { ttl: '+3600s' }, { expireTime: 'in a year' }]) {
    const config = { contents: 'Words.', ...term }
    await t.rejects(
      google.caches.create({ model: 'gemini-2.5-flash', config }),
      /must be a (?:number of seconds|moment)/,
    )
  }
  t.equal(upstream.requests.length, 0)
})

await t.test('an extension is charged although its response has no token count', async t => {
  const { state, gateway, google } = await start(t)
  await google.caches.create({ model: 'gemini-2.5-flash', config: { contents: 'Words.', ttl: '3600s' } })
  Object.assign(state, { minutes: 90, isBare: true })
  await google.caches.update({ name: 'cachedContents/abc', config: { ttl: '5400s' } })
  t.match((await gateway.charges()).at(-1), { usage: { cacheStorage: tokens / 2 }, amount: '0.240225' })
})

await t.test('cached content is charged although its client disconnects', async t => {
  const { gateway, upstream } = await start(t)
  const body = JSON.stringify({
    model: 'models/gemini-2.5-flash',
    contents: [{ parts: [{ text: 'Words.' }] }],
  })
  const { socket } = await connectRaw(t, gateway.url)
  const { answer } = upstream
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  upstream.answer = async request => {
    await left
    return answer(request)
  }
  socket.write(
    `POST /v1beta/cachedContents HTTP/1.1\r\nhost: g\r\nx-goog-api-key: ${gateway.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await until(() => upstream.requests.length === 1)
  socket.destroy()
  // Time to see the disconnect; the charge is the same if it is seen later.
  await delay(100)
  leave()
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ usage: { input: tokens, cacheStorage: tokens }, amount: '1.441350' }])
  await noHoldIsLeft(t, gateway)
})

await t.test(
  'an alias as the model of cached content is replaced, and the prefix models/ is kept',
  async t => {
    const { upstream, google } = await start(t)
    await google.caches.create({ model: 'short', config: { contents: 'Words.' } })
    t.match(upstream.requests[0]?.body.toString(), /"model":"models\/gemini-2\.5-flash"/)
  },
)

await t.test('another account can neither use, change, read nor delete cached content', async t => {
  const { upstream, gateway, google } = await start(t)
  await google.caches.create({ model: 'gemini-2.5-flash', config: { contents: 'Words.' } })
  const { id } = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId: id, amountMicros: 1_000_000, reason: 'test' })
  const { key } = await gateway.accounts.createKey({ accountId: id })
  const other = googleClient({ url: gateway.url, key })
  const sent = upstream.requests.length
  const name = 'cachedContents/abc'
  const asks: readonly (() => Promise<unknown>)[] = [
    () => other.caches.get({ name }),
    () => other.caches.update({ name, config: { ttl: '60s' } }),
    () => other.caches.delete({ name }),
    () =>
      other.models.generateContent({
        model: 'gemini-2.5-flash',
        contents: 'x',
        config: { cachedContent: name },
      }),
  ]
  for (const ask of asks) {
    const error = await ask().catch((reason: unknown) => reason)
    t.match(error, { status: 404 })
  }
  t.equal(upstream.requests.length, sent)
})
