import t from 'tap'
import { checkCharge, reply, reportedCharge, startEmulatedGateway } from '../fixtures/emulated-providers.ts'

const gateway = await startEmulatedGateway(t)
const { key, mock, url } = gateway

const requests = [
  {
    dialect: 'openai',
    path: '/v1/chat/completions',
    body: { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] },
    streaming: { stream: true },
    credential: 'authorization',
  },
  {
    dialect: 'anthropic',
    path: '/v1/messages',
    body: { model: 'claude-haiku-4-5', max_tokens: 99, messages: [{ role: 'user', content: 'Hello' }] },
    streaming: { stream: true },
    credential: 'x-api-key',
  },
  {
    dialect: 'google',
    path: '/v1beta/models/gemini-2.5-flash:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    credential: 'x-goog-api-key',
  },
  {
    dialect: 'google',
    path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    credential: 'x-goog-api-key',
  },
] as const

const forms = [
  { form: 'Authorization: Bearer', headers: { authorization: `Bearer ${key}` } },
  { form: 'x-api-key', headers: { 'x-api-key': key } },
  { form: 'x-goog-api-key', headers: { 'x-goog-api-key': key } },
  { form: '?key=', headers: {}, query: `key=${key}` },
  { form: 'a foreign bearer beside our key', headers: { authorization: 'Bearer sk-x', 'x-api-key': key } },
] as const

const credentialHeaders = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key']

for (const { dialect, path, body, credential, ...request } of requests) {
  for (const { form, headers, ...given } of forms) {
    await t.test(`${dialect}: the key as ${form} on ${path} is accepted and not forwarded`, async t => {
      const bodies = 'streaming' in request ? [body, { ...body, ...request.streaming }] : [body]
      for (const sent of bodies) {
        const before = (await gateway.balance()).balanceMicros
        const query = 'query' in given ? `${path.includes('?') ? '&' : '?'}${given.query}` : ''
        const response = await fetch(url + path + query, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(sent),
        })
        const text = await response.text()
        t.equal(response.status, 200, text)
        t.equal(textOf(text), reply)

        const seen = mock.getLastRequest()
        t.same(
          credentialHeaders.filter(name => seen?.headers[name] !== undefined),
          [credential],
          'the provider receives its own credential, in its own form',
        )
        t.equal(seen?.path, path, 'the rest of the query stays')
        const id = response.headers.get('x-gateway-request-id')
        await checkCharge(t, gateway, id, { ...reportedCharge, dialect, key: gateway.keyId }, before)
      }
    })
  }
}

/** The text of a response in any of the dialects, streamed or not. */
function textOf(body: string): string {
  const documents = body.startsWith('{')
    ? [body]
    : [...body.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => data)
  return documents
    .map(document => [.../"(?:text|content)":"((?:[^"\\]|\\.)*)"/g[Symbol.matchAll](document ?? '')])
    .flatMap(found => found.map(([, text]) => text))
    .join('')
}
