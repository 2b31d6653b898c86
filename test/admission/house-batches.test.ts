import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream, type RawAnswer, type SeenRequest } from '../fixtures/raw-upstream.ts'
import {
  batchAttacks,
  batchLines,
  inlineBatch,
  requestsPerBatch,
  resultLines,
  type BatchAttack,
} from './batches.ts'
import { atOnce, isWhole, rush, startHouse, strict, type Client, type House } from './house.ts'

const rows = [...batchAttacks.entries()].filter(([index]) => isWhole || index % 8 === 0)
const plugins = [
  'auth',
  'model-router',
  'size-limit',
  'upstream-proxy',
  { 'usage-tap': { pollMs: 20, pollMsMax: 100 } },
]

/** A provider whose batches end as soon as they are created; a name identifies the row. */
async function startProvider(t: Test): Promise<string> {
  let made = 0
  const upstream = await startRawUpstream(t, request => answerTo(request, () => `${(made += 1)}`))
  return upstream.origin
}

const json = (body: object): RawAnswer =>
  plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(body))

function answerTo({ method, path, headers }: SeenRequest, next: () => string): RawAnswer {
  const place = headers.indexOf('x-attack')
  const row = place === -1 ? (/_row(\d+)_/.exec(path)?.[1] ?? '') : String(headers[place + 1])
  const attack = batchAttacks[Number(row)]
  if (attack === undefined) throw new Error(`an unexpected request arrived: ${method} ${path}`)
  const id = method === 'POST' ? `_row${row}_${next()}` : (/_row\d+_\d+/.exec(path)?.[0] ?? '')
  if (/\/(?:content|results)$/.test(path))
    return plainAnswer(200, ['content-type', 'application/x-jsonl'], resultLines(attack))
  if (path.endsWith('/files')) return json({ id: `file${id}`, object: 'file', purpose: 'batch', bytes: 1 })
  return json(attack.dialect === 'anthropic' ? messageBatch(id, method) : openaiBatch(id, attack, method))
}

function messageBatch(id: string, method: string): object {
  const isDone = method === 'GET'
  const counts = { processing: 0, succeeded: requestsPerBatch, errored: 0, canceled: 0, expired: 0 }
  return {
    id: `msgbatch${id}`,
    type: 'message_batch',
    processing_status: isDone ? 'ended' : 'in_progress',
    request_counts: counts,
    ...(isDone && { results_url: `https://api.anthropic.com/v1/messages/batches/msgbatch${id}/results` }),
  }
}

function openaiBatch(id: string, { attack }: BatchAttack, method: string): object {
  const isDone = method === 'GET'
  return {
    id: `batch${id}`,
    object: 'batch',
    endpoint: attack.path.replace('/openai', ''),
    status: isDone ? 'completed' : 'in_progress',
    request_counts: { total: requestsPerBatch, completed: isDone ? requestsPerBatch : 0, failed: 0 },
    ...(isDone && { output_file_id: `file-out${id}` }),
  }
}

/** The request that creates a batch; for OpenAI the file is uploaded first, and the request names it. */
async function batchOf(
  house: House,
  client: Client,
  { attack, dialect }: BatchAttack,
  row: number,
): Promise<{ readonly path: string; readonly body: Record<string, unknown> }> {
  if (dialect === 'anthropic')
    return { path: '/anthropic/v1/messages/batches', body: inlineBatch(attack) as Record<string, unknown> }
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new Blob([batchLines(attack)]), 'in.jsonl')
  const whole = new Response(form)
  const uploaded = await send(`${house.url}/openai/v1/files`, {
    headers: [
      'authorization',
      `Bearer ${client.key}`,
      'x-attack',
      String(row),
      'content-type',
      String(whole.headers.get('content-type')),
    ],
    body: Buffer.from(await whole.arrayBuffer()),
  })
  const { id } = JSON.parse(uploaded.body.toString()) as { readonly id: string }
  const endpoint = attack.path.replace('/openai', '')
  return {
    path: '/openai/v1/batches',
    body: { input_file_id: id, endpoint, completion_window: '24h' },
  }
}

await t.test('at least forty requests are tried in batches', async t => {
  t.ok(batchAttacks.length >= 40, String(batchAttacks.length))
})

await t.test(`a house without risk loses nothing to ${atOnce} batches of each kind at once`, async t => {
  const house = await startHouse(t, await startProvider(t), strict, { config: { plugins } })
  let admitted = 0
  for (const [row, attack] of rows) {
    const asking = await house.newClient(1)
    const worst = await house.worstOf(asking, await batchOf(house, asking, attack, row))
    t.ok(worst > 0, `${attack.name}: the quote has a worst cost`)
    const client = await house.newClient(2.5 * worst)
    const batch = await batchOf(house, client, attack, row)
    const statuses = await rush(atOnce, () => house.ask(client, batch, ['x-attack', String(row)]))
    t.same(
      statuses.filter(status => status !== 200 && status !== 402),
      [],
      attack.name,
    )
    const whole = statuses.filter(status => status === 200).length
    admitted += whole
    t.ok(whole >= 2, `${attack.name}: two are admitted`)
    t.equal(await house.owedBy(client), 0, attack.name)
    const charged = await house.chargesOf(client)
    t.equal(
      charged.filter(({ amount }) => Number(amount) > 0).length,
      whole,
      `${attack.name}: all are charged`,
    )
  }
  t.ok(admitted > 0)
  t.same(await house.breaches(), [])
})
