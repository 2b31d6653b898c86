import t, { type Test } from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { wav } from '../fixtures/media/audio-files.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const boundary = 'form'

/** The form of a transcription request with this audio. */
function transcription(audio: Buffer, format = 'json'): Buffer {
  const field = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\ncontent-type: audio/mpeg\r\n\r\n`
  return Buffer.concat([
    Buffer.from(field('model', 'whisper') + field('response_format', format) + file),
    audio,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}

interface Started {
  readonly gateway: TestGateway
  readonly sent: () => number
  readonly transcribe: (body: Buffer) => Promise<ClientAnswer>
  readonly chat: (fields: object, path?: string, key?: string) => Promise<ClientAnswer>
}

const prices = { input: '1000', output: '1000' }

async function start(t: Test, rub: number, sections: ConfigSections = {}, answer = '{}'): Promise<Started> {
  const upstream = await startRawUpstream(t, ({ path }) =>
    path.endsWith('transcriptions')
      ? plainAnswer(200, ['content-type', 'text/plain'], 'Words that were said.')
      : plainAnswer(200, ['content-type', 'application/json'], answer),
  )
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      providers: {
        somebody: { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
      },
      models: {
        whisper: { provider: 'somebody', rubPerUnit: { audioSeconds: '0.5' } },
        big: {
          provider: 'somebody',
          outputTokensMax: 100,
          rubPerMillion: prices,
          rubPerUnit: { searches: '0' },
        },
        inputless: { provider: 'somebody', outputTokensMax: 100, rubPerMillion: { output: '1000' } },
      },
      ...sections,
    },
  })
  const kinds = { form: `multipart/form-data; boundary=${boundary}`, json: 'application/json' }
  const post = (path: string, kind: string, body: Buffer | string, key = gateway.key) =>
    send(gateway.url + path, {
      headers: ['authorization', `Bearer ${key}`, 'content-type', kind],
      body,
    })
  return {
    gateway,
    sent: () => upstream.requests.length,
    transcribe: body => post('/v1/audio/transcriptions', kinds.form, body),
    chat: (fields, path = '/v1/chat/completions', key = gateway.key) =>
      post(
        path,
        kinds.json,
        JSON.stringify({ model: 'big', messages: [{ role: 'user', content: 'Hi' }], ...fields }),
        key,
      ),
  }
}

await t.test('an account without money sends no priced request, whatever its hold is', async t => {
  const { sent, transcribe } = await start(t, 0)
  for (const audio of [Buffer.alloc(0), wav(1)])
    t.equal((await transcribe(transcription(audio))).status, 402, `${audio.length}`)
  t.equal(sent(), 0)
})

await t.test('audio is charged by its length where the response reports no usage', async t => {
  const { gateway, transcribe } = await start(t, 10)
  const { status, requestId } = await transcribe(transcription(wav(4)))
  t.equal(status, 200)
  t.match(await gateway.chargeOf(requestId), {
    usageSource: 'estimated',
    usage: { audioSeconds: 4 },
    amount: '2.000000',
    flags: ['usage_missing'],
  })
})

const images = Array.from({ length: 90 }, (_, index) => ({
  type: 'image_url',
  image_url: { url: `https://images.example/${index}.png` },
}))
const withImages = { messages: [{ role: 'user', content: images }] }

async function quotedRub({ chat }: Started, fields: object): Promise<number> {
  const { status, body } = await chat(fields, '/gateway/v1/quote')
  if (status !== 200) throw new Error(body.toString())
  return Number((JSON.parse(body.toString()) as { hold: string }).hold)
}

await t.test('images are held for by the allowance, or by the amount that the operator sets', async t => {
  const plugins = ['auth', 'model-router', 'upstream-proxy', 'usage-tap']
  const started = await start(t, 100, { plugins })
  const text = await quotedRub(started, {})
  const illustrated = await quotedRub(started, withImages)
  // 1,600 tokens each at 1,000 roubles a million, and the addresses, which are text.
  t.ok(illustrated >= text + 144 && illustrated < text + 150, `${illustrated} roubles`)
  const { status, body } = await started.chat(withImages)
  t.equal(status, 402, 'and 100 roubles do not cover it')
  t.match(JSON.parse(body.toString()), { error: { code: 'insufficient_quota' } })
  t.equal(started.sent(), 0)

  const set = await start(t, 100, { plugins, hold: { mediaRub: { image: '0.01' } } })
  const own = await quotedRub(set, withImages)
  t.ok(own >= text + 0.9 && own < text + 6, `${own} roubles`)
})

await t.test("the refusal by a key's budget says how many tokens fit", async t => {
  const { gateway, chat, sent } = await start(t, 100)
  const { key } = await gateway.accounts.createKey({
    accountId: gateway.accountId,
    budgetMicros: 90_000,
    budgetPeriod: 'total',
  })
  const { status, body } = await chat({ max_tokens: 100 }, undefined, key)
  t.equal(status, 402)
  const { error } = JSON.parse(body.toString()) as { error: { message: string; max_tokens: number } }
  t.match(error.message, "the key's budget has 0.090000 left")
  t.ok(error.max_tokens > 0 && error.max_tokens < 90, `${error.max_tokens}`)
  t.equal(sent(), 0)
  t.equal((await chat({ max_tokens: error.max_tokens }, undefined, key)).status, 200)
})

await t.test('usage without a price and an overrun each raise an alarm', async t => {
  const usage = { prompt_tokens: 10, completion_tokens: 900, total_tokens: 910 }
  const answer = JSON.stringify({ object: 'chat.completion', model: 'inputless', choices: [], usage })
  const { gateway, chat } = await start(t, 0.2, {}, answer)
  const { status, requestId } = await chat({ model: 'inputless', max_tokens: 100 })
  t.equal(status, 200)
  t.match((await gateway.chargeOf(requestId))?.flags.toSorted(), ['meter_unpriced', 'overrun'])
  const alarms = (): string[] => gateway.logLines.filter(line => line.includes('"msg":"alarm"'))
  await until(() => alarms().length >= 2)
  for (const code of ['meter_unpriced', 'overrun']) {
    t.ok(
      alarms().some(line => line.includes(`"alarm":"${code}"`) && line.includes(requestId)),
      code,
    )
  }
})

await t.test("the alarm of an overrun names the provider's tools in the request", async t => {
  const usage = { prompt_tokens: 10, completion_tokens: 90_000, total_tokens: 90_010 }
  const answer = JSON.stringify({ object: 'chat.completion', model: 'big', choices: [], usage })
  const { gateway, chat } = await start(t, 60, { hold: { riskRub: '100000', riskRubMax: '100000' } }, answer)
  const tools = [{ type: 'web_search' }, { type: 'function', function: { name: 'x' } }]

  const { status, requestId } = await chat({ max_tokens: 100, tools, enable_code_interpreter: true })

  t.equal(status, 200)
  t.match((await gateway.chargeOf(requestId))?.flags, ['overrun'])
  const alarm = (): string | undefined => gateway.logLines.find(line => line.includes('"alarm":"overrun"'))
  await until(() => alarm() !== undefined)
  t.match(JSON.parse(alarm() ?? '{}'), {
    account: gateway.accountId,
    model: 'big',
    tools: ['websearch', 'enablecodeinterpreter'],
  })
})
