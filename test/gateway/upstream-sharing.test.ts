import t from 'tap'
import { askAs, startWithCredentials } from '../fixtures/credential-gateway.ts'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { plainAnswer } from '../fixtures/raw-upstream.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']

const limited =
  '{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}'

await t.test('fault 14: after a 429 another credential is used, and keeps the model for a while', async t => {
  const { gateway, used } = await startWithCredentials(
    t,
    openai,
    [{ value: 'limited', weight: 1_000_000 }, 'free'],
    credential =>
      credential === 'limited' ? plainAnswer(429, [...json, 'retry-after', '60'], limited) : undefined,
  )
  for (let count = 0; count < 3; count += 1) t.equal((await askAs(gateway, openai)).status, 200)
  t.same(used(), ['limited', 'free', 'free', 'free'])

  const other = await askAs(gateway, openai, {
    body: openai.body(false).replace('test-model', 'other-model'),
  })
  t.equal(other.status, 200)
  t.same(used().slice(4), ['limited', 'free'], 'another model has its own limit')
  await settled(gateway, 4)
  t.equal((await gateway.chargesOfWork()).length, 4)
  await checkMoney(t, gateway)
})

await t.test(
  'fault 14: the last usable credential is never paused; its 429 is relayed unchanged',
  async t => {
    const { gateway, used } = await startWithCredentials(t, openai, ['one'], () =>
      plainAnswer(429, [...json, 'retry-after', '60', 'x-ratelimit-reset-tokens', '6m0s'], limited),
    )
    for (let count = 0; count < 3; count += 1) {
      const answer = await askAs(gateway, openai)
      t.equal(answer.status, 429)
      t.equal(answer.body.toString(), limited)
      t.equal(answer.headers['retry-after'], '60')
      t.equal(answer.headers['x-ratelimit-reset-tokens'], '6m0s')
    }
    t.same(used(), ['one', 'one', 'one'])
    await settled(gateway, 3)
    t.same(await gateway.chargesOfWork(), [])
    await checkMoney(t, gateway)
  },
)

await t.test("fault 14: when every credential is limited, the provider's own 429 is relayed", async t => {
  const { gateway, used } = await startWithCredentials(t, openai, ['one', 'two'], () =>
    plainAnswer(429, [...json, 'retry-after', '60'], limited),
  )
  const answer = await askAs(gateway, openai)
  t.equal(answer.status, 429)
  t.equal(answer.body.toString(), limited)
  t.same(used().toSorted(), ['one', 'two'], 'each was tried once')
  const again = await askAs(gateway, openai)
  t.equal(again.status, 429)
  await settled(gateway, 2)
  t.same(await gateway.chargesOfWork(), [])
  await checkMoney(t, gateway)
})

await t.test(
  'with failover: { on: [] } a 429 is relayed at once, and the next request uses another credential',
  async t => {
    const { gateway, used } = await startWithCredentials(
      t,
      openai,
      [{ value: 'limited', weight: 1_000_000 }, 'free'],
      credential =>
        credential === 'limited' ? plainAnswer(429, [...json, 'retry-after', '60'], limited) : undefined,
      { failover: { on: [] } },
    )
    t.equal((await askAs(gateway, openai)).status, 429)
    t.equal((await askAs(gateway, openai)).status, 200)
    t.same(used(), ['limited', 'free'])
    await settled(gateway, 2)
    await checkMoney(t, gateway)
  },
)

const system = `You are a helpful gateway. ${'It knows a great deal. '.repeat(100)}`

function conversation(topic: string, turns: number): string {
  const messages = Array.from({ length: turns }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: `${topic} ${turn}`,
  }))
  return JSON.stringify({
    model: 'test-model',
    max_tokens: 10,
    messages: [{ role: 'system', content: topic + system }, ...messages],
  })
}

await t.test('related requests stay with one credential, and every credential has its share', async t => {
  const credentials = ['c-1', 'c-2', 'c-3', { value: 'c-4', weight: 3 }]
  const { gateway, used } = await startWithCredentials(t, openai, credentials, () => undefined)
  const byBody = (member: string): string => openai.body(false).replace('{', `{${member},`)
  const kinds: Record<string, (name: string, turn: number) => Parameters<typeof askAs>[2]> = {
    'a conversation that grows': (name, turn) => ({ body: conversation(name, 1 + 2 * turn) }),
    prompt_cache_key: (name, turn) => ({ body: byBody(`"prompt_cache_key":"${name}","user":"${turn}"`) }),
    'metadata.user_id': (name, turn) => ({
      body: byBody(`"seed":${turn},"metadata":{"a":1,"user_id": "${name}"}`),
    }),
    'a session of Claude Code': (name, turn) => ({
      body: conversation(`${turn}`, 1),
      headers: ['X-Claude-Code-Session-Id', name],
    }),
    'a session of Codex': (name, turn) => ({
      body: conversation(`${turn}`, 1),
      headers: ['session_id', name],
    }),
  }
  for (const [kind, options] of Object.entries(kinds)) {
    const chosen: string[] = []
    // So many that none is left out by chance: with forty, one run in a hundred did.
    for (let index = 0; index < 120; index += 1) {
      const before = used().length
      const turns = index < 30 ? 3 : 1
      for (let turn = 0; turn < turns; turn += 1) await askAs(gateway, openai, options(`name-${index}`, turn))
      const got = new Set(used().slice(before))
      if (got.size !== 1) t.fail(`${kind}: name-${index} went to ${[...got].join()}`)
      chosen.push([...got][0] ?? '')
    }
    t.equal(new Set(chosen).size, 4, `${kind}: every credential has some`)
    const heavy = chosen.filter(name => name === 'c-4').length
    t.ok(heavy >= 27 && heavy <= 93, `${kind}: the credential of weight 3 has ${heavy} of 120`)
  }
  await settled(gateway, 900)
  await checkMoney(t, gateway)
})
