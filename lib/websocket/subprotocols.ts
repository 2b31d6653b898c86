import { headerValues } from '../http/headers.ts'

/** Browsers cannot set headers, so OpenAI's clients offer what stands behind these as a subprotocol. */
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

/** What the provider is offered: everything but keys and accounts. */
export function forwardedProtocols(rawHeaders: readonly string[]): string | undefined {
  const rest = offeredProtocols(rawHeaders).filter(
    protocol => !withheldPrefixes.some(prefix => protocol.startsWith(prefix)),
  )
  return rest.length === 0 ? undefined : rest.join(', ')
}

/**
 * The subprotocol in the answer to a client. Browsers give up on an answer without one where they offered
 * some, so where the provider chose none the first is chosen here; a key only where nothing else was offered.
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
 * Headers without what the gateway decides of the handshake: which subprotocols are offered, and that there
 * are no extensions, since compressed messages could not be read.
 */
export function withoutHandshake(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string
    if (!/^sec-websocket-(?:extensions|protocol)$/i.test(name)) kept.push(name, headers[index + 1] as string)
  }
  return kept
}
