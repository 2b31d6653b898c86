import t, { type Test } from 'tap'
import type { DialectName } from '../../lib/dialects/dialect.ts'
import { checkServes, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { ask, checkError, dialectNames, type FailingRequest } from '../fixtures/sdk-errors.ts'
import { until } from '../fixtures/test-gateway.ts'

interface Shortfall {
  readonly likely: string
  readonly worst: string
  readonly risk: string
  readonly debt: string
  readonly available: string
  readonly max_tokens: number | string
}

/** The facts of a 402, from the place where each SDK has them. */
function shortfall(dialect: DialectName, error: unknown): Shortfall {
  if (dialect === 'openai') return (error as { error: Shortfall }).error
  if (dialect === 'anthropic') return (error as { error: { error: Shortfall } }).error.error
  const { message } = error as Error
  return (JSON.parse(message) as { error: { details: [{ metadata: Shortfall }] } }).error.details[0].metadata
}

const limitNames = { openai: 'max_tokens', anthropic: 'max_tokens', google: 'maxOutputTokens' }

for (const dialect of dialectNames) {
  await t.test(
    `${dialect}: a request beyond the balance is refused, and the error names the max_tokens that fits`,
    async t => {
      // 0.09 roubles, at 1000 roubles a million tokens of output.
      const gateway = await startCountingGateway(t, { rub: 0.09 })
      const capped = (tokens: number): FailingRequest => ({ fields: { [limitNames[dialect]]: tokens } })

      const error = await ask(dialect, gateway, capped(99))
      const message =
        /likely costs 0\.10\d{4} roubles and 0\.1\d{5} at worst; 0\.090000 are available, .* Top up\. Or ask for at most \d\d output/
      checkError(t, dialect, error, 'balance_insufficient', message)
      const { likely, worst, available, risk, debt, max_tokens: tokens } = shortfall(dialect, error)
      t.match(likely, /^0\.10\d{4}$/)
      t.ok(Number(worst) >= Number(likely))
      t.equal(risk, '30.090000')
      t.equal(debt, '0.000000')
      t.equal(available, '0.090000')
      const fits = Number(tokens)
      t.ok(fits > 60 && fits < 90, `${fits} tokens fit`)

      const oneMore = await ask(dialect, gateway, capped(fits + 1))
      checkError(t, dialect, oneMore, 'balance_insufficient', /at most/)
      t.equal(gateway.upstream.requests.length, 0, 'nothing was sent')
      t.equal(gateway.exchangeCount(), 2, 'no SDK retried')

      t.notOk(
        (await ask(dialect, gateway, capped(fits))) instanceof Error,
        'a request with the named limit is accepted',
      )
      await until(async () => (await gateway.charges()).length === 1)
      t.equal((await gateway.balance()).balanceMicros, 90_000 - 2_300)
      await checkServes(t, gateway, dialect)
      t.same(await gateway.breaches(), [])
    },
  )

  await t.test(
    `${dialect}: an account without money is refused, and a top-up takes effect at once`,
    async t => {
      const gateway = await startCountingGateway(t, { rub: 0.0001 })
      const error = await ask(dialect, gateway)
      checkError(
        t,
        dialect,
        error,
        'balance_insufficient',
        /0\.000100 are available, with a risk of 30\.000100\. Top up\.$/,
      )
      t.equal(Number(shortfall(dialect, error).max_tokens), 0)
      const { accountId } = gateway
      await gateway.accounts.credit({ accountId, amountMicros: 1_000_000, reason: 'top-up' })
      await checkServes(t, gateway, dialect)
    },
  )

  await t.test(
    `${dialect}: a request beyond its key’s budget is refused although the balance covers it`,
    async t => {
      await checkBudget(t, dialect)
    },
  )
}

async function checkBudget(t: Test, dialect: DialectName): Promise<void> {
  // Without risk the worst cost must fit; with it, only the likely cost.
  const gateway = await startCountingGateway(t, { sections: { hold: { riskRub: '0', riskOfPaid: '0' } } })
  const { accountId, accounts, url } = gateway
  const { key } = await accounts.createKey({ accountId, budgetMicros: 65_000, budgetPeriod: 'day' })
  const first = await ask(dialect, { url, key })
  t.notOk(first instanceof Error, `within the budget: ${String(first)}`)
  await until(async () => (await gateway.charges()).length === 1)

  const error = await ask(dialect, { url, key }, { fields: { [limitNames[dialect]]: 59 } })
  const message =
    /likely costs 0\.0\d{5} roubles and [\d.]+ at worst, and the key's budget has 0\.062700 left. It starts anew at 20/
  checkError(t, dialect, error, 'key_budget_exceeded', message)
  t.match(shortfall(dialect, error), { available: '0.062700' })
  t.equal(gateway.upstream.requests.length, 1, 'nothing was sent')
  t.equal((await gateway.charges()).length, 1, 'nothing more is charged')
  await checkServes(t, gateway, dialect)
  t.same(await gateway.breaches(), [])
}
