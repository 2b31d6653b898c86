import { NotFoundError } from 'openai'
import t from 'tap'
import { askJson } from '../fixtures/context-gateway.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

/** The provider's responses, by method and path. */
const answers: Readonly<Record<string, object>> = {
  'POST /v1/conversations': { id: 'conv_1', object: 'conversation', created_at: 1, metadata: {} },
  'GET /v1/conversations/conv_1': { id: 'conv_1', object: 'conversation', created_at: 1, metadata: {} },
  'POST /v1/conversations/conv_1': {
    id: 'conv_1',
    object: 'conversation',
    created_at: 1,
    metadata: { a: 'b' },
  },
  'DELETE /v1/conversations/conv_1': { id: 'conv_1', object: 'conversation.deleted', deleted: true },
  'POST /v1/conversations/conv_1/items': page(['msg_added'], false),
  'GET /v1/conversations/conv_1/items': page(['msg_1', 'msg_2'], true),
  'GET /v1/conversations/conv_1/items?after=msg_2': page(['msg_3'], false),
  'GET /v1/conversations/conv_1/items/msg_4': { id: 'msg_4', type: 'message', role: 'user', content: [] },
  'DELETE /v1/conversations/conv_1/items/msg_1': { id: 'conv_1', object: 'conversation', metadata: {} },
  'POST /v1/responses': {
    id: 'resp_1',
    object: 'response',
    model: 'gpt-5',
    status: 'completed',
    conversation: { id: 'conv_1' },
    output: [{ id: 'msg_out', type: 'message', role: 'assistant', content: [] }],
    usage: { input_tokens: 40, output_tokens: 2, total_tokens: 42 },
  },
}

function page(ids: readonly string[], hasMore: boolean): object {
  const data = ids.map(id => ({ id, type: 'message', role: 'user', content: [] }))
  return { object: 'list', data, first_id: ids[0], last_id: ids.at(-1), has_more: hasMore }
}

const upstream = await startRawUpstream(t, ({ method, path }) => {
  const answer = answers[`${method} ${path}`]
  return plainAnswer(
    answer === undefined ? 404 : 200,
    ['content-type', 'application/json'],
    JSON.stringify(answer ?? {}),
  )
})
const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
const stranger = await gateway.accounts.createAccount({ email: 'stranger@example.org' })
const { key } = await gateway.accounts.createKey({ accountId: stranger.id })
const openai = openaiClient(gateway)
const theirs = openaiClient({ url: gateway.url, key })

const message = { type: 'message', role: 'user', content: 'Hi' } as const

await t.test("OpenAI's client creates, reads, changes, uses and deletes a conversation", async t => {
  t.match(await openai.conversations.create({ items: [message] }), { id: 'conv_1' })
  t.match(await openai.conversations.retrieve('conv_1'), { object: 'conversation' })
  t.match(await openai.conversations.update('conv_1', { metadata: { a: 'b' } }), { metadata: { a: 'b' } })
  t.match(await openai.conversations.items.create('conv_1', { items: [message] }), {
    data: [{ id: 'msg_added' }],
  })
  const listed: string[] = []
  for await (const { id } of openai.conversations.items.list('conv_1')) listed.push(String(id))
  t.strictSame(listed, ['msg_1', 'msg_2', 'msg_3'], 'over two pages')
  t.match(await openai.conversations.items.retrieve('msg_4', { conversation_id: 'conv_1' }), { id: 'msg_4' })
  t.same(await gateway.charges(), [], 'none of that is charged')

  const response = await openai.responses.create({ model: 'gpt-5', conversation: 'conv_1', input: 'Go on' })
  t.equal(response.usage?.input_tokens, 40)
  t.match(await gateway.charges(), [{ usage: { input: 40, output: 2 } }])
  t.match(await openai.conversations.items.delete('msg_1', { conversation_id: 'conv_1' }), { id: 'conv_1' })
  t.match(await openai.conversations.delete('conv_1'), { deleted: true })
})

await t.test('only items of a conversation that a charged response made may be referenced', async t => {
  const refer = (id: string) =>
    openai.responses.create({ model: 'gpt-5', input: [{ type: 'item_reference', id }] })
  t.match(await refer('msg_out'), { id: 'resp_1' })
  for (const id of ['msg_added', 'msg_1']) {
    const error = await refer(id).catch((error: unknown) => error)
    t.ok(error instanceof NotFoundError, id)
  }
})

await t.test("a response in a conversation may cost its model's whole context window", async t => {
  const worst = async (body: object): Promise<number> => {
    const { body: quote } = await askJson(gateway, '/gateway/v1/quote?for=/v1/responses', {
      model: 'gpt-5',
      max_output_tokens: 10,
      input: 'Hi',
      ...body,
    })
    return Number((JSON.parse(quote.toString()) as { worst: string }).worst)
  }
  const alone = await worst({})
  const windowTokens = 400_000
  t.ok(alone < 10, String(alone))
  t.ok((await worst({ conversation: 'conv_1' })) >= windowTokens / 1000)
})

await t.test("another account's conversation is refused like one that does not exist", async t => {
  const count = upstream.requests.length
  for (const id of ['conv_1', 'conv_none']) {
    for (const ask of [
      () => theirs.conversations.retrieve(id),
      () => theirs.conversations.update(id, { metadata: {} }),
      () => theirs.conversations.delete(id),
      async () => theirs.conversations.items.list(id),
      () => theirs.conversations.items.create(id, { items: [message] }),
      () => theirs.conversations.items.retrieve('msg_4', { conversation_id: id }),
      () => theirs.conversations.items.delete('msg_4', { conversation_id: id }),
      () => theirs.responses.create({ model: 'gpt-5', conversation: { id }, input: 'Hi' }),
    ]) {
      const error = await ask().catch((error: unknown) => error)
      t.ok(error instanceof NotFoundError, `${id}: ${String(error)}`)
      t.match(error, { message: new RegExp(`"${id}"`) })
    }
  }
  t.equal(upstream.requests.length, count, 'the provider receives no request')
})

await t.test("items added to a conversation may name only the account's own files and items", async t => {
  const count = upstream.requests.length
  const file = {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_file', file_id: 'file-x' }],
  } as const
  for (const item of [file, { type: 'item_reference', id: 'msg_x' } as const]) {
    for (const ask of [
      () => openai.conversations.create({ items: [item as never] }),
      () => openai.conversations.items.create('conv_1', { items: [item as never] }),
    ]) {
      const error = await ask().catch((error: unknown) => error)
      t.ok(error instanceof NotFoundError, String(error))
    }
  }
  t.equal(upstream.requests.length, count)
  const whole = { ...message, id: 'msg_of_a_client' }
  t.match(
    await openai.conversations.create({ items: [whole] }),
    { id: 'conv_1' },
    'the id of a whole item is only a label',
  )
})
