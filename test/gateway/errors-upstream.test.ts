import { createServer, type AddressInfo } from 'node:net'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { errorTable, type ErrorCode } from '../../lib/pipeline/errors.ts'
import { openForWriting } from '../../lib/stores/sqlite/sqlite-database.ts'
import {
  answerWell,
  checkServes,
  countingConfig,
  startCountingGateway,
  type CountingGateway,
} from '../fixtures/counting-gateway.ts'
import { headLines, startRawUpstream, type RawAnswer, type SeenRequest } from '../fixtures/raw-upstream.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { ask, checkError, dialectNames } from '../fixtures/sdk-errors.ts'
import { startTestGateway, until, type ConfigSections } from '../fixtures/test-gateway.ts'

t.jobs = 4

type Answer = (request: SeenRequest) => RawAnswer | Promise<RawAnswer>

/** Sends nothing, and keeps the connection open. */
const silence = (): Promise<RawAnswer> => new Promise(() => undefined)

/** A gateway whose upstream responds with `answer` until `heal` is called. */
async function startBroken(
  t: Test,
  answer: Answer,
  provider: ConfigSections = {},
): Promise<CountingGateway & { heal(): void }> {
  const upstream = await startRawUpstream(t, answer)
  const gateway = await startTestGateway(t, { config: countingConfig(upstream.origin, provider) })
  const exchangeCount = (): number =>
    gateway.logLines.filter(line => line.includes('"msg":"exchange"')).length
  return { ...gateway, upstream, exchangeCount, heal: () => (upstream.answer = answerWell) }
}

/** Checks that the upstream received the request once, so that no SDK has retried it, and that nothing is charged. */
async function checkOnce(t: Test, gateway: CountingGateway): Promise<void> {
  // The SDKs wait half a second before their first retry.
  await new Promise(resolve => setTimeout(resolve, 700))
  t.equal(gateway.upstream.requests.length, 1, 'the provider received one request')
  t.equal(gateway.exchangeCount(), 1, 'and so did the gateway')
  // The provider may bill the request, so the operator sees a charge of zero.
  t.match(await gateway.charges(), [{ amount: '0.000000', usage: {}, flags: ['ambiguous'] }])
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.equal((await gateway.balance()).balanceMicros, 1_000_000_000)
  t.same(await gateway.breaches(), [])
}

const failures: readonly {
  readonly when: string
  readonly answer: Answer
  readonly code: ErrorCode
  readonly message: RegExp
  readonly provider?: ConfigSections
}[] = [
  {
    when: 'a provider that resets the connection after it has the request',
    answer: () => ({ pieces: [], then: 'reset' }),
    code: 'upstream_failed',
    message: /connection to the provider failed after the request was sent.*not repeated/,
  },
  {
    when: 'a provider that closes the connection after it has the request',
    answer: () => ({ pieces: [], then: 'end' }),
    code: 'upstream_failed',
    message: /connection to the provider failed after the request was sent/,
  },
  {
    when: 'a provider that closes the connection inside its head',
    answer: () => ({ pieces: [Buffer.from('HTTP/1.1 200 OK\r\ncontent-ty')], then: 'end' }),
    code: 'upstream_failed',
    message: /connection to the provider failed after the request was sent/,
  },
  {
    when: 'a provider that resets the connection after its head',
    answer: () => ({
      pieces: [headLines(200, ['content-type', 'application/json', 'content-length', '500'])],
      then: 'reset',
    }),
    code: 'upstream_failed',
    message: /connection to the provider failed after the request was sent/,
  },
  {
    when: 'a provider that stops sending after its head',
    answer: () => ({
      pieces: [headLines(200, ['content-type', 'application/json', 'content-length', '500'])],
    }),
    code: 'upstream_timeout',
    message: /The provider stopped sending in the middle of its response/,
    provider: { timeouts: { silenceMs: 200 } },
  },
  {
    when: 'a provider that does not speak HTTP',
    answer: () => ({ pieces: [Buffer.from('220 mail.example.org ESMTP\r\n')], then: 'end' }),
    code: 'upstream_failed',
    message: /the provider/,
  },
  {
    when: 'a provider that does not respond',
    answer: silence,
    code: 'upstream_timeout',
    message: /The provider did not begin its response in time/,
    provider: { timeouts: { firstByteMs: 200 } },
  },
]

