import { GatewayError } from '../pipeline/errors.ts'

/** The code that callers receive for an error. */
export function errorCode(error: Error): string {
  return error instanceof GatewayError ? error.code : 'internal'
}
