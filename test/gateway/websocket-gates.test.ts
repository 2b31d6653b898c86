import t from 'tap'
import { openSession, refusedSession } from '../fixtures/session-client.ts'
import { answerResponses, livePath, startSessionGateway } from '../fixtures/session-gateway.ts'
import { until } from '../fixtures/until.ts'

await t.test('every form of key opens a session, and none of them reaches the provider', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const { key, realtimeUrl } = gateway
  const forms = [
    { headers: { authorization: `Bearer ${key}` } },
    { headers: { 'api-key': 'theirs', 'x-api-key': key } },
    { protocols: ['realtime', `openai-insecure-api-key.${key}`, 'openai-organization.org-1'] },
    { url: `${realtimeUrl}&key=${key}` },
  ]
  for (const { url = realtimeUrl, ...options } of forms) {
    const client = await openSession(t, url, options)
    await client.next('session.created')
    t.equal(client.socket.protocol, 'protocols' in options ? 'realtime' : '')
    client.socket.close()
    await client.closed
  }
  t.equal(gateway.upstream.sessions.length, forms.length)
  for (const { request } of gateway.upstream.sessions) {
    const seen = JSON.stringify([request.url, request.rawHeaders])
    t.notOk(
      seen.includes(key) || seen.includes('theirs') || seen.includes('org-1'),
      'no header of the client',
    )
    t.equal(request.headers.authorization, 'Bearer provider-credential')
    t.equal(request.url, '/v1/realtime?model=gpt-realtime')
    t.equal(request.headers['sec-websocket-extensions'], undefined, 'nothing is compressed')
  }
  t.notOk(
    gateway.logLines.some(line => line.includes(key)),
    'no key is logged',
  )
})

await t.test('a browser that offers only its key as protocol is accepted with that protocol', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const protocol = `openai-insecure-api-key.${gateway.key}`
  const client = await openSession(t, gateway.realtimeUrl, { protocols: [protocol] })
  t.equal(client.socket.protocol, protocol)
  t.equal(gateway.upstream.sessions[0]?.request.headers['sec-websocket-protocol'], undefined)
})

await t.test(
  'a session that the gates refuse is refused over HTTP, and the provider receives nothing',
  async t => {
    const gateway = await startSessionGateway(t, answerResponses, {
      keyModels: ['gpt-*', 'unpriced', 'nobody'],
    })
    const { url, key, realtimeUrl } = gateway
    const headers = { authorization: `Bearer ${key}` }
    const cases: readonly (readonly [string, object, number, string])[] = [
      [realtimeUrl, {}, 401, 'invalid_api_key'],
      [realtimeUrl, { headers: { authorization: 'Bearer gw-unknown' } }, 401, 'invalid_api_key'],
      [`${url}/v1/realtime?model=nobody`, { headers }, 404, 'model_not_found'],
      [`${url}/v1/realtime?model=unpriced`, { headers }, 404, 'model_not_found'],
      [`${url}/v1/realtime?model=gemini-live`, { headers }, 403, 'permission_denied'],
      [`${url}/v1/realtime`, { headers }, 400, 'body_invalid'],
      [`${url}/v1/realtime?model=gpt-realtime&model=x`, { headers }, 400, 'field_ambiguous'],
      [`${url}/v1/realtime?model=gpt-realtime&mod%65l=x`, { headers }, 400, 'field_ambiguous'],
      [`${url}/v1/realtime?model=gpt-%2e%2e%2frealtime`, { headers }, 400, 'request_invalid'],
      [`${url}/v1/realtime?model=gpt-%00`, { headers }, 400, 'request_invalid'],
      [`${url}/v1/realtime?call_id=rtc_1`, { headers }, 404, 'object_not_found'],
      [`${url}/v1/realtime?call_id=rtc_1&model=gpt-realtime`, { headers }, 400, 'request_invalid'],
      [`${url}/v1/realtime?intent=translation`, { headers }, 501, 'not_supported'],
      [`${url}/v1/realtime?intent=transcription&model=gpt-realtime`, { headers }, 400, 'request_invalid'],
      [`${url}/v1/realtime?intent=transcription&%69ntent=x`, { headers }, 400, 'request_invalid'],
      [`${url}/groq/v1/realtime?model=x`, { headers }, 404, 'route_not_found'],
    ]
    for (const [address, options, status, code] of cases) {
      const answer = await refusedSession(address, options)
      t.equal(answer.status, status, address)
      t.equal((JSON.parse(answer.body) as { error: { code: string } }).error.code, code)
      t.ok(answer.headers['x-gateway-request-id'])
    }
    t.equal((await refusedSession(`${url}/ws/else`, { headers })).status, 404)
    t.same(gateway.upstream.sessions, [])
    t.same(await gateway.charges(), [])
  },
)

