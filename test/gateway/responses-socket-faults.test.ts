import t from 'tap'
import {
  answerAtOnce,
  chargesOf,
  startResponsesGateway,
  typesOf,
  usage,
  type AskedResponse,
} from '../fixtures/responses-socket.ts'
import { openSession, refusedSession } from '../fixtures/session-client.ts'
import { until } from '../fixtures/until.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const create = { type: 'response.create', model: 'gpt-5', store: false, input: 'Hello' }
const charged = { usage: { input: 100, output: 50 }, amount: '0.200000', usageSource: 'provider' }

/** Begins a response and sends 400 bytes of its text, and no end. */
function sendSome({ begin, write }: AskedResponse): void {
  begin()
  write('word '.repeat(80))
}

await t.test("the provider's refusal of a request is relayed unchanged, and costs nothing", async t => {
  const refusal =
    '{"type":"error","status":429,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Slow"},"headers":{"retry-after":"2"}}'
  let isRefusing = true
  const gateway = await startResponsesGateway(t, asked => {
    if (isRefusing) asked.session.socket.send(refusal)
    else answerAtOnce(asked)
  })
  const client = await gateway.connect(t)
  client.send(create)
  await client.next('error')
  t.same(client.received, [refusal])
  t.match(await chargesOf(gateway, 1), [{ amount: '0.000000', usage: {}, flags: ['provider_refused'] }])

  isRefusing = false
  client.send(create)
  await client.next('response.completed')
  t.match(await chargesOf(gateway, 2), [{}, { ...charged, flags: [] }])
  t.same(await gateway.breaches(), [])
})

await t.test('an error in the middle of a response ends it, with or without a last event', async t => {
  for (const isFollowed of [true, false]) {
    const gateway = await startResponsesGateway(t, asked => {
      if (gateway.upstream.sessions[0]?.received.length !== 1) return answerAtOnce(asked)
      sendSome(asked)
      asked.say({ type: 'error', error: { type: 'server_error', code: 'server_error', message: 'Oh.' } })
      if (isFollowed) {
        asked.say({ type: 'response.failed', response: { id: asked.id, status: 'failed', usage: null } })
      }
      return undefined
    })
    const client = await gateway.connect(t)
    client.send(create)
    await client.next('error')
    client.send(create)
    await client.next('response.completed')
    const charges = await chargesOf(gateway, 2)
    t.match(charges[0], { outcome: 'completed', usageSource: 'estimated' }, 'the received part is charged')
    t.match(charges[1], { ...charged, flags: [] })
    client.socket.close()
    t.same(await gateway.breaches(), [])
  }
})

await t.test('a failed or incomplete response is charged by the reported usage', async t => {
  const gateway = await startResponsesGateway(t, asked => {
    sendSome(asked)
    const status = String(asked.body['input'])
    asked.say({ type: `response.${status}`, response: { id: asked.id, status, usage } })
  })
  const client = await gateway.connect(t)
  for (const status of ['incomplete', 'failed']) {
    client.send({ ...create, input: status })
    await client.next(`response.${status}`)
  }
  t.match(await chargesOf(gateway, 2), [charged, charged])
})

await t.test(
  'a response that the provider cuts is charged by estimate, and the client receives an error',
  async t => {
    for (const end of ['terminate', 'close'] as const) {
      const gateway = await startResponsesGateway(t, asked => {
        sendSome(asked)
        asked.session.socket[end]()
      })
      const client = await gateway.connect(t)
      client.send({ ...create, stream_id: 'a' })
      await client.closed
      const [charge, ...others] = await chargesOf(gateway, 1)
      t.same(others, [])
      t.match(charge, { outcome: 'broken', usageSource: 'estimated' }, end)
      if (end === 'terminate') {
        t.match(JSON.parse(client.received.at(-1) ?? ''), { type: 'error', status: 502, stream_id: 'a' })
      }
      t.same(await gateway.breaches(), [])
    }
  },
)

