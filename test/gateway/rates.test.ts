import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { Test } from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { plugins } from '../../plugins/index.ts'
import { runHere } from '../cli/run-gateway.ts'
import { startCentralBank } from '../fixtures/central-bank.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import type { TestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const day = (offset: number): string => moscowDay(Date.now() + offset * 86_400_000)

async function start(t: Test, rates: Readonly<Record<string, string>>, isDown = false) {
  const bank = await startCentralBank(t, rates)
  if (isDown) bank.fails = { status: 503, body: 'down' }
  const test = await startTestGateway(t, {
    rub: 100_000,
    config: {
      providers: { sandbox: {} },
      prices: {
        usdRub: { from: 'cbr', marginPercent: 2, changePercentMax: 5, url: bank.url },
        coefficient: '1.30',
      },
      models: {
        'sandbox-chat': { provider: 'sandbox', usdPerMillion: { input: '1000', output: '3000' } },
        'sandbox-slow': { like: 'sandbox-chat' },
      },
    },
  })
  return { bank, test }
}

async function ask({ url, key }: TestGateway): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
}

/** The cost of a response's usage at a rate, in integer arithmetic. */
async function costAt(response: Response, rate: bigint): Promise<string> {
  const { usage } = (await response.json()) as { usage: { prompt_tokens: number; completion_tokens: number } }
  const dollars = BigInt(usage.prompt_tokens) * 1000n + BigInt(usage.completion_tokens) * 3000n
  // The rate has four decimals, margin and coefficient two each.
  const scale = 10n ** 8n
  const micros = (dollars * rate * 102n * 130n + scale / 2n) / scale
  return `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, '0')}`
}

async function charged(test: TestGateway, response: Response): Promise<string | undefined> {
  const charge = await test.chargeOf(response.headers.get('x-gateway-request-id') ?? '')
  return charge?.lines[0]?.amount
}

/** Reloads the config, which also requests the rates. */
async function reload({ gateway, configFile }: TestGateway): Promise<void> {
  await gateway.reload(loadConfig(configFile, { env: {}, plugins }).config)
}

await t.test('of two concurrent reloads the later one sets the prices', async t => {
  const { test } = await start(t, { [day(0)]: '92,5034' })
  const written = readFileSync(test.configFile, 'utf8')
  const sooner = loadConfig(test.configFile, { env: {}, plugins }).config
  writeFileSync(
    test.configFile,
    written.replace(/usdRub:[^]*?(?= {2}coefficient)/, "usdRub: '50'\n").replace('1.30', '1.02'),
  )
  const later = loadConfig(test.configFile, { env: {}, plugins }).config

  // The earlier reload first reads its rates from the store, so it may finish last.
  await Promise.all([test.gateway.reload(sooner), test.gateway.reload(later)])

  const response = await ask(test)
  const { usage } = (await response.clone().json()) as { usage: Record<string, number> }
  const { prompt_tokens: input = 0, completion_tokens: output = 0 } = usage
  t.equal(await charged(test, response), (((input * 1000 + output * 3000) * 51) / 1e6).toFixed(6))
  t.same(await test.breaches(), [])
})

await t.test(
  "a charge is units times dollars, times today's rate with the margin, times the coefficient",
  async t => {
    const { bank, test } = await start(t, { [day(-1)]: '91,1111', [day(0)]: '92,5034', [day(1)]: '94,0000' })

    const response = await ask(test)

    t.equal(await charged(test, response.clone()), await costAt(response, 925_034n))
    t.same(bank.asked.slice(0, 2), [day(0), 'latest'])
    const { stdout } = await runHere(['prices', 'rate', '--json', '--config', test.configFile])
    t.match(
      stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as object),
      [
        { day: day(1), usdRub: '94', state: 'used' },
        { day: day(0), usdRub: '92.5034', state: 'used' },
      ],
    )
    const { stdout: models } = await runHere(['models', '--json', '--config', test.configFile])
    t.match(JSON.parse(models.split('\n', 1)[0] ?? ''), { rubPerMillion: { input: '122659.5084' } })
    t.same(await test.breaches(), [])
  },
)

await t.test('while the Central Bank fails, the stored rate stays in use and an alarm is raised', async t => {
  const { bank, test } = await start(t, { [day(-3)]: '92,5034' })
  bank.fails = {
    status: 200,
    body: '<ValCurs Date="01.01.2030"><Valute><CharCode>USD</CharCode><Nominal>1</Nominal><Value>0</Value></Valute></ValCurs>',
  }

  await reload(test)
  await until(() => test.logLines.some(line => line.includes('rate_failed')))
  const response = await ask(test)

  t.match(
    test.logLines.find(line => line.includes('rate_failed')),
    /has a rate of 0 for USD/,
  )
  t.equal(await charged(test, response.clone()), await costAt(response, 925_034n))
  await bank.close()
  await reload(test)
  t.equal((await ask(test)).status, 200)
})

await t.test('a rate that jumps is held with an alarm until the operator accepts it', async t => {
  const { bank, test } = await start(t, { [day(-3)]: '92,5034' })
  bank.rates.set(day(0), '120,0000')

  await reload(test)
  await until(() => test.logLines.some(line => line.includes('rate_jump')))
  const before = await ask(test)
  const costBefore = await charged(test, before.clone())
  const accepted = await runHere(['prices', 'rate', '--accept', '--config', test.configFile])
  await reload(test)
  const after = await ask(test)

  const alarm = JSON.parse(test.logLines.find(line => line.includes('rate_jump')) ?? '{}') as object
  t.match(alarm, {
    alarm: 'rate_jump',
    day: day(0),
    usdRub: '120',
    before: '92.5034',
    changePercent: '29.72',
  })
  t.equal(costBefore, await costAt(before, 925_034n))
  t.match(accepted, { code: 0, stdout: /120\s+used, accepted/ })
  t.equal(await charged(test, after.clone()), await costAt(after, 1_200_000n))
  t.match(await runHere(['prices', 'rate', '--accept', '--config', test.configFile]), {
    code: 1,
    stderr: 'gateway: no rate is held: gateway prices rate shows those there are\n',
  })
  t.same(await test.breaches(), [])
})

await t.test('until a rate is known, requests priced by it are refused and an alarm is raised', async t => {
  const { bank, test } = await start(t, { [day(0)]: '92,5034' }, true)

  const refused = await ask(test)
  bank.fails = undefined
  await reload(test)
  const served = await ask(test)

  t.equal(refused.status, 404, await refused.text())
  t.match(test.logLines.join(''), 'rate_missing')
  t.equal(served.status, 200)
})

await t.test('an exchange keeps the price that it began with', async t => {
  const { test } = await start(t, { [day(0)]: '92,5034' })
  const text = readFileSync(test.configFile, 'utf8')
  const response = await fetch(`${test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${test.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox-slow',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      stream_options: { include_usage: true },
    }),
  })

  writeFileSync(test.configFile, text.replace('"1.30"', '"2.60"').replace('1.30', '2.60'))
  await reload(test)
  const streamed = await response.text()
  const later = await ask(test)

  const usage = /"usage":(\{.*?\})/.exec(streamed.slice(streamed.lastIndexOf('"usage":{')))?.[1]
  const first = new Response(
    JSON.stringify({ usage: JSON.parse(`${usage}`.replace(/,"\w+_details":.*/, '}')) as object }),
  )
  t.equal(await charged(test, response), await costAt(first, 925_034n))
  t.equal(await charged(test, later.clone()), await costAt(later, 1_850_068n))
})