await t.test('a plain request for a WebSocket is refused with 426', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const answer = await fetch(gateway.realtimeUrl, { headers: { authorization: `Bearer ${gateway.key}` } })
  t.equal(answer.status, 426)
  t.equal(answer.headers.get('upgrade'), 'websocket')
})

await t.test(
  'a request for a key that bypasses the gateway is refused unless the operator allows it',
  async t => {
    const post = async (url: string, key: string): Promise<Response> =>
      fetch(url, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: '{}' })
    const paths = [
      '/v1/realtime/client_secrets',
      '/v1/realtime/sessions',
      '/v1/realtime/transcription_sessions',
      '/v1/realtime/calls',
      '/v1/realtime/calls/rtc_1/accept',
      '/v1beta/auth_tokens',
      '/v1alpha/auth_tokens',
    ]
    const gateway = await startSessionGateway(t, answerResponses)
    for (const path of paths) {
      const answer = await post(gateway.url + path, gateway.key)
      t.equal(answer.status, 501, path)
      t.match(await answer.text(), /bypasses the gateway/)
    }

    const allowing = await startSessionGateway(t, answerResponses, {
      config: {
        plugins: ['auth', { 'model-router': { mintedKeys: 'allow' } }, 'upstream-proxy', 'usage-tap'],
      },
    })
    const seen: string[] = []
    allowing.upstream.server.on('request', (request, response) => {
      seen.push(
        `${request.url} ${String(request.headers.authorization ?? request.headers['x-goog-api-key'])}`,
      )
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"value":"ek_1"}')
    })
    t.equal((await post(`${allowing.url}/v1/realtime/client_secrets`, allowing.key)).status, 200)
    t.equal((await post(`${allowing.url}/v1alpha/auth_tokens`, allowing.key)).status, 200)
    t.same(seen, [
      '/v1/realtime/client_secrets Bearer provider-credential',
      '/v1alpha/auth_tokens google-credential',
    ])
    t.equal(
      allowing.logLines.filter(line => line.includes('unmetered_session')).length,
      2,
      'and it is flagged',
    )
  },
)

await t.test('an alias is replaced in the query and in the messages', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const client = await openSession(t, `${gateway.url}/v1/realtime?model=voice&x=1`, { key: gateway.key })
  t.equal(gateway.upstream.sessions[0]?.request.url, '/v1/realtime?model=gpt-realtime&x=1')
  client.send('{"type":"session.update","session":{ "model" : "voice","x":"é"}}')
  await until(() => gateway.upstream.sessions[0]?.received.length === 1)
  t.equal(
    gateway.upstream.sessions[0]?.received[0],
    '{"type":"session.update","session":{ "model" : "gpt-realtime","x":"é"}}',
  )
  client.send({ type: 'session.update', session: { model: 'gpt-other' } })
  const { error } = await client.next('error')
  t.match(error, { code: 'permission_denied', param: 'session.model' })
  client.send({ type: 'response.create' })
  await client.next('response.done')
  t.equal(gateway.upstream.sessions[0]?.received.length, 2, 'another model was not forwarded')
})

