import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runGateway } from '../cli/run-gateway.ts'
import { startCentralBank } from '../fixtures/central-bank.ts'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { startGatewayProcess } from '../fixtures/gateway-process.ts'
import { send } from '../fixtures/http-client.ts'
import { priceListFormats } from '../fixtures/price-lists.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'

const hasPython = spawnSync('python3', ['--version']).status === 0

/** Runs a Python program on this input, for exact decimal arithmetic. */
function python(program: string, input: unknown): unknown {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', program], {
    input: JSON.stringify(input),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

const chargeOf = `
import json, sys
from decimal import Decimal, ROUND_HALF_UP
asked = json.load(sys.stdin)
cost = sum(Decimal(units) * Decimal(asked["usd"][meter]) for meter, units in asked["usage"].items()) / 1000000
rubles = cost * Decimal(asked["rate"]) * Decimal("1.02") * Decimal(asked["coefficient"])
print(json.dumps(str(rubles.quantize(Decimal("0.000001"), ROUND_HALF_UP))))
`

const pricesOf = `
import json, sys
from decimal import Decimal, getcontext
getcontext().prec = 60
asked = json.load(sys.stdin)
factor = Decimal(asked["rate"]) * Decimal("1.02")
wrong, count = [], 0
for name, sold in asked["sold"].items():
    listed = asked["listed"].get(name, {}).get("usdPerMillion")
    if listed is None or "prices" in asked["listed"][name]: continue
    count += 1
    coefficient = Decimal("1.35" if name == "gpt-5" else "1.30")
    if {meter: Decimal(usd) * factor * coefficient for meter, usd in listed.items()} != {meter: Decimal(rub) for meter, rub in sold.items()}:
        wrong.append(name)
print(json.dumps({"count": count, "wrong": wrong}))
`

const options = hasPython ? {} : { skip: 'python3 is not on this machine' }

await t.test(
  'a new installation charges margins of 30 % and 35 % to the micro-rouble, within five minutes',
  options,
  async t => {
    const began = performance.now()
    const rate = '92.5034'
    const bank = await startCentralBank(t, { [moscowDay(Date.now())]: rate.replace('.', ',') })
    const usage = { prompt_tokens: 1237, completion_tokens: 4321, total_tokens: 5558 }
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(
        200,
        ['content-type', 'application/json'],
        JSON.stringify({ id: 'c-1', object: 'chat.completion', model: 'gpt-5', choices: [], usage }),
      ),
    )
    const folder = t.testdir()
    const file = join(folder, 'gateway.yaml')
    const run = async (...words: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await runGateway([...words], {
        cwd: folder,
        env: { OPENAI_API_KEY: 'sk-1', GATEWAY_CONFIG: file },
      })
      if (code !== 0) throw new Error(`${words.join(' ')}: ${stdout}${stderr}`)
      return stdout
    }
    const json = async (...words: readonly string[]) =>
      JSON.parse(await run(...words, '--json')) as Readonly<Record<string, string>>

    // The steps of the README: init, prices as in docs/prices.md, check, run.
    await run('init', file)
    writeFileSync(
      file,
      `${readFileSync(file, 'utf8')}
listen: { port: 0 }
admin: { listen: { host: 127.0.0.1, port: 0 } }
accountArea: null
providers: { openai: { dialects: { openai: { baseUrl: ${upstream.origin}/v1 } } } }
prices: { usdRub: { from: cbr, marginPercent: 2, changePercentMax: 5, url: '${bank.url}' }, coefficient: '1.30' }
models:
  gpt-5: { coefficient: '1.35' }
  gpt-4: null
`,
    )
    t.match(await run('check'), /is in order/)
    const process = await startGatewayProcess(t, file, { env: { OPENAI_API_KEY: 'sk-1' } })
    const { id } = await json('account', 'create', '--email', 'a@example.org')
    await run('account', 'credit', String(id), '--rub', '1000', '--reason', 'test')
    const { key } = await json('key', 'create', '--account', String(id))
    const ask = (model: string) =>
      send(`${process.url}/v1/chat/completions`, {
        headers: ['content-type', 'application/json', 'authorization', `Bearer ${key}`],
        body: JSON.stringify({ model, max_tokens: 5000, messages: [{ role: 'user', content: 'Hello' }] }),
      })

    t.equal((await ask('gpt-5')).status, 200)
    t.equal((await ask('gpt-4')).status, 404, 'off sale')
    t.equal((await ask('gpt-4-0613')).status, 404, 'its dated name too')
    const list = join(folder, 'list.json')
    writeFileSync(
      list,
      priceListFormats['LiteLLM']?.({ 'gpt-5': { input: 1.5, cached: 0.15, output: 11 } }) ?? '',
    )
    await run('prices', 'import', '--from', list)
    t.equal((await ask('gpt-5-2025-08-07')).status, 200)

    const charges = (await run('charges', '--account', String(id), '--json'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { amount: string; model: string })
    const asked = { usage: { input: 1237, output: 4321 }, rate, coefficient: '1.35' }
    t.same(
      charges.filter(({ amount }) => amount !== '0.000000').map(({ amount }) => amount),
      [
        python(chargeOf, { ...asked, usd: { input: '1.25', output: '10' } }),
        python(chargeOf, { ...asked, usd: { input: '1.5', output: '11' } }),
      ],
      'at the list price, then, without a restart, at the imported one',
    )
    t.match(await run('verify'), /./)
    t.match(await run('charges', 'recompute', '--since', '2020-01-01'), /, 0 of them different;/)
    t.ok(performance.now() - began < 300_000, 'within five minutes')

    const sold = (await run('models', '--all', '--json'))
      .trim()
      .split('\n')
      .map(line => {
        const { model, rubPerMillion } = JSON.parse(line) as { model: string; rubPerMillion: object }
        return [model, rubPerMillion] as const
      })
    const { models: listed } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../config/catalogue.json'), 'utf8'),
    ) as { models: Readonly<Record<string, object>> }
    const { 'gpt-5': _imported, ...others } = Object.fromEntries(sold)
    const compared = python(pricesOf, { rate, listed, sold: others }) as { count: number; wrong: string[] }
    t.ok(compared.count >= 200, `${compared.count} models`)
    t.same(compared.wrong, [])
  },
)
