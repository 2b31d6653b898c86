import { toFile } from 'openai'
import t, { type Test } from 'tap'
import { batchLine } from '../fixtures/batch-clients.ts'
import { batchConfig, costOf } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, type BatchProvider } from '../fixtures/batch-provider.ts'
import { recordedObject } from '../fixtures/recorded-object.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

interface Started {
  readonly gateway: TestGateway
  readonly provider: BatchProvider
}

const credit = 1_000_000_000
const often = 20
const never = 3_600_000

async function start(t: Test, pollMs = never): Promise<Started> {
  const provider = await startBatchProvider(t)
  return { provider, gateway: await startTestGateway(t, { config: batchConfig(provider.origin, pollMs) }) }
}

interface InParts {
  readonly purpose?: 'batch' | 'user_data'
  /** The order in which the parts are uploaded; by default the order in which they are put together. */
  readonly order?: readonly number[]
}

/** Uploads the pieces in `order`, and puts them together in the order of `pieces`. */
async function uploadInParts(
  gateway: TestGateway,
  pieces: readonly Buffer[],
  { purpose = 'batch', order = pieces.keys().toArray() }: InParts = {},
): Promise<string> {
  const { uploads } = openaiClient(gateway)
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const { id } = await uploads.create({
    bytes,
    filename: 'in.jsonl',
    mime_type: 'application/jsonl',
    purpose,
  })
  const ids: string[] = []
  for (const index of order) {
    const data = await toFile(pieces[index] as Buffer, 'part')
    ids[index] = (await uploads.parts.create(id, { data })).id
  }
  return String((await uploads.complete(id, { part_ids: ids })).file?.id)
}

async function uploadWhole(gateway: TestGateway, lines: Buffer): Promise<string> {
  const file = await toFile(lines, 'in.jsonl')
  return (await openaiClient(gateway).files.create({ file, purpose: 'batch' })).id
}

function create(gateway: TestGateway, id: string): Promise<unknown> {
  return openaiClient(gateway)
    .batches.create({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' })
    .catch((error: unknown) => error)
}

function contentsRead({ provider }: Started): number {
  return provider.seen.filter(({ path }) => path.endsWith('/content')).length
}

/** Checks a refusal with 400 and this message: nothing is held or charged, and no batch reaches the provider. */
async function checkRefusal(t: Test, started: Started, id: string, message: RegExp): Promise<void> {
  const error = await create(started.gateway, id)
  t.match(error, { status: 400 })
  t.match(String(error), message)
  t.match(await started.gateway.balance(), { balanceMicros: credit, heldMicros: 0 })
  t.same(await started.gateway.charges(), [])
  t.notOk(started.provider.seen.some(({ path }) => path.endsWith('/batches')))
}

const lines = Buffer.from(['a', 'b', 'c'].map(id => batchLine(id, 'gpt-5-nano')).join(''))
/** No piece ends where a line does. */
const pieces = [lines.subarray(0, 100), lines.subarray(100, 190), lines.subarray(190)]

await t.test(
  'a batch of a file uploaded in parts has the same hold and charge as one of a whole file',
  async t => {
    const whole = await start(t)
    await create(whole.gateway, await uploadWhole(whole.gateway, lines))
    const { heldMicros } = await whole.gateway.balance()
    const started = await start(t, often)
    const { gateway, provider } = started
    const id = await uploadInParts(gateway, pieces, { order: [2, 0, 1] })
    t.match(await create(gateway, id), { object: 'batch' })

    t.ok(heldMicros > 0)
    t.match(await gateway.balance(), { balanceMicros: credit, heldMicros })
    t.equal(contentsRead(started), 1, 'the file was read back once')
    const wanted = recordedObject(whole.gateway, 'file', 'file-1')?.facts
    const facts = recordedObject(gateway, 'file', id)?.facts
    t.same(facts?.batch, wanted?.batch, 'both files have the same facts')
    t.equal(facts?.bytes, lines.length)
    t.notMatch(JSON.stringify(facts), /Question/, 'no text of a request is stored')

    provider.finish(provider.lastBatch())
    await until(async () => (await gateway.charges()).length > 0)
    t.match(await gateway.balance(), { balanceMicros: credit - costOf([0, 1, 2]), heldMicros: 0 })
    t.same(await gateway.breaches(), [])
  },
)

await t.test(
  'lines are numbered in the order of the completed parts, not in the order of the uploads',
  async t => {
    const started = await start(t)
    const good = Buffer.from(batchLine('a', 'gpt-5-nano'))
    const alias = Buffer.from(batchLine('b', 'fast'))
    const id = await uploadInParts(started.gateway, [good, good, alias], { order: [2, 1, 0] })
    await checkRefusal(t, started, id, /line 3: .*"fast" is called "gpt-5-nano"/)
  },
)

await t.test('an invalid line is reported when a batch is made of the parts', async t => {
  const started = await start(t)
  const id = await uploadInParts(started.gateway, [...pieces, Buffer.from('{"custom_id": no')])
  await checkRefusal(t, started, id, /line 4: /)
})

await t.test('a batch of a file that cannot be read back is refused, and the error says why', async t => {
  const started = await start(t)
  started.provider.refuseContent(403)
  const id = await uploadInParts(started.gateway, pieces)
  t.equal(contentsRead(started), 1)
  await checkRefusal(t, started, id, /could not be read back.*answered 403.*in one piece/)
  const whole = await uploadWhole(started.gateway, lines)
  t.match(await create(started.gateway, whole), { object: 'batch' }, 'a file in one piece makes a batch')
})

await t.test('a file that is not available at once is read again', async t => {
  const started = await start(t)
  started.provider.refuseContent(404)
  t.match(await create(started.gateway, await uploadInParts(started.gateway, pieces)), { object: 'batch' })
  t.equal(contentsRead(started), 2)
})

await t.test('a file in parts for another purpose is not read back', async t => {
  const started = await start(t)
  const id = await uploadInParts(started.gateway, pieces, { purpose: 'user_data' })
  t.equal(contentsRead(started), 0)
  await checkRefusal(t, started, id, /not known here/)
})
