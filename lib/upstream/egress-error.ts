import { errorWords } from '../platform/log.ts'

/** A way out could not be used: nothing reached the provider. Messages hold no password. */
export class EgressError extends Error {
  readonly code = 'EGRESS_FAILED'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EgressError'
  }
}

/** What Node and OpenSSL call a certificate that is not accepted. */
const certificateCode = /CERT|SIGNED|ISSUER|SIGNATURE|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH/
/** What is no TLS, or none that could be spoken. */
const protocolCode = /^(?:EPROTO|ERR_SSL_)/

/**
 * A tunnel was opened, and TLS with the provider did not come about in it: nothing of a request was sent. That the proxy
 * opens tunnels says nothing of whether this is over. Keeps the code of what happened.
 */
export class BehindTunnelError extends Error {
  readonly code: string

  constructor(egress: string, hostname: string, cause: Error) {
    const code = codeOf(cause)
    const found = certificateCode.test(code)
      ? `what answers at its end has no certificate of ${hostname} (${code}): somebody reads what passes, or the provider's own is no good`
      : protocolCode.test(code)
        ? `what came out of it is no TLS (${code})`
        : `TLS with ${hostname} did not come about: ${connectionWords(cause)}`
    super(`The egress ${egress} opened a tunnel, but ${found}. Nothing was sent.`, { cause })
    this.name = 'BehindTunnelError'
    this.code = code
  }
}

function codeOf(error: Error): string {
  return String((error as NodeJS.ErrnoException).code ?? '')
}

/** Why there is no connection to a proxy; of one by TLS, what is wrong with that. */
export function connectionWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A name with several addresses, none of which could be reached: the error itself says nothing.
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(errorWords))].join('; ')
  const code = codeOf(error)
  if (certificateCode.test(code)) return `Its own certificate is not accepted (${code}).`
  if (protocolCode.test(code)) return `It does not speak TLS (${code}).`
  return errorWords(error)
}