await t.test(
  'a response that has too many bytes or takes too long is cut with an error to the client',
  async t => {
    const gateway = await startResponsesGateway(
      t,
      asked => {
        sendSome(asked)
        if (asked.body['input'] === 'long') for (let count = 0; count < 9; count += 1) sendSome(asked)
      },
      { config: { limits: { answerBytesMax: 2000, answerMs: 1000 } } },
    )
    const rows = [
      ['long', /has more than 2000 bytes/],
      ['slow', /went on for more than 1 s/],
    ] as const
    for (const [count, [input, beyond]] of rows.entries()) {
      const client = await gateway.connect(t)
      client.send({ ...create, input })

      t.match(await client.closed, { code: 1014, reason: /the most that the gateway passes on/ }, input)
      const passed = client.received.slice(0, -1)
      t.ok(
        passed.length >= 2 && passed.join('').length <= 2000,
        `${passed.join('').length} bytes have passed`,
      )
      t.match(JSON.parse(client.received.at(-1) ?? ''), {
        type: 'error',
        status: 502,
        error: { code: 'upstream_failed', message: beyond },
      })
      await until(() => gateway.upstream.sessions[count]?.socket.readyState === 3)
      const charge = (await chargesOf(gateway, count + 1))[count]
      t.match(charge, { outcome: 'broken', usageSource: 'estimated', flags: [] }, input)
      const { input: read = 0, output = 0 } = charge?.usage ?? {}
      const texts = passed.filter(text => text.includes('output_text.delta')).length
      t.ok(
        output >= 80 * texts && output <= 90 * (texts + 1),
        `${output} tokens for ${texts} pieces of 80 words`,
      )
      t.equal(charge?.amount, ((read + 2 * output) / 1000).toFixed(6))
    }
    t.same(await gateway.breaches(), [])
  },
)

await t.test(
  'after its client leaves a response is read on for its usage, or charged by estimate',
  async t => {
    for (const onClientLeft of ['drain', 'abort'] as const) {
      for (const leave of ['terminate', 'close'] as const) {
        let asked: AskedResponse | undefined
        const gateway = await startResponsesGateway(
          t,
          one => {
            asked = one
            sendSome(one)
          },
          { provider: { onClientLeft } },
        )
        const client = await gateway.connect(t)
        client.send(create)
        await client.next('response.output_text.delta')
        client.socket[leave]()
        await client.closed
        if (onClientLeft === 'drain') asked?.complete()
        else await until(() => asked?.session.socket.readyState === 3)
        const [charge, ...others] = await chargesOf(gateway, 1)
        t.same(others, [])
        t.match(
          charge,
          onClientLeft === 'drain'
            ? { usage: charged.usage, usageSource: 'drained' }
            : { outcome: 'aborted', usageSource: 'estimated' },
          `${onClientLeft}, ${leave}`,
        )
        t.same(await gateway.breaches(), [])
      }
    }
  },
)

await t.test(
  'a client that leaves after its response is charged for it, and no exchange stays open',
  async t => {
    const gateway = await startResponsesGateway(t, answerAtOnce)
    const client = await gateway.connect(t)
    client.send(create)
    await client.next('response.completed')
    client.socket.terminate()
    t.match(await chargesOf(gateway, 1), [{ ...charged, outcome: 'completed' }])
    await until(() => gateway.logLines.some(line => line.includes('responses-connection')))
    const line = gateway.logLines.find(one => one.includes('responses-connection')) ?? ''
    t.match(JSON.parse(line), { outcome: 'completed' })
  },
)

