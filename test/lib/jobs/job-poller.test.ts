import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { loadConfig } from '../../../lib/config/load-config.ts'
import type { Job, NewJob } from '../../../lib/ledger/job.ts'
import { JobPoller } from '../../../lib/jobs/job-poller.ts'
import { PipelineBus } from '../../../lib/pipeline/events.ts'
import { steadyClock } from '../../../lib/platform/clock.ts'
import { UpstreamPools } from '../../../lib/upstream/upstream-pools.ts'
import { Upstreams } from '../../../lib/upstream/upstreams.ts'
import { accountWith, holdOf, testPrice } from '../../contracts/store-under-test.ts'
import { jobConfig } from '../../fixtures/job-gateway.ts'
import { until } from '../../fixtures/until.ts'
import { openNew } from '../stores/open-store.ts'

const hourMs = 3_600_000

interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: Buffer | string
}

interface Polled {
  readonly job: Job
  /** The current row of the job. */
  now(): Promise<Job | undefined>
  charges(): Promise<readonly { readonly amount: string; readonly flags: readonly string[] }[]>
  held(): Promise<number>
  /** Moves the clock forward. */
  pass(ms: number): void
  /** Polls the job now, once or several times. */
  look(times?: number): Promise<void>
  start(): void
  drain(): void
  stop(): Promise<void>
  /** Whether the credential is suspended. */
  isSuspended(): boolean
  readonly failures: unknown[]
  readonly requests: string[]
  answer: Answer | 'cut' | 'never'
}

/** A background response whose output costs ten roubles a token, and a poller of it. */
async function polled(t: Test, more: Partial<NewJob> = {}): Promise<Polled> {
  let now = Date.parse('2026-05-05T12:00:00Z')
  const requests: string[] = []
  const failures: unknown[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.url} ${request.headers.authorization}`)
    const { answer } = polledJob
    if (answer === 'cut') response.destroy()
    else if (answer === 'never') return
    else
      response
        .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
        .end(answer.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clock = { now: () => now }
  const store = await openNew(t, { clock })
  const account = await accountWith(store, 1000)
  await store.ledger.recordPrices([testPrice])
  const name = { provider: 'openai', kind: 'response', id: 'resp_1' } as const
  await store.ledger.openJob(await holdOf(store, account, 500), {
    ...name,
    credential: 'openai#1',
    dialect: 'openai',
    operation: 'responses',
    model: 'm',
    facts: { upstreamModel: 'm', priceVersions: { '': testPrice.hash } },
    nextPollAt: now,
    deadlineAt: now + 24 * hourMs,
    ...more,
  })
  const job = await store.ledger.findJob(name)
  if (job === undefined) throw new Error('the job is not found')
  const file = `${t.testdirName}/gateway.yaml`
  writeFileSync(file, stringify(jobConfig(`http://127.0.0.1:${port}`, 1000)))
  const { config } = loadConfig(file, { env: {} })
  const pools = new UpstreamPools(config)
  const bus = new PipelineBus(() => undefined)
  const upstreams = new Upstreams(config, { pools, bus, steadyClock })
  const poller = new JobPoller({
    config,
    ledger: store.ledger,
    upstreams,
    clock,
    pollMs: 10,
    pollMsMax: hourMs,
    onEnd: () => undefined,
    onAlarm: () => undefined,
    onFailure: (_job, error) => failures.push(error),
  })
  t.teardown(async () => {
    await poller.stop()
    upstreams.close()
    await pools.close()
    server.closeAllConnections()
    server.close()
  })
  const polledJob: Polled = {
    job,
    now: () => store.ledger.findJob(name),
    charges: () => store.charges(account),
    held: async () => (await store.ledger.balance(account)).heldMicros,
    pass: ms => {
      now += ms
    },
    async look(times = 1) {
      for (let count = 0; count < times; count += 1)
        await poller.look((await store.ledger.findJob(name)) ?? job)
    },
    start: () => poller.start(),
    drain: () => poller.drain(),
    stop: () => poller.stop(),
    isSuspended: () => {
      const provider = config.providers.get('openai')
      if (provider === undefined) throw new Error('there is no such provider')
      return upstreams.of(provider).named('openai#1')?.isSuspended(upstreams.now()) ?? false
    },
    failures,
    requests,
    answer: { status: 200, body: '{"id":"resp_1","status":"in_progress"}' },
  }
  return polledJob
}

const done =
  '{"id":"resp_1","status":"completed","usage":{"input_tokens":7,"output_tokens":1,"total_tokens":8}}'

await t.test('a job is polled with its own credential, and charged when it has ended', async t => {
  const polling = await polled(t)
  await polling.look()
  t.equal(polling.requests[0], '/v1/responses/resp_1 Bearer provider-credential')
  t.match(await polling.now(), { state: 'open', polls: 1 })
  polling.answer = { status: 200, body: done }
  await polling.look()
  t.match(await polling.charges(), [{ amount: '17.000000', flags: [] }])
  t.equal(await polling.held(), 0)
})

await t.test('a compressed response is read, though the poller does not request compression', async t => {
  const polling = await polled(t)
  polling.answer = { status: 200, headers: { 'content-encoding': 'gzip' }, body: gzipSync(done) }
  await polling.look()
  t.match(await polling.charges(), [{ amount: '17.000000' }])
})

