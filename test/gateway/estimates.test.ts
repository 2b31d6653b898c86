import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { loopWork } from '../fixtures/loop-work.ts'
import { chunked, headLines, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

/** 15 tokens of o200k for each sentence. */
const sentence = 'Сегодня хорошая погода, и мы идём гулять в парк. '
const tokensOf = (sentences: number): number => sentences * 15
/** Anthropic counts more tokens than OpenAI in the same text. */
const anthropicFactor = 1.1

function events(texts: readonly string[]): Buffer {
  const lines = texts.map(
    content =>
      `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ delta: { content } }] })}\n\n`,
  )
  return Buffer.from(lines.join(''))
}

const streamHead = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

/** A gateway before a provider that streams these texts and reports no usage. */
async function gatewayBefore(t: Test, answer: (prompt: string) => readonly string[]): Promise<TestGateway> {
  const upstream = await startRawUpstream(t, ({ body }) => {
    const { messages } = JSON.parse(body.toString()) as { messages: [{ content: string }] }
    const bytes = Buffer.concat([events(answer(messages[0].content)), Buffer.from('data: [DONE]\n\n')])
    return { pieces: [streamHead, ...chunked([bytes])] }
  })
  return startTestGateway(t, { config: callConfig(upstream.origin), rub: 1_000_000 })
}

async function ask(gateway: TestGateway, content: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'test-model',
      stream: true,
      max_tokens: 100_000,
      messages: [{ role: 'user', content }],
    }),
  })
}

await t.test('a stream without usage is charged by the prompt and the delivered text', async t => {
  const gateway = await gatewayBefore(t, () => Array.from({ length: 50 }, () => sentence))
  const response = await ask(gateway, sentence.repeat(20))
  await response.text()
  const charge = await gateway.chargeOf(response.headers.get('x-gateway-request-id') ?? '')
  const { input = 0, output = 0 } = charge?.usage ?? {}
  t.match(charge, { usageSource: 'estimated', flags: ['usage_missing'], outcome: 'completed' })
  t.ok(Math.abs(input / tokensOf(20) - 1) < 0.05, `${input} tokens of input for ${tokensOf(20)}`)
  t.ok(Math.abs(output / tokensOf(50) - 1) < 0.05, `${output} tokens of output for ${tokensOf(50)}`)
  t.same(charge?.details, { estimatedByTiktoken: input + output })
  await checkMoney(t, gateway)
})

await t.test('a stream that its client leaves is charged by the text delivered until then', async t => {
  const upstream = await startRawUpstream(t, async () => {
    const [socket] = upstream.openSockets
    socket?.write(streamHead)
    for (const piece of chunked([events(Array.from({ length: 30 }, () => sentence))]).slice(0, -1))
      socket?.write(piece)
    await new Promise(resolve => socket?.once('close', resolve))
    return { pieces: [] }
  })
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, { onClientLeft: 'abort' }),
  })
  const response = await ask(gateway, sentence.repeat(10))
  const reader = response.body?.getReader()
  let received = 0
  while (received < events(Array.from({ length: 30 }, () => sentence)).length)
    received += (await reader?.read())?.value?.length ?? 0
  await reader?.cancel()
  const charge = await gateway.chargeOf(response.headers.get('x-gateway-request-id') ?? '')
  t.match(charge, { usageSource: 'estimated', flags: [], outcome: 'aborted' })
  t.ok(
    Math.abs((charge?.usage.output ?? 0) / tokensOf(30) - 1) < 0.05,
    `${charge?.usage.output} tokens of output`,
  )
  t.ok(
    Math.abs((charge?.usage.input ?? 0) / tokensOf(10) - 1) < 0.1,
    `${charge?.usage.input} tokens of input`,
  )
  await checkMoney(t, gateway)
})

await t.test(
  'a stream that ends before its final usage is charged by the reported usage and the text after it',
  async t => {
    const call = dialectCalls.find(({ name }) => name === 'anthropic') as DialectCall
    const textEvent = call.events[call.eventsUntilText - 1] as string
    const opening = call.events.slice(0, call.eventsUntilText - 1)
    const delivered = [
      ...opening,
      ...Array.from({ length: 30 }, () => textEvent.replace(/Once[^"]+/, sentence)),
    ]
    const upstream = await startRawUpstream(t, () => ({
      pieces: [streamHead, ...chunked([Buffer.from(delivered.join(''))])],
    }))
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
    const answer = await send(gateway.url + call.path(true), {
      headers: call.keyHeader(gateway.key),
      body: call.body(true),
    })
    t.match(answer, { isWhole: true, body: Buffer.from(delivered.join('')) })
    const charge = await gateway.chargeOf(answer.requestId)
    const { input, output = 0 } = charge?.usage ?? {}
    t.match(charge, { usageSource: 'estimated', flags: ['usage_partial'], outcome: 'completed' })
    t.equal(input, 12, 'the input is the one that the opening event reports')
    t.ok(Math.abs(output / tokensOf(30) / anthropicFactor - 1) < 0.05, `${output} tokens of output`)
    await checkMoney(t, gateway)
  },
)

await t.test('responses that are slow to count do not block the event loop', async t => {
  const gateway = await gatewayBefore(t, prompt => (prompt === 'bomb' ? ['a'.repeat(100_000)] : [sentence]))
  await (await ask(gateway, 'Hello')).text()
  const answer25 = (bombs: number) => () =>
    Promise.all(
      Array.from({ length: 25 }, async (_, index) =>
        (await ask(gateway, index < bombs ? 'bomb' : 'Hello')).text(),
      ),
    )
  // Client and provider run on this event loop too, so their share is measured first.
  await answer25(5)()
  const withoutMs = await loopWork(answer25(0))
  const withBombsMs = await loopWork(answer25(5))

  // Counting one of them on this event loop would take three seconds.
  t.ok(
    withBombsMs < 1000 + 2 * withoutMs,
    `with bombs ${withBombsMs.toFixed()} ms of processor, without ${withoutMs.toFixed()}`,
  )
  const charges = await gateway.charges()
  t.equal(charges.length, 1 + 25 * 11)
  t.ok(
    charges.every(charge => charge.details?.['estimatedByBytes'] === undefined),
    'all were counted by tiktoken',
  )
  await checkMoney(t, gateway)
})