await t.test(
  'a response that uses up the balance is cut with an error, and its provider connection is closed',
  async t => {
    let asked: AskedResponse | undefined
    const gateway = await startResponsesGateway(t, one => (asked = one), {
      rub: 6,
      config: {
        models: {
          'gpt-5': {
            provider: 'openai',
            contextTokensMax: 400_000,
            rubPerMillion: { input: '1', output: '2000' },
          },
        },
        hold: { likelyOutputTokens: 100 },
      },
    })
    const client = await gateway.connect(t)
    client.send(create)
    await until(() => asked !== undefined)
    asked?.begin()
    for (let count = 0; count < 400 && client.socket.readyState === client.socket.OPEN; count += 1) {
      asked?.write('word '.repeat(200))
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    t.equal((await client.closed).code, 1008)
    t.match(JSON.parse(client.received.at(-1) ?? ''), {
      type: 'error',
      status: 402,
      error: { code: 'insufficient_quota' },
    })
    await until(() => asked?.session.socket.readyState === 3)
    const [charge] = await chargesOf(gateway, 1)
    t.match(charge, { outcome: 'broken', usageSource: 'estimated' })
    t.ok(charge?.flags.includes('balance_exhausted'))
    t.same(await gateway.breaches(), [])
  },
)

await t.test(
  'a request that the gates refuse costs nothing and receives an error in its lane; the connection stays open',
  async t => {
    const gateway = await startResponsesGateway(t, answerAtOnce, {
      keyModels: ['gpt-5', 'grok-*', 'llama', 'unpriced', 'nobody'],
    })
    const client = await gateway.connect(t)
    const lane = { stream_id: 'main' }
    const cases: readonly (readonly [object | string, number, string, object])[] = [
      ['{', 400, 'body_invalid', {}],
      ['{"type":"response.create","model":"gpt-5","model":"x"}', 400, 'field_ambiguous', {}],
      [
        { ...lane, type: 'response.steer', previous_response_id: 'x', input: 'x' },
        501,
        'not_supported',
        lane,
      ],
      [{ ...create, stream_id: 'a b' }, 400, 'body_invalid', {}],
      [{ ...create, ...lane, model: undefined }, 400, 'body_invalid', lane],
      [{ ...create, ...lane, model: 'gpt-5-nano' }, 403, 'permission_denied', lane],
      [{ ...create, ...lane, model: 'unpriced' }, 404, 'model_not_found', lane],
      [{ ...create, ...lane, model: 'nobody' }, 404, 'model_not_found', lane],
      [{ ...create, ...lane, model: 'llama' }, 400, 'request_invalid', lane],
      [{ ...create, ...lane, input: [{ content: [{ file_id: 'file-1' }] }] }, 404, 'object_not_found', lane],
      [{ ...create, ...lane, max_output_tokens: 'many' }, 400, 'body_invalid', lane],
    ]
    for (const [message, status, code, place] of cases) {
      const before = client.received.length
      client.send(message)
      await until(() => client.received.length > before)
      t.match(JSON.parse(client.received.at(-1) ?? ''), { type: 'error', status, error: { code }, ...place })
    }
    t.same(gateway.upstream.sessions, [], 'nothing has reached the provider')
    client.send(create)
    await client.next('response.completed')
    client.send({ ...create, model: 'grok-4' })
    const refused = await client.next('error', client.received.length - 1)
    t.match(refused, {
      status: 400,
      error: { code: 'request_invalid', message: /another provider than this connection goes to/ },
    })
    t.equal((await chargesOf(gateway, 1)).length, 1)
    t.same(await gateway.breaches(), [])
  },
)

await t.test('a request beyond the balance is refused with the max_tokens that fits', async t => {
  const gateway = await startResponsesGateway(t, answerAtOnce, { rub: 0.5 })
  const client = await gateway.connect(t)
  client.send({ ...create, max_output_tokens: 1000 })
  t.match(await client.next('error'), { status: 402, error: { max_tokens: Number } })
  client.send({ ...create, max_output_tokens: 16 })
  await client.next('response.completed')
  t.match(await chargesOf(gateway, 1), [{ amount: '0.200000' }])
})

await t.test('the revocation and the limits of a key are checked for each request', async t => {
  const gateway = await startResponsesGateway(t, answerAtOnce, {
    config: {
      plugins: [
        'auth',
        'model-router',
        { 'rate-limit': { requestsPerMinute: 2, concurrentRequests: 1 } },
        'size-limit',
        'upstream-proxy',
        'usage-tap',
      ],
    },
  })
  const client = await gateway.connect(t)
  for (const count of [1, 2]) {
    client.send(create)
    await until(() => typesOf(client).filter(type => type === 'response.completed').length === count)
  }
  client.send(create)
  t.match(await client.next('error'), { status: 429, headers: { 'retry-after': /^\d+$/ } })
  await gateway.accounts.revokeKey(gateway.keyId)
  const before = client.received.length
  client.send(create)
  t.match(await client.next('error', before), { status: 401, error: { message: /was revoked/ } })
  t.equal((await chargesOf(gateway, 2)).length, 2)
})

await t.test('media are measured by their content, as in a body', async t => {
  const gateway = await startResponsesGateway(t, answerAtOnce)
  const client = await gateway.connect(t)
  const text = Buffer.from('no image at all').toString('base64')
  client.send({
    ...create,
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${text}` }] }],
  })
  t.match(await client.next('error'), { status: 400, error: { param: /input\[0\]/ } })
  t.same(gateway.upstream.sessions, [])
})

await t.test(
  'pings get pongs before there is a provider connection, and from the provider afterwards',
  async t => {
    const gateway = await startResponsesGateway(t, answerAtOnce)
    const client = await gateway.connect(t)
    const pongs: string[] = []
    client.socket.on('pong', (data: Buffer) => pongs.push(data.toString()))
    client.socket.ping('one')
    await until(() => pongs.length === 1)
    client.send(create)
    await client.next('response.completed')
    client.socket.ping('two')
    await until(() => pongs.length === 2)
    t.same(pongs, ['one', 'two'])
  },
)

await t.test(
  'a credential that the provider refuses is replaced by another before anything is sent',
  async t => {
    const gateway = await startResponsesGateway(t, answerAtOnce, {
      provider: { credentials: ['refused-credential', 'provider-credential'] },
    })
    gateway.upstream.server.prependListener('upgrade', (request, socket) => {
      if (request.headers.authorization !== 'Bearer refused-credential') return
      request.headers.upgrade = 'none'
      const body = '{"error":{"code":"invalid_api_key","message":"No."}}'
      socket.end(`HTTP/1.1 401 Unauthorized\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    })
    for (let count = 1; count <= 4; count += 1) {
      const client = await gateway.connect(t)
      client.send(create)
      await client.next('response.completed')
      client.socket.close()
      await client.closed
    }
    t.equal((await chargesOf(gateway, 4)).length, 4)
  },
)

await t.test(
  'an unavailable provider is an error in the connection, on which the client may retry',
  async t => {
    const gateway = await startResponsesGateway(t, answerAtOnce)
    const statuses = ['404 Not Found', '429 Too Many\r\nretry-after: 7']
    gateway.upstream.server.prependListener('upgrade', (request, socket) => {
      const status = statuses.shift()
      if (status === undefined) return
      request.headers.upgrade = 'none'
      socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`)
    })
    const client = await gateway.connect(t)
    client.send(create)
    t.match(await client.next('error'), { status: 502, error: { message: /did not agree to a WebSocket/ } })
    client.send(create)
    t.match(await client.next('error', 1), { status: 429, headers: { 'retry-after': '7' } })
    await noHoldIsLeft(t, gateway)
    client.send(create)
    await client.next('response.completed')
    t.match(await chargesOf(gateway, 1), [{ ...charged, flags: [] }])
  },
)

await t.test('an unrequested response ends the connection, and is not relayed', async t => {
  const gateway = await startResponsesGateway(t, asked => {
    answerAtOnce(asked)
    asked.say({ type: 'response.created', response: { id: 'resp_more' } })
  })
  const client = await gateway.connect(t)
  client.send(create)
  t.equal((await client.closed).code, 1014)
  t.notOk(client.received.some(text => text.includes('resp_more')))
  t.equal((await chargesOf(gateway, 1)).length, 1)
})

await t.test(
  'where no provider supports responses over a WebSocket, the upgrade is refused with 426',
  async t => {
    const gateway = await startResponsesGateway(t, answerAtOnce, { provider: { responsesWebSocket: false } })
    const headers = { authorization: `Bearer ${gateway.key}` }
    for (const path of ['/openai/v1/responses', '/groq/v1/responses']) {
      const answer = await refusedSession(gateway.url + path, { headers })
      t.equal(answer.status, 426, path)
      t.match(answer.body, /upgrade_refused/)
    }
    t.equal((await refusedSession(gateway.socketUrl)).status, 401, 'a key is required first')
    const plain = await fetch(gateway.socketUrl, { headers })
    t.equal(plain.status, 426)
    t.match(await plain.text(), /upgrade_required/)
  },
)

await t.test('an idle connection is closed, and so is one that has reached its maximum age', async t => {
  const gateway = await startResponsesGateway(t, answerAtOnce, {
    config: { limits: { session: { idleMs: 300, sessionMs: 2_000 } } },
  })
  const idle = await gateway.connect(t)
  t.equal((await idle.closed).code, 1001)
  t.same(idle.received, [], 'no error is sent to an idle client')

  const busy = await gateway.connect(t)
  const asking = setInterval(() => busy.socket.readyState === busy.socket.OPEN && busy.send(create), 100)
  t.teardown(() => clearInterval(asking))
  t.equal((await busy.closed).code, 1001)
  await until(() => gateway.logLines.filter(line => line.includes('responses-connection')).length === 2)
  t.same(await gateway.breaches(), [])
})

await t.test('a drain lets the running response end', async t => {
  let asked: AskedResponse | undefined
  const gateway = await startResponsesGateway(t, one => {
    asked = one
    sendSome(one)
  })
  const client = await gateway.connect(t)
  const idle = await gateway.connect(t)
  client.send(create)
  await client.next('response.output_text.delta')
  const closing = gateway.gateway.close(20_000)
  t.equal((await idle.closed).code, 1013)
  client.send({ ...create, stream_id: 'more' })
  t.match(await client.next('error'), { status: 503, stream_id: 'more' })
  asked?.complete()
  await client.next('response.completed')
  t.equal((await client.closed).code, 1013)
  await closing
  t.same(await gateway.breaches(), [])
})

await t.test('a message that is too long ends the connection with 1009', async t => {
  const gateway = await startResponsesGateway(t, answerAtOnce, {
    config: { limits: { session: { messageBytesMax: 10_000 } } },
  })
  const before = await gateway.connect(t)
  before.send({ ...create, input: 'x'.repeat(20_000) })
  t.equal((await before.closed).code, 1009)
  const behind = await openSession(t, gateway.socketUrl, { key: gateway.key })
  behind.send(create)
  await behind.next('response.completed')
  behind.send({ ...create, input: 'x'.repeat(20_000) })
  t.equal((await behind.closed).code, 1009)
  t.match(await chargesOf(gateway, 1), [charged])
})