await t.test('Live: the model is in the first message, and nothing is sent before it is allowed', async t => {
  const gateway = await startSessionGateway(
    t,
    ({ socket }) => socket.once('message', () => socket.send('{"setupComplete":{}}')),
    { keyModels: ['gemini-live', 'live-voice'] },
  )
  const url = `${gateway.liveUrl}?key=${gateway.key}`
  const setups: readonly (readonly [string, number])[] = [
    ['{"setup":{"model":"models/gpt-realtime"}}', 1008],
    ['{"setup":{"model":"models/nobody"}}', 1008],
    ['{"setup":{"model":"gemini-live"}}', 1007],
    ['{"setup":{"model":"models/gemini-live","model":"models/x"}}', 1007],
    ['{"setup":{"model":"models/gemini-live","sessionResumption":{"handle":"of another"}}}', 1008],
    ['{"clientContent":{}}', 1007],
    ['no json', 1007],
  ]
  for (const [setup, code] of setups) {
    const client = await openSession(t, url)
    client.send(setup)
    t.equal((await client.closed).code, code, setup)
  }
  t.same(gateway.upstream.sessions, [], 'no connection to the provider')

  const client = await openSession(t, url)
  client.send('{"setup":{"model":"models/live-voice","a":"ä"}}')
  await client.next('setupComplete')
  const [session] = gateway.upstream.sessions
  t.equal(session?.request.url, livePath)
  t.equal(session?.request.headers['x-goog-api-key'], 'google-credential')
  t.same(session?.received, ['{"setup":{"model":"models/gemini-live","a":"ä"}}'])

  client.socket.close()
  await client.closed
  const before = gateway.logLines.length
  const leaving = await openSession(t, url)
  leaving.socket.terminate()
  await until(() => gateway.logLines.length > before)
  t.match(JSON.parse(gateway.logLines.at(-1) ?? ''), {
    msg: 'exchange',
    operation: 'live',
    outcome: 'aborted',
  })
  const waiting = await openSession(t, url)
  const closing = gateway.gateway.close(60_000)
  t.equal((await waiting.closed).code, 1006, 'a drain does not wait for a session without a message')
  await closing
  t.same(waiting.received, [])
  t.equal(gateway.upstream.sessions.length, 1, 'the provider received neither')
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})

await t.test("a provider's refusal is relayed unchanged, but a refusal of the credential is not", async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  let status = 400
  gateway.upstream.server.prependListener('upgrade', (_request, socket) => {
    socket.end(
      `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\nset-cookie: a=b\r\nconnection: close\r\n\r\n{"error":{"code":"invalid_api_key","message":"from the provider"}}`,
    )
  })
  const headers = { authorization: `Bearer ${gateway.key}` }
  const refused = await refusedSession(gateway.realtimeUrl, { headers })
  t.equal(refused.status, 400)
  t.match(refused.body, 'from the provider')
  t.equal(refused.headers['set-cookie'], undefined)
  status = 401
  const exhausted = await refusedSession(gateway.realtimeUrl, { headers })
  t.equal(exhausted.status, 502)
  t.match(exhausted.body, 'credentials_exhausted')
})

await t.test('Live: only the account that began a session can resume it', async t => {
  const gateway = await startSessionGateway(t, ({ socket }) =>
    socket.once('message', () => {
      socket.send('{"setupComplete":{}}')
      socket.send('{"sessionResumptionUpdate":{"newHandle":"handle-1","resumable":true}}')
    }),
  )
  const first = await openSession(t, gateway.liveUrl, { key: gateway.key })
  first.send('{"setup":{"model":"models/gemini-live","sessionResumption":{}}}')
  await first.next('sessionResumptionUpdate')
  const resume = '{"setup":{"model":"models/gemini-live","session_resumption":{"handle":"handle-1"}}}'
  const again = await openSession(t, gateway.liveUrl, { key: gateway.key })
  again.send(resume)
  await again.next('setupComplete')
  t.equal(gateway.upstream.sessions.length, 2)

  const { id: accountId } = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId, amountMicros: 1_000_000_000, reason: 'test' })
  const { key } = await gateway.accounts.createKey({ accountId })
  const other = await openSession(t, gateway.liveUrl, { key })
  other.send(resume)
  t.match(await other.closed, { code: 1008, reason: /handle-1/ })
  t.equal(gateway.upstream.sessions.length, 2, 'nothing was forwarded')
})

await t.test('the limits of a key apply to sessions too', async t => {
  const gateway = await startSessionGateway(t, answerResponses, {
    config: {
      plugins: [
        'auth',
        'model-router',
        { 'rate-limit': { concurrentRequests: 1 } },
        'upstream-proxy',
        'usage-tap',
      ],
    },
  })
  const headers = { authorization: `Bearer ${gateway.key}` }
  const first = await openSession(t, gateway.realtimeUrl, { headers })
  t.equal((await refusedSession(gateway.realtimeUrl, { headers })).status, 429)
  first.socket.close()
  await first.closed
  await until(() => gateway.logLines.some(line => line.includes('"outcome":"completed"')))
  await openSession(t, gateway.realtimeUrl, { headers })
})
