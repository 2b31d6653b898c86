import { dirname, join } from 'node:path'
import t from 'tap'
import { ControlClient } from '../../lib/control/control-client.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { serveProcess, type ServedProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const workers = 3
const json = ['content-type', 'application/json']

/** Responses wait until the gate is opened. */
const gate = { opened: Promise.resolve() }
const upstream = await startRawUpstream(t, async () => {
  await gate.opened
  return plainAnswer(200, json, openai.document)
})
const gateway = await serveProcess(t, {
  config: callConfig(
    upstream.origin,
    { limits: { connectionsMax: 600, waitingMax: 600 } },
    {
      workers,
      // Without risk the worst cost of each decides, so the number that fits is known.
      hold: { riskRub: '0', riskOfPaid: '0' },
      plugins: [
        'auth',
        'model-router',
        'size-limit',
        { 'rate-limit': { concurrentRequests: 20 } },
        'upstream-proxy',
        'usage-tap',
      ],
    },
  ),
})
const control = new ControlClient(join(dirname(gateway.configFile), 'data', 'gateway.db.sock'))

function ask(of: Pick<ServedProcess, 'url'>, key: string): Promise<ClientAnswer> {
  return send(`${of.url}/v1/chat/completions`, { headers: openai.keyHeader(key), body: openai.body(false) })
}

async function client(
  name: string,
  amountMicros: number,
): Promise<{ accountId: string; key: string; id: string }> {
  const { id: accountId } = await control.createAccount({ email: `${name}@example.org` })
  if (amountMicros > 0) await control.credit({ accountId, amountMicros, reason: 'test' })
  return { accountId, ...(await control.createKey({ accountId })) }
}

function servingWorkers(): Set<unknown> {
  return new Set(
    gateway
      .lines()
      .filter(line => line['msg'] === 'exchange')
      .map(line => line['worker']),
  )
}

await t.test('requests are served by all workers, and counted and charged as by one', async t => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask(gateway, gateway.key)))
  t.ok(answers.every(answer => answer.status === 200 && answer.isWhole))
  t.ok(answers.every(answer => answer.body.equals(Buffer.from(openai.document))))
  await until(() => gateway.lines().filter(line => line['msg'] === 'exchange').length === 12)
  t.strictSame(servingWorkers(), new Set([1, 2, 3]))
  t.equal((await gateway.charges()).length, 12)
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  t.match(metrics, /^gateway_exchanges_total\{.*outcome="completed",status="200"\} 12$/m)
  t.match(metrics, /^gateway_exchange_duration_seconds_count\{.*\} 12$/m)
  t.match(metrics, /^gateway_charges_total\{source="provider"\} 12$/m)
  t.match(metrics, /^gateway_open_exchanges 0$/m)
  t.match(metrics, /^process_cpu_seconds_total /m)
})

await t.test('a revoked key is refused by all workers when the command returns', async t => {
  const { key, id } = await client('revoked', 1_000_000_000)
  const before = await Promise.all(Array.from({ length: 9 }, () => ask(gateway, key)))
  t.ok(
    before.every(answer => answer.status === 200),
    'a new key works on all workers at once',
  )
  await control.revokeKey(id)
  const after = await Promise.all(Array.from({ length: 9 }, () => ask(gateway, key)))
  t.ok(after.every(answer => answer.status === 401))
  t.match(after[0]?.body.toString(), /revoked/)
})

await t.test('a blocked account is refused by all workers when the command returns', async t => {
  const { key, accountId } = await client('blocked', 1_000_000_000)
  const block = { accountId, isBlocked: true, reason: 'spam', operator: 'olga' }
  await control.setBlocked(block)
  const blocked = await Promise.all(Array.from({ length: 9 }, () => ask(gateway, key)))
  await control.setBlocked({ ...block, isBlocked: false })
  const after = await Promise.all(Array.from({ length: 9 }, () => ask(gateway, key)))
  t.ok(blocked.every(answer => answer.status === 403))
  t.match(blocked[0]?.body.toString(), /is blocked/)
  t.ok(after.every(answer => answer.status === 200))
})

await t.test(
  'of 500 concurrent requests over all workers on a balance for 7, exactly 7 are admitted',
  async t => {
    const { accountId, key } = await client('seven', 0)
    const refused = await ask(gateway, key)
    t.equal(refused.status, 402)
    const [, worst = ''] = /"worst":"(\d+\.\d{6})"/.exec(refused.body.toString()) ?? []
    const each = Math.round(Number(worst) * 1_000_000)
    await control.credit({ accountId, amountMicros: each * 8 - 1, reason: 'test' })
    const { promise, resolve: open } = Promise.withResolvers<void>()
    gate.opened = promise
    const sent = upstream.requests.length
    const statuses: number[] = []
    // Several keys, so that no limit of a key applies before the balance.
    const keys = await Promise.all(Array.from({ length: 25 }, () => control.createKey({ accountId })))
    const pending = Array.from({ length: 500 }, async (_, index) => {
      statuses.push((await ask(gateway, keys[index % 25]?.key ?? '')).status)
    })
    await until(() => statuses.length === 493)
    t.strictSame(new Set(statuses), new Set([402]))
    await until(() => upstream.requests.length === sent + 7)
    open()
    await Promise.all(pending)
    t.equal(statuses.filter(status => status === 200).length, 7)
    t.strictSame(await gateway.breaches(), [])
  },
)

await t.test('the limits of a key apply across all workers', async t => {
  const { key } = await client('limited', 1_000_000_000)
  const { promise, resolve: open } = Promise.withResolvers<void>()
  gate.opened = promise
  const sent = upstream.requests.length
  const running = Array.from({ length: 19 }, () => ask(gateway, key))
  await until(() => upstream.requests.length === sent + 19)
  const own = await fetch(`${gateway.url}/gateway/v1/key`, { headers: { authorization: `Bearer ${key}` } })
  t.match(await own.json(), { rateLimits: { concurrentRequests: { limit: 20, used: 19 } } })
  running.push(ask(gateway, key))
  await until(() => upstream.requests.length === sent + 20)
  const more = await Promise.all(Array.from({ length: 6 }, () => ask(gateway, key)))
  t.ok(
    more.every(answer => answer.status === 429),
    'the limit of concurrent requests',
  )
  open()
  t.ok((await Promise.all(running)).every(answer => answer.status === 200))
  t.equal((await ask(gateway, key)).status, 200, 'finished requests release their slots')
})

await t.test('SIGTERM lets all workers end, and then the process', async t => {
  const { promise, resolve: open } = Promise.withResolvers<void>()
  gate.opened = promise
  const sent = upstream.requests.length
  const running = Array.from({ length: 6 }, () => ask(gateway, gateway.key))
  await until(() => upstream.requests.length === sent + 6)
  gateway.child.kill('SIGTERM')
  await until(async () => (await fetch(`${gateway.adminUrl}/readyz`)).status === 503)
  open()
  t.ok((await Promise.all(running)).every(answer => answer.status === 200 && answer.isWhole))
  t.equal(await gateway.exited, 0)
  t.equal(await gateway.heldMicros(), 0)
  t.strictSame(await gateway.breaches(), [])
  t.match(gateway.lines().at(-1), { msg: 'stopped', worker: undefined })
  const stopped = gateway.lines().filter(line => line['msg'] === 'stopped')
  t.strictSame(new Set(stopped.map(line => line['worker'])), new Set([1, 2, 3, undefined]))
})
