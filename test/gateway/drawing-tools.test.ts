import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const drawn = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 50, image_tokens: 0 },
  output_tokens: 4160,
  total_tokens: 4210,
}
const finished = {
  id: 'resp_1',
  object: 'response',
  model: 'cheap',
  status: 'completed',
  output: [{ id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'AAAA' }],
  usage: { input_tokens: 100, output_tokens: 100, total_tokens: 200 },
  tool_usage: { image_gen: drawn, web_search: { num_requests: 0 } },
}

async function start(t: Test, rub: number, stream?: Buffer) {
  const json = ['content-type', 'application/json']
  const upstream = await startRawUpstream(t, ({ method, body }) => {
    if (stream !== undefined)
      return plainAnswer(200, ['content-type', 'text/event-stream'], stream.toString())
    const isBegun = method === 'POST' && body.includes('"background":true')
    const answer = isBegun ? { id: 'resp_1', object: 'response', status: 'queued', output: [] } : finished
    return plainAnswer(200, json, JSON.stringify(answer))
  })
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: {
        somebody: {
          like: 'openai',
          credentials: ['c'],
          dialects: { openai: { baseUrl: `${upstream.origin}/v1` } },
        },
      },
      models: {
        cheap: { provider: 'somebody', outputTokensMax: 100, rubPerMillion: { input: '1', output: '1' } },
        painter: {
          provider: 'somebody',
          outputTokensMax: 8192,
          rubPerMillion: { input: '1', imageOutput: '4000', output: '4' },
        },
        'gpt-image-1': {
          provider: 'somebody',
          rubPerMillion: { input: '500', imageOutput: '4000', output: '4000' },
        },
        'gpt-image-1-mini': {
          provider: 'somebody',
          rubPerMillion: { input: '200', imageOutput: '800', output: '800' },
        },
      },
    },
  })
  const headers = ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json']
  const ask = (body: object) =>
    send(`${gateway.url}/v1/responses`, {
      headers,
      body: JSON.stringify({ model: 'cheap', input: 'Draw.', ...body }),
    })
  const look = () => send(`${gateway.url}/v1/responses/resp_1`, { method: 'GET', headers })
  const draw = (body: object) =>
    send(`${gateway.url}/v1/images/generations`, {
      headers,
      body: JSON.stringify({ model: 'gpt-image-1', prompt: 'A calm sea', ...body }),
    })
  const chat = (body: object) =>
    send(`${gateway.url}/v1/chat/completions`, {
      headers,
      body: JSON.stringify({ model: 'painter', messages: [{ role: 'user', content: 'Draw.' }], ...body }),
    })
  return { upstream, gateway, ask, chat, draw, look }
}

/** At most one image: without the limit the provider chooses how many to draw. */
const drawing = { tools: [{ type: 'function', name: 'f' }, { type: 'image_generation' }], max_tool_calls: 1 }
// 100 tokens in and out at 1, 50 at 500, 4160 at 4000 roubles a million.
const amount = '16.665200'

await t.test('an image drawn by a tool is held for and charged at the price of the image model', async t => {
  const { upstream, gateway, ask } = await start(t, 30)
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(drawing)))
  t.same(
    answers.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 402, 402, 402, 402],
  )
  t.equal(upstream.requests.length, 1)
  const { requestId = '' } = answers.find(({ status }) => status === 200) ?? {}
  t.match(await gateway.chargeOf(requestId), { amount, flags: [], usage: { imageOutput: 4160 } })
  t.same(await gateway.breaches(), [])
})

await t.test('an image model named by the tool has its own price, and two of them are refused', async t => {
  const { ask, upstream } = await start(t, 10)
  const withMini = { tools: [{ model: 'gpt-image-1-mini', type: 'image_generation' }], max_tool_calls: 1 }
  t.equal((await ask(drawing)).status, 402)
  t.equal((await ask(withMini)).status, 200)
  const { status, body } = await ask({ ...drawing, tools: [...withMini.tools, ...drawing.tools] })
  t.equal(status, 400, 'both')
  t.match(body.toString(), /draw with gpt-image-1-mini and with gpt-image-1, and no response tells/)
  t.equal(upstream.requests.length, 1)
})

await t.test('a background response with a drawing tool costs the same', async t => {
  const { gateway, ask, look } = await start(t, 30)
  const { status, requestId } = await ask({ ...drawing, background: true })
  t.equal(status, 200)
  t.equal((await look()).status, 200)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ requestId, amount, flags: [] }])
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})

await t.test('an image in a stream that ends before its usage is charged by estimate', async t => {
  const events = [
    {
      type: 'response.created',
      response: {
        ...finished,
        output: [],
        usage: null,
        tool_usage: null,
        tools: [{ type: 'image_generation', quality: 'low' }],
      },
    },
    { type: 'response.image_generation_call.partial_image', partial_image_b64: 'AAAA' },
    { type: 'response.image_generation_call.completed' },
    { type: 'response.image_generation_call.partial_image', partial_image_b64: 'AAAA' },
  ].map(event => `data: ${JSON.stringify(event)}\n\n`)
  const { gateway, ask } = await start(t, 60, Buffer.from(events.join('')))
  const { status, requestId } = await ask({ ...drawing, stream: true })
  t.equal(status, 200)
  const charge = await gateway.chargeOf(requestId)
  t.match(charge, { usageSource: 'estimated', usage: { imageOutput: 816 } })
  t.ok(Number(charge?.amount) > 3.26 && Number(charge?.amount) < 3.3, String(charge?.amount))
})

await t.test('a partial image without usage is charged by estimate', async t => {
  const part = { type: 'image_generation.partial_image', partial_image_index: 2, b64_json: 'AAAA' }
  const { gateway, draw } = await start(t, 100, Buffer.from(`data: ${JSON.stringify(part)}\n\n`))
  const { status, requestId } = await draw({ stream: true, partial_images: 3, quality: 'low' })
  t.equal(status, 200)
  const charge = await gateway.chargeOf(requestId)
  t.match(charge, { usageSource: 'estimated', usage: { imageOutput: 408 } })
  t.ok(Number(charge?.amount) > 1.63 && Number(charge?.amount) < 1.7, String(charge?.amount))
  t.notMatch(charge?.flags, ['meter_unpriced'])
})

await t.test('images in a chat stream without usage are charged by estimate', async t => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const chunks = [
    { delta: { role: 'assistant', content: 'Here they are.' } },
    { delta: { images: [image] } },
    { delta: { images: [image] } },
  ].map(choice => ({ object: 'chat.completion.chunk', model: 'painter', choices: [{ index: 0, ...choice }] }))
  const events = chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
  const { gateway, chat } = await start(t, 100, Buffer.from(events.join('')))
  const { status, body, requestId } = await chat({ stream: true, modalities: ['image', 'text'] })
  t.equal(status, 200)
  t.equal(body.toString(), events.join(''), "the bytes are the provider's")
  const charge = await gateway.chargeOf(requestId)
  t.match(charge, { usageSource: 'estimated', usage: { imageOutput: 2580 } })
  // 2,580 tokens at 4,000 roubles a million, and the text.
  t.ok(Number(charge?.amount) > 10.32 && Number(charge?.amount) < 10.4, String(charge?.amount))
  await noHoldIsLeft(t, gateway)
})