await t.test('a job is polled again after a failure, a refusal or an unreadable response', async t => {
  const polling = await polled(t)
  const answers: (Answer | 'cut')[] = [
    'cut',
    { status: 500, body: '{}' },
    { status: 429, body: '{}' },
    { status: 401, body: '{}' },
    { status: 200, body: '<html>' },
    {
      status: 200,
      body: '{"id":"resp_2","status":"completed","usage":{"input_tokens":7,"output_tokens":1}}',
    },
    { status: 302, headers: { location: 'http://127.0.0.2:1/elsewhere' } },
  ]
  for (const answer of answers) {
    polling.answer = answer
    await polling.look()
    t.equal((await polling.now())?.state, 'open', JSON.stringify(answer))
  }
  t.equal((await polling.now())?.polls, answers.length)
  t.equal(polling.failures.length, 2, 'the cut connection, and the redirect to another host')
  polling.answer = { status: 200, body: done }
  await polling.look()
  t.match(await polling.charges(), [{ amount: '17.000000' }])
})

await t.test('a redirect on the same host is followed', async t => {
  const polling = await polled(t)
  polling.answer = { status: 302, headers: { location: '/v1/elsewhere?x=1' } }
  await polling.look()
  t.strictSame(
    polling.requests.map(line => line.split(' ')[0]),
    ['/v1/responses/resp_1', '/v1/elsewhere?x=1', '/v1/elsewhere?x=1'],
    'redirects end after the second',
  )
})

await t.test('a job unknown to its provider is charged nothing, and flagged', async t => {
  const polling = await polled(t)
  polling.answer = { status: 404, body: '{}' }
  await polling.look(8)
  t.equal(
    (await polling.now())?.state,
    'open',
    'a new job may not be known to every server of the provider yet',
  )
  polling.pass(hourMs + 1)
  await polling.look()
  t.match(await polling.charges(), [{ amount: '0.000000', flags: ['ambiguous'] }])
  t.equal(await polling.held(), 0)
})

await t.test('a job that has not ended by its deadline is charged nothing, and flagged', async t => {
  const polling = await polled(t)
  polling.pass(24 * hourMs - 1)
  await polling.look(12)
  t.equal((await polling.now())?.state, 'open')
  polling.answer = 'cut'
  polling.pass(1)
  await polling.look()
  t.match(await polling.charges(), [{ amount: '0.000000', flags: ['ambiguous'] }])
  t.equal(await polling.held(), 0)
})

await t.test('a job survives a clock that is set forward, and is charged when it ends', async t => {
  const polling = await polled(t)
  polling.pass(25 * hourMs)
  await polling.look()
  polling.answer = { status: 404, body: '{}' }
  await polling.look()
  const { state, nextPollAt = 0, deadlineAt = 0 } = (await polling.now()) ?? {}
  t.equal(state, 'open')
  t.ok(nextPollAt > deadlineAt, 'polls still have pauses')

  polling.pass(-25 * hourMs)
  polling.answer = { status: 200, body: done }
  await polling.look()
  t.match(await polling.charges(), [{ amount: '17.000000', flags: [] }])
  t.equal(await polling.held(), 0)
})

await t.test('a job whose credential is no longer configured waits for its deadline', async t => {
  const polling = await polled(t, { credential: 'openai#7' })
  await polling.look()
  t.strictSame(polling.requests, [])
  t.match(await polling.now(), { state: 'open', polls: 1 })
})

await t.test('the poller polls due jobs by itself until it stops', async t => {
  const polling = await polled(t)
  polling.start()
  await until(() => {
    polling.pass(10)
    return polling.requests.length >= 3
  })
  polling.answer = { status: 200, body: done }
  await until(async () => {
    polling.pass(10)
    return (await polling.charges()).length === 1
  })
})

await t.test('a refused credential is suspended for all requests', async t => {
  const polling = await polled(t)
  polling.answer = { status: 503, body: '{"error":{"message":"no"}}' }
  await polling.look()
  t.notOk(polling.isSuspended())
  polling.answer = { status: 401, body: '{"error":{"message":"bad","code":"invalid_api_key"}}' }
  await polling.look()
  t.ok(polling.isSuspended())
  t.match(await polling.now(), { state: 'open', polls: 2 })
})

await t.test('a draining poller polls no job by itself, but still on request', async t => {
  const polling = await polled(t)
  polling.start()
  await until(() => polling.requests.length > 0)
  polling.drain()
  polling.answer = { status: 200, body: done }
  const { length } = polling.requests
  await polling.look()
  t.ok(polling.requests.length > length)
  t.equal((await polling.charges()).length, 1)
})

await t.test('a poll that the stop of the gateway interrupts is due at once after the restart', async t => {
  const polling = await polled(t)
  polling.answer = 'never'
  const looking = polling.look()
  await until(() => polling.requests.length > 0)
  await polling.stop()
  await looking
  t.match(await polling.now(), { state: 'open', polls: 1, nextPollAt: Date.parse('2026-05-05T12:00:00Z') })
})
