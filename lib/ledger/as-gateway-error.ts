import { GatewayError } from '../pipeline/errors.ts'
import { LedgerUnavailableError } from './ledger.ts'

/** What the caller is told of any error: a GatewayError as it is, everything else as `internal`. */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (isUnavailableLedger(error)) {
    return new GatewayError(
      'internal',
      'The ledger could not record this request in time, so its answer was withheld. It may have been charged.',
      { cause: error },
    )
  }
  return new GatewayError(
    'internal',
    'The gateway failed on this request. Tell its operator the request id.',
    {
      cause: error,
    },
  )
}

/** The request was sent already: it is no error after which the client should try again by itself. */
function isUnavailableLedger(error: unknown): boolean {
  if (error instanceof LedgerUnavailableError) return true
  return error instanceof Error && error.cause !== undefined && isUnavailableLedger(error.cause)
}
