import t from 'tap'
import { call } from '../fixtures/job-kinds.ts'
import { headLines, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'
import { bytesOf, loadRecordings, recordingsSkip, type Recording } from '../lib/dialects/recordings.ts'

const recordings = recordingsSkip === false ? loadRecordings() : []
const named = (pattern: RegExp): Recording[] => recordings.filter(({ file }) => pattern.test(file))

function answerOf({ response }: Recording): { pieces: Buffer[] } {
  const bytes = bytesOf(response)
  const type = response.headers['content-type'] ?? 'application/json'
  const head = headLines(response.status, ['content-type', type, 'content-length', String(bytes.length)])
  return { pieces: [head, bytes] }
}

function config(origin: string): Record<string, unknown> {
  const credentials = ['provider-credential']
  return {
    plugins: [
      'auth',
      'model-router',
      'size-limit',
      'upstream-proxy',
      { 'usage-tap': { pollMs: 600_000, pollMsMax: 600_000 } },
    ],
    providers: {
      openai: { credentials, dialects: { openai: { baseUrl: `${origin}/v1` } } },
      google: { credentials, dialects: { google: { baseUrl: `${origin}/v1beta` } } },
    },
    models: {
      'veo-*': { provider: 'google', rubPerUnit: { videoSeconds: '40' } },
      'gpt-*': { provider: 'openai', rubPerMillion: { input: '100', output: '400' } },
    },
    defaultProvider: { openai: 'openai', google: 'google' },
  }
}

const options = { skip: recordingsSkip }

await t.test('a recorded video is submitted, polled and charged; bytes pass unchanged', options, async t => {
  const [submission] = named(/^gemini-longrunning\/.*videos\.json$/).filter(
    ({ request }) => request?.method === 'POST',
  )
  const polls = named(/^gemini-longrunning\//).filter(({ request }) => request?.method === 'GET')
  const sequence = [
    submission,
    ...polls.toSorted((a, b) => bytesOf(a.response).length - bytesOf(b.response).length),
  ]
  t.equal(sequence.length, 5)
  let index = 0
  const upstream = await startRawUpstream(t, () => answerOf(sequence[index] as Recording))
  const gateway = await startTestGateway(t, { config: config(upstream.origin) })
  const requestIds: string[] = []
  for (const [place, recording] of sequence.entries()) {
    index = place
    const { request, response } = recording as Recording
    t.same(await gateway.charges(), [], 'nothing is charged before its end')
    const body = request?.body ? (JSON.parse(request.body) as object) : undefined
    const answer = await call(gateway, request?.method ?? 'GET', String(request?.path), body)
    t.equal(answer.status, 200)
    t.equal(upstream.requests.at(-1)?.path, request?.path)
    // Addresses of the provider become the gateway's own, and nothing else changes.
    const plain = (text: string): string => text.replace(/https?:\/\/[^/"]+/g, '')
    t.equal(plain(answer.body.toString()), plain(bytesOf(response).toString()))
    requestIds.push(answer.requestId)
  }
  const [charge, ...more] = await gateway.charges()
  t.same(more, [])
  t.match(charge, {
    requestId: requestIds[0],
    operation: 'predict-long-running',
    model: 'veo-3.1-lite-generate-preview',
    usage: { videoSeconds: 4 },
    amount: '160.000000',
    flags: [],
  })
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})

await t.test(
  'a recorded background response that is streamed and fetched again is charged once',
  options,
  async t => {
    const [streamed] = named(/sse-background-test-background-mode-streaming-continuation/)
    const [fetched] = named(/sse-background-test-background-mode-streaming-starting-after/)
    if (streamed === undefined || fetched === undefined) throw new Error('the recordings are not there')
    const id = (recording: Recording): string =>
      /"id":"(resp_\w+)"/.exec(bytesOf(recording.response).toString())?.[1] ?? ''
    const upstream = await startRawUpstream(t, ({ method }) =>
      answerOf(method === 'POST' ? streamed : fetched),
    )
    const gateway = await startTestGateway(t, { config: { ...config(upstream.origin), isolation: 'off' } })
    const body = JSON.parse(streamed.request?.body ?? '') as object
    const answer = await call(gateway, 'POST', '/v1/responses', body)
    t.same(answer.body, bytesOf(streamed.response))
    t.not(id(fetched), '')
    const again = await call(gateway, 'GET', `/v1/responses/${id(fetched)}?starting_after=0&stream=true`)
    t.same(again.body, bytesOf(fetched.response))
    const amount = ((15 * 100 + 9 * 400) / 1e6).toFixed(6)
    t.match(await gateway.charges(), [{ requestId: answer.requestId, amount, flags: [] }])
    t.equal((await gateway.charges()).length, 1)
    t.same(await gateway.breaches(), [])
  },
)
