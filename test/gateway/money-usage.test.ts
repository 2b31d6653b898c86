import t from 'tap'
import type { Test } from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { parseRoubles } from '../../lib/money/amount.ts'
import { runHere } from '../cli/run-gateway.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

/** Values that a provider may write in place of a count, as they are in the JSON. */
const noCounts = ['-5', '"12"', '1e400', '-1e400', '9007199254740993', '1e22', '12.5', '[]', '{}', 'true']

const inputField = /("(?:prompt_tokens|input_tokens|promptTokenCount)"):12/g
const outputField = /("(?:completion_tokens|output_tokens|candidatesTokenCount)"):34/g

interface Sent {
  readonly isStreaming: boolean
  readonly change: (text: string) => string
}

/** The charge of a request through a whole gateway, whose response has the current change of its usage. */
async function chargeOf(
  gateway: TestGateway,
  call: DialectCall,
  isStreaming: boolean,
): Promise<ChargeReport> {
  const answer = await send(`${gateway.url}${call.path(isStreaming)}`, {
    headers: ['content-type', 'application/json', ...call.keyHeader(gateway.key)],
    body: call.body(isStreaming),
  })
  const charge = await gateway.chargeOf(answer.requestId)
  if (charge === undefined || answer.status !== 200 || !answer.isWhole) throw new Error('it was not charged')
  return charge
}

async function startChanging(t: Test): Promise<{ gateway: TestGateway; sent: { current: Sent } }> {
  const sent = { current: { isStreaming: false, change: (text: string) => text } }
  const upstream = await startRawUpstream(t, request => {
    const { isStreaming, change } = sent.current
    const path = request.path.split('?')[0] ?? ''
    const call = dialectCalls.find(one => one.path(isStreaming).split('?')[0] === path)
    if (call === undefined) throw new Error(`no dialect serves ${path}`)
    if (!isStreaming) return plainAnswer(200, ['content-type', 'application/json'], change(call.document))
    const events = call.events.map(event => Buffer.from(change(event)))
    const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
    return { pieces: [head, ...chunked(events)] }
  })
  return { gateway: await startTestGateway(t, { config: callConfig(upstream.origin) }), sent }
}

function checkAmount(t: Test, charge: ChargeReport, name: string): void {
  const units = Object.values(charge.usage)
  const isSound =
    /^\d+\.\d{6}$/.test(charge.amount) && units.every(count => Number.isSafeInteger(count) && count >= 0)
  if (!isSound) t.fail(`${name}: ${JSON.stringify(charge)}`)
  // 1000 roubles a million: a unit is a thousand micro-roubles.
  const sum = units.reduce((total, count) => total + count, 0)
  if (parseRoubles(charge.amount) !== sum * 1000) t.fail(`${name}: ${charge.amount} for ${sum} units`)
}

/** A count written as text is read, and flagged as text. */
const flagOf = (value: string): string => (/^"\d+"$/.test(value) ? 'usage_as_text' : 'usage_invalid')

for (const call of dialectCalls) {
  await t.test(`${call.name}: a usage that is no count is flagged, and never charged`, async t => {
    const { gateway, sent } = await startChanging(t)
    let count = 0
    for (const isStreaming of [false, true]) {
      for (const value of noCounts) {
        const name = `${value}, ${isStreaming ? 'streaming' : 'plain'}`
        sent.current = { isStreaming, change: text => text.replaceAll(inputField, `$1:${value}`) }
        const input = await chargeOf(gateway, call, isStreaming)
        checkAmount(t, input, `input ${name}`)
        t.ok(input.flags.includes(flagOf(value)), `input ${name}: ${input.flags.join()}`)
        t.equal(input.usage.output, 34, 'a valid count is charged')

        sent.current = {
          isStreaming,
          change: text => text.replaceAll(inputField, `$1:${value}`).replaceAll(outputField, `$1:${value}`),
        }
        const both = await chargeOf(gateway, call, isStreaming)
        checkAmount(t, both, `both ${name}`)
        t.ok(both.flags.includes(flagOf(value)), `both ${name}: ${both.flags.join()}`)
        count += 2
      }
    }
    const alarms = await runHere([
      'charges',
      '--alarms',
      '--json',
      '--config',
      `${gateway.folder}/gateway.yaml`,
    ])
    t.equal(alarms.stdout.trim().split('\n').length, count, 'all of them are listed')
    const since = ['--since', '2020-01-01', '--config', `${gateway.folder}/gateway.yaml`]
    t.match(await runHere(['charges', 'recompute', ...since]), { code: 0 })
    await checkMoney(t, gateway)
  })
}

await t.test(
  'the largest count is charged exactly, and one beyond the largest amount is flagged as invalid',
  async t => {
    const { gateway, sent } = await startChanging(t)
    const [call] = dialectCalls
    if (call === undefined) throw new Error('there is no dialect')
    // At 1000 micro-roubles each: within the largest amount, and just beyond it.
    for (const [tokens, amount] of [
      [999_999_999_000, '1000.000000'],
      [2 ** 53 - 1, '0.000000'],
    ] as const) {
      const change = (text: string): string =>
        text.replaceAll(inputField, `$1:${tokens}`).replace(',"total_tokens":46', '')
      sent.current = { isStreaming: false, change }
      const charge = await chargeOf(gateway, call, false)
      t.equal(charge.usage.input, tokens)
      t.match(charge, { amount, flags: [amount === '0.000000' ? 'usage_invalid' : 'overrun'] })
      if (amount === '1000.000000') {
        t.equal(charge.overrun, '999998999.034000', 'the account owes more than its balance')
        const amountMicros = 999_998_999_034_000 + 1_000_000
        await gateway.accounts.credit({
          accountId: gateway.accountId,
          amountMicros,
          reason: 'the debt, and more',
        })
      }
    }
    await checkMoney(t, gateway)
  },
)
