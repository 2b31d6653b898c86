import { errorWords } from '../platform/log.ts'

/** An egress could not be used: nothing reached the provider. Messages contain no password. */
export class EgressError extends Error {
  readonly code = 'EGRESS_FAILED'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EgressError'
  }
}

/** The codes of Node and OpenSSL for a certificate that is not accepted. */
const certificateCode = /CERT|SIGNED|ISSUER|SIGNATURE|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH/
/** The codes for bytes that are not TLS, or for a failed handshake. */
const protocolCode = /^(?:EPROTO|ERR_SSL_)/

/**
 * A tunnel was opened, but TLS with the provider failed inside it: nothing of a request was sent. That the proxy opens
 * tunnels does not show that the failure is over. Keeps the code of the cause.
 */
export class BehindTunnelError extends Error {
  readonly code: string

  constructor(egress: string, hostname: string, cause: Error) {
    const code = codeOf(cause)
    const found = certificateCode.test(code)
      ? `the server at its end has no valid certificate of ${hostname} (${code}): someone intercepts the traffic, or the provider's certificate is invalid`
      : protocolCode.test(code)
        ? `the bytes that came back are not TLS (${code})`
        : `TLS with ${hostname} failed: ${connectionWords(cause)}`
    super(`The egress ${egress} opened a tunnel, but ${found}. Nothing was sent.`, { cause })
    this.name = 'BehindTunnelError'
    this.code = code
  }
}

function codeOf(error: Error): string {
  return String((error as NodeJS.ErrnoException).code ?? '')
}

/** Why there is no connection to a proxy; for a TLS error, what is wrong with the handshake. */
export function connectionWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The name has several addresses, none of which could be reached: the message of the error itself is empty.
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(errorWords))].join('; ')
  const code = codeOf(error)
  if (certificateCode.test(code)) return `Its own certificate is not accepted (${code}).`
  if (protocolCode.test(code)) return `It does not speak TLS (${code}).`
  return errorWords(error)
}
