import t from 'tap'
import { asGatewayError, cutReason, holdRefused } from '../../lib/ledger/as-gateway-error.ts'
import { GatewayError } from '../../lib/pipeline/errors.ts'
import { balanceOf } from '../../lib/ledger/balance-book.ts'
import { keyBudget } from '../../lib/ledger/key-spending.ts'
import {
  BalanceInsufficientError,
  KeyBudgetExceededError,
  LedgerUnavailableError,
} from '../../lib/ledger/ledger.ts'
import { noRisk } from '../../lib/ledger/risk.ts'

await t.test('a GatewayError passes unchanged', t => {
  const error = new GatewayError('model_not_found', 'There is no such model.')
  t.equal(asGatewayError(error), error)
  t.end()
})

await t.test('a programming error becomes internal, and its message does not reach the caller', t => {
  const slip = new TypeError('secret is undefined')
  const error = asGatewayError(slip)
  t.match(error, { code: 'internal', cause: slip })
  t.notMatch(error.message, /secret/)
  t.equal(asGatewayError('thrown text').code, 'internal')
  t.end()
})

await t.test('a request that the ledger could not record says so, and tells SDKs not to repeat it', t => {
  const cause = new LedgerUnavailableError('the store cannot be written: disk is full (SQLITE_FULL)')
  const error = asGatewayError(new Error('The exchange could not be settled.', { cause }))
  t.equal(error.code, 'internal')
  t.match(error.message, /could not record this request in time/)
  t.notMatch(error.message, /SQLITE/)
  t.equal(error.row.retry, 'no')
  t.end()
})

const owing = balanceOf({ netMicros: -1_000_000, heldMicros: 0, worstMicros: 0, paidMicros: 0 }, noRisk)
const spent = keyBudget(
  { budgetMicros: 5_000_000, period: 'total' },
  4_000_000,
  { likelyMicros: 0, worstMicros: 0 },
  0,
)
const shortages = {
  balance: new BalanceInsufficientError(2_000_000, 3_000_000, owing),
  budget: new KeyBudgetExceededError(2_000_000, 3_000_000, spent, 0),
  ledger: new LedgerUnavailableError('the disk is full'),
}

await t.test('a request and a turn without money for their hold are refused in the same words', t => {
  const rooms: unknown[] = []
  for (const [subject, kind] of [
    ['This request', 'requests'],
    ['The next turn', 'turns'],
  ] as const) {
    const refused = (error: Error) =>
      holdRefused(error, {
        subject,
        waysToFit(room) {
          rooms.push(room)
          return { maxTokens: 7, advice: ' Or ask for less.' }
        },
      })
    const costs = { likely: '2.000000', worst: '3.000000', max_tokens: 7 }
    const likely = `${subject} likely costs 2.000000 roubles and 3.000000 at worst`
    t.match(refused(shortages.balance), {
      code: 'balance_insufficient',
      message: `${likely}; -1.000000 are available, with a risk of 0.000000. The account owes 1.000000, which the next top-up pays first. Top up. Or ask for less.`,
      details: { ...costs, available: '-1.000000', risk: '0.000000', debt: '1.000000' },
      cause: shortages.balance,
    })
    t.match(refused(shortages.budget), {
      code: 'key_budget_exceeded',
      message: `${likely}, and the key's budget has 1.000000 left. Or ask for less.`,
      details: { ...costs, available: '1.000000' },
    })
    t.match(refused(shortages.ledger), {
      code: 'overloaded',
      message: `The ledger cannot take new ${kind} now. Try again soon.`,
      retryAfterSeconds: 1,
    })
    const slip = new TypeError('a slip')
    t.equal(refused(slip), slip)
  }
  const broke = { likelyMicros: 0, worstMicros: 0, isStrict: true }
  const some = { likelyMicros: 1_000_000, worstMicros: 1_000_000, isStrict: true }
  t.strictSame(rooms, [broke, some, broke, some])
  t.end()
})

await t.test('a response is cut when money or budget is spent, not when the ledger is unavailable', t => {
  t.match(cutReason(shortages.balance), { code: 'balance_insufficient', message: /money of the account/ })
  t.match(cutReason(shortages.budget), { code: 'key_budget_exceeded', message: /budget of the key/ })
  t.equal(cutReason(shortages.ledger), undefined)
  t.end()
})
