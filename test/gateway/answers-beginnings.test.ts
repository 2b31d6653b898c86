import t, { type Test } from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { send } from '../fixtures/http-client.ts'
import { wav } from '../fixtures/media/audio-files.ts'
import { chunked, headLines, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const form =
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nheard\r\n' +
  '--b\r\ncontent-disposition: form-data; name="response_format"\r\n\r\ntext\r\n' +
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
const questions = {
  transcription: {
    path: '/v1/audio/transcriptions',
    type: 'multipart/form-data; boundary=b',
    body: Buffer.concat([Buffer.from(form), wav(7), Buffer.from('\r\n--b--\r\n')]),
  },
  speech: {
    path: '/v1/audio/speech',
    type: 'application/json',
    body: Buffer.from('{"model":"said","input":"Ten chars.","voice":"alloy","response_format":"pcm"}'),
  },
  chat: {
    path: '/v1/chat/completions',
    type: 'application/json',
    body: Buffer.from('{"model":"chat","max_tokens":10,"messages":[]}'),
  },
} as const

/** Returns a function that sends a request, relays these pieces as its response, and returns the charge. */
async function start(
  t: Test,
): Promise<
  (what: keyof typeof questions, type: string, pieces: readonly Buffer[]) => Promise<ChargeReport | undefined>
> {
  const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
  const gateway = await startTestGateway(t, {
    config: {
      providers: {
        somebody: { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
      },
      models: {
        heard: { provider: 'somebody', rubPerUnit: { audioSeconds: '0.5' } },
        said: { provider: 'somebody', rubPerUnit: { characters: '0.1' } },
        chat: { provider: 'somebody', rubPerMillion: { input: '1000', output: '1000' } },
      },
    },
  })
  return async (what, type, pieces) => {
    const head = headLines(200, ['content-type', type, 'transfer-encoding', 'chunked'])
    upstream.answer = () => ({ pieces: [head, ...chunked(pieces)] })
    const { path, type: contentType, body } = questions[what]
    const answer = await send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', contentType],
      body,
    })
    t.same(answer.body, Buffer.concat(pieces))
    return await gateway.chargeOf(answer.requestId)
  }
}

await t.test('a transcript is charged for with any first letter', async t => {
  const ask = await start(t)
  for (const text of ['Dear all', 'dear all', 'd', 'in short', 'run', 'event', '1\n00:00']) {
    t.match(await ask('transcription', 'text/plain', [Buffer.from(text)]), { amount: '3.500000' }, text)
    const letters = [...text].map(letter => Buffer.from(letter))
    t.match(
      await ask('transcription', 'text/plain', letters),
      { amount: '3.500000' },
      `${text} letter by letter`,
    )
  }
})

await t.test('audio is charged for with any first sample', async t => {
  const ask = await start(t)
  for (let first = 0; first < 256; first += 1) {
    const charge = await ask('speech', 'audio/pcm', [Buffer.from([first, 0, 1, 0, 2, 0])])
    if (charge?.amount !== '1.000000' || charge.flags.length > 0) t.fail(`${first}`, { charge })
  }
})

await t.test('usage is read from a response that begins with a byte order mark', async t => {
  const ask = await start(t)
  const mark = Buffer.from('efbbbf', 'hex')
  const usage = '"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46}'
  const document = Buffer.from(`{"id":"c","model":"chat","choices":[{"message":{"content":"Hi"}}],${usage}}`)
  const events = Buffer.from(`data: {"model":"chat","choices":[],${usage}}\n\ndata: [DONE]\n\n`)
  for (const [type, content] of [
    ['application/json', document],
    ['application/json', events],
    ['text/event-stream', document],
    ['text/event-stream', events],
  ] as const) {
    t.match(await ask('chat', type, [Buffer.concat([mark, content])]), { amount: '0.046000', flags: [] })
    const bytes = [...mark].map(byte => Buffer.from([byte]))
    t.match(await ask('chat', type, [...bytes, content]), { amount: '0.046000', flags: [] }, type)
  }
})
