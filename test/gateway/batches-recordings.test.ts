import t, { type Test } from 'tap'
import { batchLine } from '../fixtures/batch-clients.ts'
import { batchConfig } from '../fixtures/batch-gateway.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { headLines, startRawUpstream, type RawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { loadRecordings, recordingsSkip, type Recording } from '../lib/dialects/recordings.ts'

const never = 3_600_000
const notReplayed = new Set(['content-length', 'connection', 'transfer-encoding', 'content-encoding'])
const keyHeaders: Readonly<Record<string, string>> = {
  'openai-batches': 'authorization',
  'anthropic-batches': 'x-api-key',
  'gemini-batches': 'x-goog-api-key',
}

const all = recordingsSkip === false ? loadRecordings() : []

/** The recordings of an API, in the order in which they were made: by the number in their file's name. */
function recordingsOf(api: string): readonly Recording[] {
  return all.filter(recording => recording.api === api)
}

function only(recordings: readonly Recording[], fits: (recording: Recording) => boolean): Recording {
  const [found] = recordings.filter(fits)
  if (found === undefined) throw new Error('there is no such recording')
  return found
}

interface Replay {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  /** Sends a recorded request, and checks that it and its recorded response pass unchanged. */
  readonly play: (t: Test, recording: Recording) => Promise<ClientAnswer>
  /** Sends a request that was not recorded; the provider responds with `answer`. */
  readonly say: (recording: Partial<Recording['request']>, answer: string) => Promise<ClientAnswer>
}

async function start(t: Test, api: string): Promise<Replay> {
  let next: { status: number; headers: readonly string[]; body: Buffer } | undefined
  const upstream = await startRawUpstream(t, () => {
    if (next === undefined) throw new Error('no request was expected')
    return {
      pieces: [
        headLines(next.status, [...next.headers, 'content-length', String(next.body.length)]),
        next.body,
      ],
    }
  })
  const config = batchConfig(upstream.origin, never)
  const gateway = await startTestGateway(t, { config })
  const name = keyHeaders[api] ?? ''
  const auth = [name, name === 'authorization' ? `Bearer ${gateway.key}` : gateway.key]
  return {
    gateway,
    upstream,
    async play(t, { request, response }) {
      const headers = Object.entries(response.headers).filter(([header]) => !notReplayed.has(header))
      next = { status: response.status, headers: headers.flat(), body: Buffer.from(response.body) }
      const answer = await send(gateway.url + request?.path, {
        method: request?.method ?? 'GET',
        headers: [...auth, 'content-type', 'application/json'],
        ...(request?.body !== '' && { body: request?.body ?? '' }),
      })
      const seen = upstream.requests.at(-1)
      t.equal(seen?.path, request?.path)
      t.equal(seen?.body.toString(), request?.body, 'request bytes')
      t.equal(answer.status, response.status)
      t.equal(answer.body.toString(), response.body, 'response bytes')
      t.ok(answer.isWhole)
      return answer
    },
    async say(request, answer) {
      next = { status: 200, headers: ['content-type', 'application/json'], body: Buffer.from(answer) }
      return send(gateway.url + request?.path, {
        method: 'POST',
        headers: [...auth, ...Object.entries(request?.headers ?? {}).flat()],
        body: request?.body ?? '',
      })
    },
  }
}

/** Whether anything is held, and the sum that was charged so far, in micro-roubles. */
async function money(
  t: Test,
  gateway: TestGateway,
): Promise<{ readonly isHeld: boolean; readonly paid: number }> {
  const { balanceMicros, heldMicros } = await gateway.balance()
  t.same(await gateway.breaches(), [])
  return { isHeld: heldMicros > 0, paid: 1_000_000_000 - balanceMicros }
}

const options = { skip: recordingsSkip }

