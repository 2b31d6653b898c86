import t from 'tap'
import { openForWriting } from '../../lib/stores/sqlite/sqlite-database.ts'
import { send } from '../fixtures/http-client.ts'
import { chunked, headLines, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

// A response may be cut because the balance is used up while its head still waits for the hold to be written to disk.
// The client then receives a status instead, and the provider's work is charged all the same.

const event = (value: object): Buffer => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)
const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
const searching = {
  type: 'response.web_search_call.in_progress',
  item_id: 'ws_1',
  output_index: 0,
  sequence_number: 1,
}
const begun = {
  type: 'response.created',
  sequence_number: 0,
  response: { id: 'resp_1', status: 'in_progress', model: 'searcher' },
}

await t.test('a search that is cut before its response head is sent is charged', async t => {
  const upstream = await startRawUpstream(t, () => ({
    pieces: [head, ...chunked([event(begun), event(searching)]).slice(0, 2)],
  }))
  const gateway = await startTestGateway(t, {
    rub: 0,
    config: {
      providers: {
        openai: { credentials: ['x'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
      },
      models: {
        searcher: {
          provider: 'openai',
          contextTokensMax: 300_000,
          outputTokensMax: 1000,
          rubPerMillion: { input: '100', output: '500' },
          rubPerUnit: { searches: '1' },
        },
      },
      hold: { riskRub: '30', riskOfPaid: '1.0' },
    },
  })
  await gateway.accounts.credit({ accountId: gateway.accountId, amountMicros: 10_000_000, reason: 'test' })

  const database = openForWriting(gateway.storeFile)
  database.exec('BEGIN IMMEDIATE')
  const answer = send(`${gateway.url}/openai/v1/responses`, {
    headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
    body: JSON.stringify({
      model: 'searcher',
      input: 'Hello',
      stream: true,
      tools: [{ type: 'web_search' }],
    }),
  })
  await until(() => upstream.requests.length === 1 && upstream.openSockets.size === 0)
  database.exec('ROLLBACK')
  database.close()

  t.match(await answer, { status: 402, isWhole: true })
  await until(async () => (await gateway.balance()).heldMicros === 0)
  const charges = await gateway.charges()
  t.match(charges, [
    { outcome: 'refused', flags: ['ambiguous', 'tools_estimated', 'balance_exhausted', 'overrun'] },
  ])
  const [{ amount, overrun = '0' } = { amount: '0' }] = charges
  t.equal(Number(amount), 10, 'the whole balance is charged')
  t.ok(
    Number(amount) + Number(overrun) >= 13.8,
    `a search, and the 128,000 tokens that it may have read: ${amount} and ${overrun}`,
  )
  t.same(await gateway.breaches(), [])
})
