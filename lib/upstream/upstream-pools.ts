import type { LookupFunction } from 'node:net'
import { buildConnector, Pool } from 'undici'
import { BehindTunnelError, EgressError } from './egress-error.ts'
import { noting } from './failed-connection.ts'
import { openTunnel, type Proxy } from './open-tunnel.ts'
import { Resolver } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { callbackify } from 'node:util'
import type { Config, Credential, ProviderConfig } from '../config/config.ts'

/** A provider may answer with many and long headers. */
const headerBytesMax = 65_536
/** Below the 30 s after which providers close idle connections, so that a reused one is rarely a dead one. */
const keepAliveMs = 20_000

/** Connections to providers, never shared between two credentials, nor between two ways out. */
export class UpstreamPools {
  readonly #pools = new Map<string, Pool>()
  /** Finds addresses; the system does where it is undefined. */
  readonly lookup: LookupFunction | undefined

  constructor({ dns }: Pick<Config, 'dns'>) {
    this.lookup = dns === undefined ? undefined : nameLookup(dns.servers)
  }

  /** The pool for a provider's origin, one of its credentials, and one way out (absent: direct). */
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

/** For one server and one try; a connection's own timeout ends it sooner where it is shorter. */
const resolver = { timeout: 2_000, tries: 2 }

/**
 * Finds addresses by asking these DNS servers and not the system, which may keep answers for longer than they
 * say. Each new connection asks; connections that are open go on.
 * @returns what `net.connect` takes as its `lookup`
 */
export function nameLookup(servers: readonly string[]): LookupFunction {
  const asked = new Resolver(resolver)
  asked.setServers([...servers])
  const find = callbackify((hostname: string) => addressesOf(asked, hostname))
  return (hostname, options, callback) => {
    find(hostname, (error, addresses) => {
      const [first] = addresses ?? []
      if (first === undefined) callback(error ?? notFound(hostname), [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

async function addressesOf(asked: Resolver, hostname: string): Promise<LookupAddress[]> {
  // RFC 6761 section 6.3: it is this machine, and no server is asked.
  if (hostname === 'localhost' || hostname.endsWith('.localhost'))
    return [{ address: '127.0.0.1', family: 4 }]
  const [four, six] = await Promise.allSettled([asked.resolve4(hostname), asked.resolve6(hostname)])
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
 * How connections to a provider are made: straight, or through a proxy. TLS is always the provider's own,
 * verified here, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
 * @param connectMs for each of the two steps, the tunnel and the TLS handshake
 * @param lookup finds the provider's address where no proxy does; absent: the system
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
      connect(options, noting(callback))
    }
  return (options, callback) => void connectThrough(proxy, connect, connectMs, options, noting(callback))
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
