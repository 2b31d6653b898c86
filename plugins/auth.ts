import { hash } from 'node:crypto'
import type { KeyRecord } from '../lib/accounts/accounts.ts'
import { GatewayError } from '../lib/pipeline/errors.ts'
import { addressList, addressOf, isListed } from '../lib/http/client-address.ts'
import { headerValues } from '../lib/http/headers.ts'
import { keyOfUpload, objectNotFound } from '../lib/models/object-owner.ts'
import type { Exchange } from '../lib/pipeline/exchange.ts'
import type { Stage } from '../lib/pipeline/plugin.ts'
import { protocolKeys } from '../lib/websocket/subprotocols.ts'
import type { PluginContext } from '../lib/front/plugin-context.ts'

/** Finds the key of a request, in any of the forms that SDKs send, and refuses requests that are not allowed. */
export function auth(context: PluginContext): Stage {
  const trusted = addressList(context.config.trustedProxies)

  return {
    needs: ['route'],
    provides: ['key'],

    onRequest(exchange) {
      const value = presentedKey(exchange)
      if (value === undefined) return admitByUpload(exchange)
      // The digest is computed for every key, known or not: a miss costs the same as a hit.
      const digest = hash('sha256', value, 'base64url')
      admit(exchange, context.keys.findByDigest(digest))
      // A session outlives changes to its key and the key's limits, so it checks the key again before each turn.
      if (exchange.find('client') !== undefined)
        exchange.set('checkKey', () => admit(exchange, context.keys.findByDigest(digest)))
      return undefined
    },
  }

  function admit(exchange: Exchange, key: KeyRecord | undefined): void {
    if (key === undefined) turnAway(context, exchange)
    checkKey(key, context.clock.now())
    if (key.ipAddresses !== undefined) checkAddress(key.ipAddresses, exchange, trusted)
    exchange.set('key', key)
  }

  /** Most of Google's SDKs send no key with the bytes of an upload: the address that they received identifies it. */
  async function admitByUpload(exchange: Exchange): Promise<void> {
    const { match, dialect, providerName } = exchange.get('route')
    const { object, operation } = match
    if (operation.isOpenByObject !== true || object === undefined) {
      throw new GatewayError(
        'key_missing',
        'No API key was sent. Send it as "Authorization: Bearer gw-...", x-api-key, x-goog-api-key or ?key=.',
      )
    }
    const keyId = await keyOfUpload(context, dialect.name, object, providerName)
    if (keyId === undefined) {
      turnAway(context, exchange)
      throw objectNotFound(object)
    }
    admit(exchange, context.keys.findById(keyId))
  }
}

/** Under pressure, callers without a valid key are shed first, with their connections. */
function turnAway({ overload }: PluginContext, exchange: Exchange): void {
  try {
    overload.admitUnknown()
  } catch (error) {
    exchange.response.shouldKeepAlive = false
    throw error
  }
}

/** The first value that looks like one of our keys, else the first of any kind. */
function presentedKey(exchange: Exchange): string | undefined {
  const { rawHeaders } = exchange.request
  const isOverWebSocket = (exchange.find('client') ?? exchange.find('connection')) !== undefined
  const values = [
    ...headerValues(rawHeaders, 'authorization').map(bearer),
    ...headerValues(rawHeaders, 'x-api-key'),
    ...headerValues(rawHeaders, 'x-goog-api-key'),
    ...exchange.get('route').queryKeys,
    ...(isOverWebSocket ? protocolKeys(rawHeaders) : []),
  ]
  let first: string | undefined
  for (const value of values) {
    if (value?.startsWith('gw-') === true) return value
    first ??= value === '' ? undefined : value
  }
  return first
}

function bearer(header: string): string | undefined {
  return /^bearer +(.*)$/i.exec(header)?.[1]?.trim()
}

function checkKey(key: KeyRecord | undefined, nowMs: number): asserts key is KeyRecord {
  if (key === undefined)
    throw new GatewayError('key_invalid', 'The API key is not known here. Check it, or create a new one.')
  if (key.revokedAt !== undefined) {
    throw new GatewayError(
      'key_revoked',
      `The API key ending in ${key.lastFour} was revoked. Use another one.`,
    )
  }
  if (key.blockedAt !== undefined) {
    throw new GatewayError(
      'account_blocked',
      'The account of this API key is blocked. Write to the operator of this gateway.',
    )
  }
  if (key.expiresAt !== undefined && key.expiresAt <= nowMs) {
    throw new GatewayError(
      'key_expired',
      `The API key ending in ${key.lastFour} has expired. Use another one.`,
    )
  }
}

function checkAddress(
  allowed: NonNullable<KeyRecord['ipAddresses']>,
  exchange: Exchange,
  trusted: ReturnType<typeof addressList>,
): void {
  const address = addressOf(exchange.request, trusted)
  if (!isListed(addressList(allowed), address))
    throw new GatewayError('ip_not_allowed', `The API key may not be used from ${address}.`)
}
