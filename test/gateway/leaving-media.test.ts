import t, { type Test } from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { noHoldIsLeft, settled } from '../fixtures/exchange-ends.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { chunked, headLines, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

// A client that leaves with images or audio whose tokens were not reported yet is charged for what it has received.

interface Row {
  readonly name: string
  readonly path: string
  readonly body: object
  /** Four parts of equal cost, in the form of the stream, and its end with the usage. */
  readonly parts: readonly object[]
  readonly end: object
  /** The cost of the whole in micro-roubles, at a thousandth of a rouble a token. */
  readonly wholeMicros: number
  /** The estimated cost of each quarter. */
  readonly partMicros: number
}

const fifthOfSecond = Buffer.alloc(9600).toString('base64')
const image = Buffer.alloc(3000).toString('base64')
const four = <Part>(part: Part): readonly Part[] => [part, part, part, part]

const gemini = (mimeType: string, data: string, usageMetadata?: object): object => ({
  candidates: [{ index: 0, content: { parts: [{ inlineData: { mimeType, data } }] } }],
  ...(usageMetadata !== undefined && { usageMetadata }),
})
const usageChunk = (modality: string, tokens: number): object => ({
  candidates: [{ index: 0, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: 10,
    candidatesTokenCount: tokens,
    totalTokenCount: tokens + 10,
    candidatesTokensDetails: [{ modality, tokenCount: tokens }],
  },
})
const promptOnly = { promptTokenCount: 10, totalTokenCount: 10 }
const asText = { promptTokenCount: 10, candidatesTokenCount: 1290, totalTokenCount: 1300 }

const interaction = (type: string, mime_type: string, data: string): object => ({
  event_type: 'step.delta',
  delta: { type, mime_type, data },
})
const interacted = (modality: string, tokens: number): object => ({
  event_type: 'interaction.completed',
  interaction: {
    usage: {
      total_input_tokens: 10,
      total_output_tokens: tokens,
      total_tokens: tokens + 10,
      output_tokens_by_modality: [{ modality, tokens }],
    },
  },
})

interface Made {
  readonly modality: string
  readonly mimeType: string
  readonly data: string
  /** Of a stream of four such parts. */
  readonly tokens: number
}

const drawing: Made = { modality: 'image', mimeType: 'image/png', data: image, tokens: 5160 }
const speech: Made = {
  modality: 'audio',
  mimeType: 'audio/L16;codec=pcm;rate=24000',
  data: fifthOfSecond,
  tokens: 20,
}
/** A token of either costs a thousandth of a rouble. */
const costOf = ({ tokens }: Made) => ({ wholeMicros: tokens * 1000, partMicros: (tokens * 1000) / 4 })

const ofGemini = (name: string, made: Made, usageMetadata?: object): Row => ({
  name,
  path: '/v1beta/models/maker:streamGenerateContent?alt=sse',
  body: { contents: [{ parts: [{ text: 'Hi' }] }] },
  parts: four(gemini(made.mimeType, made.data, usageMetadata)),
  end: usageChunk(made.modality.toUpperCase(), made.tokens),
  ...costOf(made),
})
const ofInteraction = (name: string, input: string, made: Made): Row => ({
  name,
  path: '/v1beta/interactions',
  body: { model: 'maker', stream: true, input },
  parts: four(interaction(made.modality, made.mimeType, made.data)),
  end: interacted(made.modality, made.tokens),
  ...costOf(made),
})

const rows: readonly Row[] = [
  {
    name: 'audio of a chat',
    path: '/v1/chat/completions',
    body: {
      model: 'talker',
      stream: true,
      stream_options: { include_usage: true },
      modalities: ['text', 'audio'],
      messages: [{ role: 'user', content: 'Hi' }],
    },
    parts: four({ choices: [{ index: 0, delta: { audio: { data: fifthOfSecond } } }] }),
    end: {
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 16, completion_tokens_details: { audio_tokens: 16 } },
    },
    wholeMicros: 16_000,
    partMicros: 5000,
  },
  ofGemini("Gemini's audio", speech),
  ofGemini("Gemini's audio, beside a count of the prompt", speech, promptOnly),
  ofGemini("Gemini's images", drawing),
  ofGemini("Gemini's images, beside a count of the prompt", drawing, promptOnly),
  ofGemini("Gemini's images, counted as if they were text", drawing, asText),
  ofInteraction('images of an interaction', 'Draw', drawing),
  ofInteraction('audio of an interaction', 'Say it', speech),
]

/** A comment that distinguishes events of the same bytes. */
const endOf = (index: number): string => `: end ${index}`
const event = (data: object, index: number): Buffer =>
  Buffer.from(`data: ${JSON.stringify(data)}\n${endOf(index)}\n\n`)
const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
const onClientLeft = 'abort'
const rubPerMillion = { input: '0', output: '0', audioOutput: '1000', imageOutput: '1000' }
const provider = (dialect: string, version: string): object => ({
  credentials: ['c'],
  onClientLeft,
  dialects: { [dialect]: { baseUrl: `${upstream.origin}/${version}` } },
})
const gateway = await startTestGateway(t, {
  config: {
    providers: { openai: provider('openai', 'v1'), google: provider('google', 'v1beta') },
    defaultProvider: { openai: 'openai', google: 'google' },
    models: {
      talker: { provider: 'openai', outputTokensMax: 10_000, rubPerMillion },
      maker: { provider: 'google', outputTokensMax: 10_000, rubPerMillion },
    },
  },
})
let charged = 0

/** The charge when the client leaves after `count` parts; the usage follows after all of them. */
async function leave(t: Test, { path, body, parts, end }: Row, count: number): Promise<ChargeReport> {
  const isWhole = count === parts.length
  const sent = [...parts.slice(0, count), ...(isWhole ? [end] : [])].map(event)
  upstream.answer = async () => {
    if (isWhole) return { pieces: [head, ...chunked([...sent, Buffer.from('data: [DONE]\n\n')])] }
    const socket = [...upstream.openSockets].at(-1)
    socket?.write(Buffer.concat([head, ...chunked(sent).slice(0, -1)]))
    return new Promise(() => undefined)
  }
  const text = JSON.stringify(body)
  const client = await connectRaw(t, gateway.url)
  client.socket.write(
    `POST ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  )
  await until(() => client.received().includes(endOf(sent.length - 1)))
  client.socket.destroy()
  charged += 1
  const ending = (await settled(gateway, charged)).at(-1)
  await noHoldIsLeft(t, gateway)
  for (const socket of upstream.openSockets) socket.destroy()
  await until(() => upstream.openSockets.size === 0)
  return (await gateway.chargeOf(ending?.requestId ?? '')) as ChargeReport
}

const microsOf = ({ amount }: ChargeReport): number => Math.round(Number(amount) * 1e6)

for (const row of rows) {
  await t.test(`a client that leaves with a part of ${row.name} is charged for that part`, async t => {
    const whole = microsOf(await leave(t, row, row.parts.length))
    t.equal(whole, row.wholeMicros, 'the whole costs what the provider reports')
    for (const count of [1, 3]) {
      const charge = await leave(t, row, count)
      const { usageSource, flags } = charge
      t.comment(`${count} of 4: ${microsOf(charge)} of ${whole} ${usageSource} ${flags.join()}`)
      t.equal(microsOf(charge), row.partMicros * count)
      t.match(charge, { usageSource: 'estimated', outcome: 'aborted' })
    }
    t.same(await gateway.breaches(), [])
  })
}
