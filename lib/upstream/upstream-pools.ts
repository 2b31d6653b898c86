import type { LookupFunction } from 'node:net'
import { Pool } from 'undici'
import type { Config, Credential, ProviderConfig } from '../config/config.ts'
import { egressConnector, nameLookup } from './egress-connector.ts'
import type { Proxy } from './open-tunnel.ts'

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
