import { ClientLeftError, type BodyFailedError } from '../bodies/client-stream.ts'
import { toldProvider, toldProviderFirst, type ProviderConfig } from '../config/config.ts'
import { GatewayError } from '../pipeline/errors.ts'

/**
 * Says what an upstream's failure means to the caller. undici's and the system's error codes are known here
 * and nowhere else.
 * @param wasStarted whether a byte of the request may have reached the provider
 */
export function upstreamError(error: Error, wasStarted: boolean, provider: ProviderConfig): GatewayError {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT') {
    return new GatewayError(
      'upstream_timeout',
      `${toldProviderFirst(provider)} did not begin to answer in time.`,
      { cause: error },
    )
  }
  if (code === 'UND_ERR_BODY_TIMEOUT') {
    return new GatewayError(
      'upstream_timeout',
      `${toldProviderFirst(provider)} fell silent in the middle of its answer.`,
      { cause: error },
    )
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return new GatewayError(
      'upstream_timeout',
      `${toldProviderFirst(provider)} could not be reached in time; nothing was sent.`,
      { cause: error },
    )
  }
  if (!wasStarted) {
    return new GatewayError(
      'upstream_unreachable',
      `${toldProviderFirst(provider)} could not be reached; nothing was sent.`,
      { cause: error },
    )
  }
  return new GatewayError(
    'upstream_failed',
    `The connection to ${toldProvider(provider)} failed after the request was sent. It may have been worked on, so it was not repeated.`,
    { cause: error },
  )
}

/**
 * What it means to the caller that its request broke off in its body; undefined when it has left, of which
 * the exchange hears by itself.
 */
export function bodyError({ cause }: BodyFailedError): GatewayError | undefined {
  if (cause instanceof GatewayError) return cause
  if (cause instanceof ClientLeftError) return undefined
  return new GatewayError('internal', 'The gateway could not send the body of the request to its end.', {
    cause,
  })
}

/** Errors that are of our own making and say nothing of whether a provider can be reached. */
const ownCodes: ReadonlySet<string> = new Set(
  `UND_ERR_ABORTED UND_ERR_CLOSED UND_ERR_DESTROYED UND_ERR_INVALID_ARG UND_ERR_NOT_SUPPORTED
    UND_ERR_REQ_CONTENT_LENGTH_MISMATCH`.split(/\s+/),
)

/** Whether an error before anything was sent means that no connection came about. */
export function isConnectionFailure(error: Error): boolean {
  return !ownCodes.has((error as NodeJS.ErrnoException).code ?? '') && error.name !== 'AbortError'
}