for (const { when, answer, code, message, provider } of failures) {
  t.test(`${when} is ${errorTable[code].status} ${code}, and no SDK retries it`, async t => {
    await Promise.all(
      dialectNames.map(async dialect => {
        const gateway = await startBroken(t, answer, provider)
        checkError(t, dialect, await ask(dialect, gateway), code, message)
        await checkOnce(t, gateway)
        gateway.heal()
        await checkServes(t, gateway, dialect)
      }),
    )
  })
}

t.test('an unreachable provider is 502 upstream_unreachable, and SDKs retry', async t => {
  const port = await unusedPort()
  await Promise.all(
    dialectNames.map(async dialect => {
      const gateway = await startTestGateway(t, { config: countingConfig(`http://127.0.0.1:${port}`) })
      const error = await ask(dialect, gateway)
      checkError(
        t,
        dialect,
        error,
        'upstream_unreachable',
        /The provider could not be reached; nothing was sent/,
      )
      const count = gateway.logLines.filter(line => line.includes('"msg":"exchange"')).length
      // Google's SDK does not retry unless it is configured to.
      t.equal(count, dialect === 'google' ? 1 : 3, dialect)
      t.same(await gateway.charges(), [])
      await until(async () => (await gateway.balance()).heldMicros === 0)
      t.same(await gateway.breaches(), [])
    }),
  )
})

t.test('a response that is cut in the middle is an error in every SDK', async t => {
  const begun = Buffer.from('{"id":"chatcmpl-1","choices":[')
  const json = ['content-type', 'application/json']
  for (const head of [
    headLines(200, [...json, 'content-length', '500']),
    Buffer.concat([headLines(200, [...json, 'transfer-encoding', 'chunked']), Buffer.from('1e\r\n')]),
  ]) {
    await Promise.all(
      dialectNames.map(async dialect => {
        const gateway = await startBroken(t, () => ({ pieces: [head, begun], then: 'reset' }))
        const error = await ask(dialect, gateway)
        t.ok(error instanceof Error, `${dialect}: ${String(error)}`)
        t.equal(gateway.upstream.requests.length, 1)
        await until(async () => gateway.exchangeCount() === 1 && (await gateway.balance()).heldMicros === 0)
        t.same(await gateway.breaches(), [])
        gateway.heal()
        await checkServes(t, gateway, dialect)
      }),
    )
  }
})

t.test(
  'while the store cannot be written, requests are refused with 503 overloaded, and SDKs retry',
  async t => {
    const gateway = await startCountingGateway(t)
    const blocker = openForWriting(gateway.storeFile)
    t.teardown(() => blocker.close())
    blocker.exec('BEGIN IMMEDIATE')
    const impatient = openaiClient(gateway).withOptions({ maxRetries: 0 })
    const request = { model: 'some-model', messages: [{ role: 'user' as const, content: 'Hello' }] }

    const underWay = openaiClient(gateway).chat.completions.create(request)
    await until(() => gateway.logLines.some(line => line.includes('SQLITE_BUSY')))
    const sent = gateway.upstream.requests.length
    const refused = await impatient.chat.completions.create(request).catch((error: unknown) => error)
    checkError(t, 'openai', refused, 'overloaded', /ledger cannot take new requests now/)
    t.ok(refused instanceof OpenAI.APIError && Number(refused.headers?.get('retry-after')) >= 1)
    t.equal(gateway.upstream.requests.length, sent, 'nothing was sent')

    setTimeout(() => blocker.exec('ROLLBACK'), 500)
    const patient = openaiClient(gateway).withOptions({ maxRetries: 5 })
    const answer = await patient.chat.completions.create(request)
    t.equal(answer.choices[0]?.message.content, 'Hi')
    t.equal((await underWay).choices[0]?.message.content, 'Hi', 'a request that was running has waited')
    await until(async () => (await gateway.balance()).heldMicros === 0)
    t.equal((await gateway.charges()).length, 2)
    t.same(await gateway.breaches(), [])
  },
)

async function unusedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