await t.test(
  'openai: a recorded batch is held for when it is submitted and charged when it ends',
  options,
  async t => {
    const recordings = recordingsOf('openai-batches')
    const { gateway, play, say } = await start(t, 'openai-batches')
    const creation = only(recordings, ({ request }) => request?.method === 'POST')
    const { input_file_id: file, endpoint } = JSON.parse(String(creation.request?.body)) as Record<
      string,
      string
    >
    // The upload was not recorded.
    const lines = batchLine('0', 'gpt-5-nano').replace('/v1/chat/completions', String(endpoint)).repeat(2)
    const form = `--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="b.jsonl"\r\n\r\n${lines}\r\n--x--\r\n`
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    await say({ path: '/v1/files', body: form, headers }, JSON.stringify({ id: file, object: 'file' }))
    await play(t, creation)
    t.same(await money(t, gateway), { isHeld: true, paid: 0 })
    const questions = recordings.filter(({ request }) => request?.method === 'GET')
    const isEnd = ({ response }: Recording): boolean => response.body.includes('"status": "completed"')
    for (const question of questions.filter(recording => !isEnd(recording))) await play(t, question)
    t.same(await money(t, gateway), { isHeld: true, paid: 0 })
    const end = only(questions, isEnd)
    for (let time = 0; time < 2; time += 1) await play(t, end)
    // 36 tokens in at 100 and 224 out at 400 roubles a million, at half the price.
    t.same(await money(t, gateway), { isHeld: false, paid: (36 * 100 + 224 * 400) / 2 })
    const [charge, ...more] = await gateway.charges()
    t.same(more, [])
    t.match(charge, {
      usage: { input: 36, output: 224 },
      usageSource: 'provider',
      operation: 'batch',
      flags: [],
    })
  },
)

await t.test(
  'anthropic: a recorded cancellation is not charged, and recorded results of another batch are, once',
  options,
  async t => {
    const recordings = recordingsOf('anthropic-batches')
    const { gateway, upstream, play, say } = await start(t, 'anthropic-batches')
    const creation = only(recordings, ({ request }) => request?.path === '/v1/messages/batches')
    await play(t, creation)
    await play(
      t,
      only(recordings, ({ request }) => request?.path.endsWith('/cancel') === true),
    )
    t.same(await money(t, gateway), { isHeld: true, paid: 0 })
    const results = only(recordings, ({ request }) => request?.path.endsWith('/results') === true)
    const retrieval = only(
      recordings,
      ({ request }) => request?.method === 'GET' && !request.path.endsWith('/results'),
    )
    const id = String(retrieval.request?.path.split('/').at(-1))
    // The submission of this one was not recorded.
    const body = String(creation.request?.body)
    const made = creation.response.body.replace(/msgbatch_\w+/, id)
    await say({ path: '/v1/messages/batches', body, headers: { 'content-type': 'application/json' } }, made)
    await play(t, retrieval)
    t.equal((await money(t, gateway)).paid, 0)
    await play(t, results)
    await play(t, results)
    t.equal((await money(t, gateway)).paid, (20 * 100 + 5 * 400) / 2)
    const charges = await gateway.charges()
    t.match(charges, [{ usage: { input: 20, output: 5 }, lines: [{ tier: 'batch' }], flags: [] }])
    t.equal(charges.length, 1)
    t.equal(upstream.requests.length, 6)
  },
)

await t.test(
  'google: a recorded batch is held for when it is submitted and charged when it ends',
  options,
  async t => {
    const recordings = recordingsOf('gemini-batches')
    const { gateway, play } = await start(t, 'gemini-batches')
    await play(
      t,
      only(recordings, ({ request }) => request?.method === 'POST'),
    )
    const running = only(recordings, ({ request }) => request?.method === 'GET')
    await play(t, running)
    t.same(await money(t, gateway), { isHeld: true, paid: 0 })
    // The end was not recorded.
    const operation = JSON.parse(running.response.body) as { metadata: object }
    const usageMetadata = {
      promptTokenCount: 12,
      candidatesTokenCount: 1,
      thoughtsTokenCount: 20,
      totalTokenCount: 33,
    }
    const inlinedResponses = [{ response: { usageMetadata } }, { error: { code: 13 } }]
    const ended = {
      ...operation,
      metadata: { ...operation.metadata, state: 'BATCH_STATE_SUCCEEDED' },
      done: true,
      response: { inlinedResponses: { inlinedResponses } },
    }
    await play(t, { ...running, response: { ...running.response, body: JSON.stringify(ended) } })
    t.same(await money(t, gateway), { isHeld: false, paid: (12 * 100 + 21 * 400) / 2 })
    t.equal((await gateway.charges()).length, 1)
  },
)
