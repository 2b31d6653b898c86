import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]

/** The charge for a response of these bytes. */
async function chargedFor(
  t: Test,
  body: Buffer,
  headers: readonly string[] = [],
): Promise<ChargeReport | undefined> {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json', ...headers], body),
  )
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
  const answer = await send(gateway.url + openai.path(false), {
    headers: openai.keyHeader(gateway.key),
    body: openai.body(false),
  })
  t.ok(answer.body.equals(body), 'byte for byte')
  await checkMoney(t, gateway)
  return gateway.chargeOf(answer.requestId)
}

const withUsage = (usage: object): Buffer =>
  Buffer.from(JSON.stringify({ ...(JSON.parse(openai.document) as object), usage }))

await t.test('counts written as text are read and flagged', async t => {
  const usage = { prompt_tokens: '12', completion_tokens: '34', total_tokens: '46' }
  t.match(await chargedFor(t, withUsage(usage)), {
    usage: { input: 12, output: 34 },
    usageSource: 'provider',
    flags: ['usage_as_text'],
  })
})

await t.test('output whose count is no number is counted by the gateway', async t => {
  for (const count of ['many', -5, 1.5, {}]) {
    const charge = await chargedFor(t, withUsage({ prompt_tokens: 12, completion_tokens: count }))
    t.match(charge, { usageSource: 'estimated', usage: { input: 12 } }, JSON.stringify(count))
    t.ok(charge?.flags.includes('usage_invalid'))
    t.ok(Number(charge?.usage.output) >= 5, `${charge?.usage.output} tokens of output`)
  }
})

await t.test(
  'a response that cannot be decoded is estimated by the cap of its request, never as 0',
  async t => {
    const twice = gzipSync(gzipSync(openai.document))
    const bomb = gzipSync(Buffer.concat([Buffer.from(`{"pad":"`), Buffer.alloc(64 * 1_048_576, 'x')]))
    const forms: readonly [string, Buffer][] = [
      ['gzip, gzip', twice],
      ['compress', Buffer.from(openai.document)],
      ['gzip', bomb],
    ]
    for (const [encoding, body] of forms) {
      const charge = await chargedFor(t, body, ['content-encoding', encoding])
      t.match(
        charge,
        { usageSource: 'estimated', usage: { output: 100 } },
        `${encoding}: the cap of the request`,
      )
      t.ok(charge?.flags.includes('usage_unreadable'), encoding)
    }
  },
)
