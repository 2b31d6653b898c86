import { headerValues } from '../http/headers.ts'

/** Browsers cannot set headers, so OpenAI's clients send these values as subprotocols with a prefix. */
const keyPrefix = 'openai-insecure-api-key.'
/** These choose the account at the provider that pays, which is the operator's. */
const withheldPrefixes = [keyPrefix, 'openai-organization.', 'openai-project.', 'openai-ephemeral']

function offeredProtocols(rawHeaders: readonly string[]): string[] {
  return headerValues(rawHeaders, 'sec-websocket-protocol')
    .flatMap(value => value.split(','))
    .map(value => value.trim())
    .filter(value => value !== '')
}

/** Keys among the offered subprotocols. */
export function protocolKeys(rawHeaders: readonly string[]): string[] {
  return offeredProtocols(rawHeaders)
    .filter(protocol => protocol.startsWith(keyPrefix))
    .map(protocol => protocol.slice(keyPrefix.length))
}

/** The subprotocols for the provider: all except keys and accounts. */
export function forwardedProtocols(rawHeaders: readonly string[]): string | undefined {
  const rest = offeredProtocols(rawHeaders).filter(
    protocol => !withheldPrefixes.some(prefix => protocol.startsWith(prefix)),
  )
  return rest.length === 0 ? undefined : rest.join(', ')
}

/**
 * The subprotocol in the response to a client. A browser that offered some rejects a response without one, so where the
 * provider chose none, the first is chosen here; a key only where nothing else was offered.
 */
export function answeredProtocol(
  rawHeaders: readonly string[],
  providerProtocol: string | undefined,
): string | undefined {
  const offered = offeredProtocols(rawHeaders)
  if (providerProtocol !== undefined && offered.includes(providerProtocol)) return providerProtocol
  return forwardedProtocols(rawHeaders)?.split(', ')[0] ?? offered[0]
}

/**
 * Headers without those of the handshake that the gateway sets itself: the subprotocols, and the extensions. None are
 * offered, since compressed messages could not be read.
 */
export function withoutHandshake(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string
    if (!/^sec-websocket-(?:extensions|protocol)$/i.test(name)) kept.push(name, headers[index + 1] as string)
  }
  return kept
}
