import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { loadConfig } from '../../lib/config/load-config.ts'
import { runHere, writeConfig } from '../cli/run-gateway.ts'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { checkMoney } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls
if (openai === undefined) throw new Error('there is no dialect')

/** The fixture's responses have 12 tokens in and 34 out. */
const costOf = (input: number, output: number): string => ((12 * input + 34 * output) / 1e6).toFixed(6)

function ask(gateway: TestGateway) {
  return send(`${gateway.url}/v1/chat/completions`, {
    headers: ['content-type', 'application/json', 'authorization', `Bearer ${gateway.key}`],
    body: openai?.body(false) ?? '',
  })
}

await t.test('a reload in the middle of a stream does not change its price', async t => {
  const letGo = Promise.withResolvers<Buffer>()
  const upstream = await startRawUpstream(t, async () => {
    const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
    const framed = chunked(openai.events.map(event => Buffer.from(event)))
    return { pieces: [head, ...framed.slice(0, 2)], before: async () => void (await letGo.promise) }
  })
  const sections = callConfig(upstream.origin)
  const gateway = await startTestGateway(t, { config: sections })
  const client = await connectRaw(t, gateway.url)
  const body = openai.body(true)
  client.socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await client.waitFor('Once')

  const models = { '*': { provider: ['openai'], rubPerMillion: { input: '5000', output: '7000' } } }
  const file = join(gateway.folder, 'raised.yaml')
  writeFileSync(
    file,
    stringify({
      listen: { port: 0 },
      store: 'sqlite:data/gateway.db',
      plugins: ['auth', 'model-router', 'size-limit', 'upstream-proxy', 'usage-tap'],
      ...sections,
      models,
    }),
  )
  await gateway.gateway.reload(loadConfig(file, { env: {} }).config)
  const [socket] = upstream.openSockets
  for (const piece of chunked(openai.events.map(event => Buffer.from(event))).slice(2)) socket?.write(piece)
  letGo.resolve(Buffer.alloc(0))
  await until(() => parseAnswers(client.received())[0]?.isWhole === true)

  const id = parseAnswers(client.received())[0]?.headers.get('x-gateway-request-id') ?? ''
  t.equal((await gateway.chargeOf(id))?.amount, costOf(1000, 1000), 'the price at its beginning')
  upstream.answer = () => plainAnswer(200, ['content-type', 'application/json'], openai.document)
  const after = await ask(gateway)
  t.equal((await gateway.chargeOf(after.requestId))?.amount, costOf(5000, 7000), 'the new one afterwards')
  const since = ['--since', '2020-01-01', '--config', file]
  t.match(await runHere(['charges', 'recompute', ...since]), {
    code: 0,
    stdout: /^2 charges .*, 0 of them different;/,
  })
  await checkMoney(t, gateway)
})

await t.test('a price with a date applies to requests that begin on that day or later, in UTC', async t => {
  let now = Date.parse('2026-06-30T23:59:59.999Z')
  const letGo = Promise.withResolvers<void>()
  const upstream = await startRawUpstream(t, async () => {
    await letGo.promise
    return plainAnswer(200, ['content-type', 'application/json'], openai.document)
  })
  const price = (input: string) => ({ rubPerMillion: { input, output: '1000' } })
  const prices = [
    { from: '2026-01-01', ...price('500') },
    { from: '2026-07-01', ...price('2000') },
    { from: '2999-01-01', ...price('9000') },
  ]
  const models = { 'test-model': { provider: 'openai', ...price('100'), prices } }
  const config = { ...callConfig(upstream.origin), models }
  const gateway = await startTestGateway(t, { config, clock: { now: () => now } })
  const early = ask(gateway)
  await until(() => upstream.requests.length === 1)
  now += 1
  const late = ask(gateway)
  await until(() => upstream.requests.length === 2)
  letGo.resolve()
  t.equal(
    (await gateway.chargeOf((await early).requestId))?.amount,
    costOf(500, 1000),
    'the price at its beginning',
  )
  t.equal((await gateway.chargeOf((await late).requestId))?.amount, costOf(2000, 1000))
  await checkMoney(t, gateway)
})

