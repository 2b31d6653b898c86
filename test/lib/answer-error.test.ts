import t from 'tap'
import { asGatewayError } from '../../lib/ledger/as-gateway-error.ts'
import { GatewayError } from '../../lib/pipeline/errors.ts'
import { LedgerUnavailableError } from '../../lib/ledger/ledger.ts'

await t.test('an error for the caller stays what it is', t => {
  const error = new GatewayError('model_not_found', 'There is no such model.')
  t.equal(asGatewayError(error), error)
  t.end()
})

await t.test('a slip of the program tells the caller nothing of itself', t => {
  const slip = new TypeError('secret is undefined')
  const error = asGatewayError(slip)
  t.match(error, { code: 'internal', cause: slip })
  t.notMatch(error.message, /secret/)
  t.equal(asGatewayError('thrown text').code, 'internal')
  t.end()
})

await t.test('what the ledger could not record is said, and not repeated by itself', t => {
  const cause = new LedgerUnavailableError('the store cannot be written: disk is full (SQLITE_FULL)')
  const error = asGatewayError(new Error('The exchange could not be settled.', { cause }))
  t.equal(error.code, 'internal')
  t.match(error.message, /could not record this request in time/)
  t.notMatch(error.message, /SQLITE/)
  t.equal(error.row.retry, 'no')
  t.end()
})
