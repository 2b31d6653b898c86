import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { askJson } from '../fixtures/context-gateway.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { call } from '../fixtures/job-kinds.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

const upstream = await startRawUpstream(t, () => {
  const usage = { input_tokens: 900, output_tokens: 20, total_tokens: 920 }
  const body = { id: 'resp_1', object: 'response', model: 'gpt-5', status: 'completed', output: [], usage }
  return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(body))
})

/** A gateway with these prompts, each with the accounts that may use it. */
async function start(prompts: Readonly<Record<string, object>>): Promise<TestGateway> {
  const config = callConfig(upstream.origin, { credentials: ['sk-one', 'sk-two'] })
  const providers = config['providers'] as Record<string, object>
  const openai = { ...providers['openai'], prompts }
  const { '*': everyModel } = config['models'] as { readonly '*': object }
  // The tools that a prompt may have need prices.
  const models = { '*': { ...everyModel, rubPerUnit: { containers: '0', searches: '0' } } }
  return startTestGateway(t, {
    rub: 1_000_000,
    config: { ...config, models, providers: { ...providers, openai } },
  })
}

const first = await start({ pmpt_any: { accounts: ['*'] }, pmpt_plain: { accounts: ['*'], tools: false } })
const ask = (gateway: { readonly url: string; readonly key: string }, id: string, more: object = {}) =>
  call(gateway, 'POST', '/v1/responses', {
    model: 'gpt-5',
    max_output_tokens: 100,
    prompt: { id, version: '2', variables: { city: 'Kazan' } },
    ...more,
  })

await t.test('a response may use a prompt of its account, and is charged by its usage', async t => {
  const answer = await ask(first, 'pmpt_any')

  t.equal(answer.status, 200, answer.body.toString())
  t.match(upstream.requests.at(-1)?.body.toString(), /"prompt":\{"id":"pmpt_any","version":"2"/, 'unchanged')
  t.ok(upstream.requests.at(-1)?.headers.includes('Bearer sk-one'), 'with the credential of the prompt')
  t.match(await first.chargeOf(answer.requestId), { usage: { input: 900, output: 20 }, flags: [] })
  t.same(await first.breaches(), [])
})

await t.test('a prompt is usable by its accounts, and refused to others like an unknown one', async t => {
  const gateway = await start({ pmpt_one: { accounts: ['ACCOUNT', 'another'] } })
  const { id } = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId: id, amountMicros: 1_000_000_000, reason: 'test' })
  const { key } = await gateway.accounts.createKey({ accountId: id })
  const written = readFileSync(gateway.configFile, 'utf8').replace('ACCOUNT', gateway.accountId)
  writeFileSync(gateway.configFile, written)
  const sent = upstream.requests.length
  t.equal((await ask(gateway, 'pmpt_one')).status, 404, 'not before it is assigned')
  await gateway.gateway.reload(loadConfig(gateway.configFile, { env: {} }).config)

  t.equal((await ask(gateway, 'pmpt_one')).status, 200)
  t.equal(upstream.requests.length, sent + 1)
  for (const prompt of ['pmpt_one', 'pmpt_nobodys', 'constructor']) {
    const answer = await ask({ url: gateway.url, key }, prompt)
    t.equal(answer.status, 404, prompt)
    t.match(answer.body.toString(), `No prompt with the id \\"${prompt}\\" was found`)
  }
  t.equal(upstream.requests.length, sent + 1)
})

await t.test('a prompt is held for with a window of input, and with tools unless it has none', async t => {
  const worst = async (prompt: string, more: object = {}): Promise<number> => {
    const body = { model: 'gpt-5', max_output_tokens: 10, prompt: { id: prompt }, ...more }
    const answer = await askJson(first, '/gateway/v1/quote?for=/v1/responses', body)
    return Number((JSON.parse(answer.body.toString()) as { worst: string }).worst)
  }
  const plain = await worst('pmpt_plain')
  const withTools = await worst('pmpt_any')
  t.ok(plain >= 400, String(plain))
  t.ok(withTools > 5 * plain, `${withTools} and ${plain}`)
  t.equal(await worst('pmpt_any', { max_tool_calls: 0 }), plain, 'the request may say that it uses none')
})

await t.test("a prompt's variables cannot refer to a file that is not the account's", async t => {
  const sent = upstream.requests.length
  const file = { type: 'input_file', file_id: 'file-of-another' }
  for (const variables of [
    { paper: file },
    { city: 'Kazan', paper: file },
    { paper: { type: 'input_image', file_id: 'file-of-another' } },
    { variables: file },
    { metadata: file },
  ]) {
    const answer = await ask(first, 'pmpt_plain', {
      prompt: { id: 'pmpt_plain', variables: { ...variables, x: 'x' } },
    })
    t.equal(answer.status, 404, JSON.stringify(variables))
    t.match(answer.body.toString(), 'file-of-another')
  }
  t.equal(upstream.requests.length, sent)
})

await t.test('images among the variables of a prompt are measured', async t => {
  const image = {
    type: 'input_image',
    image_url: `data:image/png;base64,${Buffer.from('no image').toString('base64')}`,
  }
  const answer = await ask(first, 'pmpt_plain', { prompt: { id: 'pmpt_plain', variables: { image } } })

  t.equal(answer.status, 400)
  t.match(answer.body.toString(), 'prompt.variables.image.image_url')
})

await t.test('other operations cannot name a prompt', async t => {
  const sent = upstream.requests.length
  const body = { model: 'gpt-5', input: 'Hi', prompt: { id: 'pmpt_any' } }
  for (const path of ['/v1/responses/compact', '/v1/responses/input_tokens']) {
    t.equal((await call(first, 'POST', path, body)).status, 404, path)
  }
  t.equal(upstream.requests.length, sent)
})
