import type { LookupFunction } from 'node:net'
import { buildConnector, Pool } from 'undici'
import { BehindTunnelError, EgressError } from './egress-error.ts'
import { recordingFailure } from './failed-connection.ts'
import { openTunnel, type Proxy } from './open-tunnel.ts'
import { Resolver } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { callbackify } from 'node:util'
import type { Config, Credential, ProviderConfig } from '../config/config.ts'

/** A provider may send many long headers. */
const headerBytesMax = 65_536
/** Below the 30 s after which providers close idle connections, so that a reused connection is rarely closed. */
const keepAliveMs = 20_000

/** Connections to providers, never shared between two credentials, nor between two egress routes. */
export class UpstreamPools {
  readonly #pools = new Map<string, Pool>()
  /** Resolves addresses; undefined: the system resolver. */
  readonly lookup: LookupFunction | undefined

  constructor({ dns }: Pick<Config, 'dns'>) {
    this.lookup = dns === undefined ? undefined : nameLookup(dns.servers)
  }

  /** The pool for a provider's origin, one of its credentials, and one egress (absent: direct). */
  get(provider: ProviderConfig, origin: string, credential: Credential, proxy?: Proxy): Pool {
    const { limits } = provider
    const { connectMs, firstByteMs, silenceMs } = credential.timeouts ?? provider.timeouts
    const by = proxy === undefined ? 'direct' : proxy.url.href
    const { connectionsMax } = limits
    const name = [credential.name, origin, by, connectMs, firstByteMs, silenceMs, connectionsMax].join(' ')
    let pool = this.#pools.get(name)
    if (pool === undefined) {
      pool = new Pool(origin, {
        allowH2: false,
        pipelining: 1,
        connections: connectionsMax,
        keepAliveTimeout: keepAliveMs,
        keepAliveMaxTimeout: keepAliveMs,
        headersTimeout: firstByteMs,
        bodyTimeout: silenceMs,
        maxHeaderSize: headerBytesMax,
        connect: egressConnector(proxy, connectMs, this.lookup),
      })
      this.#pools.set(name, pool)
    }
    return pool
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }
}

/** Per server and try; a connection's own timeout ends the lookup sooner where it is shorter. */
const resolverOptions = { timeout: 2_000, tries: 2 }

/**
 * Resolves addresses at these DNS servers instead of the system resolver, which may cache records for longer than their
 * TTL. Each new connection resolves again; open connections are unaffected.
 * @returns a `lookup` function for `net.connect`
 */
export function nameLookup(servers: readonly string[]): LookupFunction {
  const resolver = new Resolver(resolverOptions)
  resolver.setServers([...servers])
  const find = callbackify((hostname: string) => addressesOf(resolver, hostname))
  return (hostname, options, callback) => {
    find(hostname, (error, addresses) => {
      const [first] = addresses ?? []
      if (first === undefined) callback(error ?? notFound(hostname), [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

async function addressesOf(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  // RFC 6761 section 6.3: localhost is this machine; no server is queried.
  if (hostname === 'localhost' || hostname.endsWith('.localhost'))
    return [{ address: '127.0.0.1', family: 4 }]
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
  return [
    ...(four.status === 'fulfilled' ? four.value.map(address => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map(address => ({ address, family: 6 })) : []),
  ]
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address.`), { code: 'ENOTFOUND' })
}

type Connector = ReturnType<typeof buildConnector>

/**
 * Connects to a provider, directly or through a proxy. TLS is always with the provider itself and verified here,
 * whatever NODE_TLS_REJECT_UNAUTHORIZED says.
 * @param connectMs for each of the two steps, the tunnel and the TLS handshake
 * @param lookup resolves the provider's address where no proxy does; absent: the system resolver
 */
export function egressConnector(
  proxy: Proxy | undefined,
  connectMs: number,
  lookup?: LookupFunction,
): Connector {
  const found = lookup === undefined ? {} : { lookup }
  const connect = buildConnector({ allowH2: false, timeout: connectMs, rejectUnauthorized: true, ...found })
  if (proxy === undefined)
    return (options, callback) => {
      connect(options, recordingFailure(callback))
    }
  return (options, callback) =>
    void connectThrough(proxy, connect, connectMs, options, recordingFailure(callback))
}

async function connectThrough(
  proxy: Proxy,
  connect: Connector,
  connectMs: number,
  options: buildConnector.Options,
  callback: buildConnector.Callback,
): Promise<void> {
  let httpSocket
  try {
    if (options.protocol !== 'https:') throw new EgressError('Plain HTTP does not go out through a proxy.')
    const end = { hostname: options.hostname, port: Number(options.port) || 443 }
    httpSocket = await openTunnel(proxy, end, connectMs)
  } catch (error) {
    callback(error instanceof Error ? error : new Error(String(error)), null)
    return
  }
  connect({ ...options, httpSocket }, (...[error, socket]) => {
    if (error === null) callback(null, socket)
    else callback(new BehindTunnelError(proxy.name, options.hostname, error), null)
  })
}