await t.test(
  'a clock that jumps forwards or back loses no charge, expires no hold and repeats no id',
  async t => {
    const hourMs = 3_600_000
    const began = Date.parse('2026-06-30T12:00:00Z')
    let now = began
    const letGo = Promise.withResolvers<void>()
    const upstream = await startRawUpstream(t, async () => {
      await letGo.promise
      return plainAnswer(200, ['content-type', 'application/json'], openai.document)
    })
    const config = callConfig(upstream.origin)
    const gateway = await startTestGateway(t, { config, clock: { now: () => now } })
    const pending: ReturnType<typeof ask>[] = []
    // An hour either way, a change of two hours, a year, and the epoch.
    for (const jumpMs of [0, hourMs, -hourMs, 2 * hourMs, 24 * 366 * hourMs, -began]) {
      now = began + jumpMs
      pending.push(ask(gateway))
      await until(() => upstream.requests.length === pending.length)
    }
    now = began - hourMs
    letGo.resolve()
    const answers = await Promise.all(pending)
    t.ok(answers.every(answer => answer.status === 200 && answer.isWhole))
    t.equal(new Set(answers.map(answer => answer.requestId)).size, pending.length)
    const charges = await gateway.charges()
    t.equal(charges.length, pending.length)
    t.ok(charges.every(charge => charge.amount === costOf(1000, 1000) && charge.outcome === 'completed'))
    await checkMoney(t, gateway)
  },
)

await t.test(
  'a meter without a price is charged at the price of its main meter, flagged and listed',
  async t => {
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(
        200,
        ['content-type', 'application/json'],
        openai.document.replace(
          '"total_tokens":46',
          '"total_tokens":46,"prompt_tokens_details":{"cached_tokens":7,"cache_write_tokens":3}',
        ),
      ),
    )
    const models = {
      'test-model': { provider: 'openai', rubPerMillion: { input: '1000', output: '1000' } },
    }
    const gateway = await startTestGateway(t, { config: { ...callConfig(upstream.origin), models } })
    const answer = await ask(gateway)
    t.equal(answer.status, 200)
    const charge = await gateway.chargeOf(answer.requestId)
    t.match(charge, {
      usage: { input: 12, output: 34 },
      amount: '0.046000',
      flags: ['meter_unpriced'],
    })
    const listed = await runHere(['charges', '--alarms', '--config', `${gateway.folder}/gateway.yaml`])
    t.match(listed.stdout, /meter_unpriced/)
    t.match(gateway.logLines.join(''), /meter_unpriced/, 'it is in the log')
    await checkMoney(t, gateway)
  },
)

await t.test('check names prices that are negative, no decimals or overlapping', async t => {
  const wrong = async (more: string): Promise<string> => {
    const { config } = writeConfig(t.testdir(), `include: []\n`)
    writeFileSync(
      config,
      `listen: { port: 0 }\nstore: sqlite:g.db\nproviders: { sandbox: {} }\nmodels:\n  m: { provider: sandbox, ${more} }\n`,
    )
    const { code, stdout, stderr } = await runHere(['check', '--config', config])
    t.equal(code, 1, more)
    return stdout + stderr
  }
  t.match(await wrong('rubPerMillion: { input: "-1" }'), /models\.m\.rubPerMillion\.input: must be a decimal/)
  t.match(
    await wrong('rubPerMillion: { input: "0,5" }'),
    /models\.m\.rubPerMillion\.input: must be a decimal/,
  )
  t.match(
    await wrong('rubPerMillion: { input: "1e3" }'),
    /models\.m\.rubPerMillion\.input: must be a decimal/,
  )
  t.match(await wrong('rubPerMillion: { input: .nan }'), /models\.m\.rubPerMillion\.input/)
  t.match(await wrong('rubPerUnit: { images/large: "-0.5" }'), /rubPerUnit.*images\/large/)
  t.match(await wrong('rubPerMillion: { input: "1" }, factors: { batch: "-0.5" }'), /factors\.batch/)
  t.match(
    await wrong(
      'prices: [{ from: 2026-01-01, rubPerMillion: { input: "1" } }, { from: 2026-01-01, rubPerMillion: { input: "2" } }]',
    ),
    /models\.m\.prices\[1\]: there are two prices from 2026-01-01/,
  )
  t.match(
    await wrong('rubPerMillion: { input: "1" }, prices: [{ rubPerMillion: { input: "2" } }]'),
    /two prices without a date/,
  )
})
