import { Pool } from 'undici'
import type { ProviderConfig } from '../config/config.ts'

/** A provider may answer with many and long headers. */
const headerBytesMax = 65_536
/** Below the 30 s after which providers close idle connections, so that a reused one is rarely a dead one. */
const keepAliveMs = 20_000

/** Connections to providers, never shared between two credentials. */
export class UpstreamPools {
  readonly #pools = new Map<string, Pool>()

  /** The pool for a provider's origin and one of its credentials. */
  get(provider: ProviderConfig, origin: string, credentialName: string): Pool {
    const { timeouts } = provider
    const name = `${credentialName} ${origin} ${timeouts.connectMs} ${timeouts.firstByteMs} ${timeouts.silenceMs}`
    let pool = this.#pools.get(name)
    if (pool === undefined) {
      pool = new Pool(origin, {
        allowH2: false,
        pipelining: 1,
        keepAliveTimeout: keepAliveMs,
        keepAliveMaxTimeout: keepAliveMs,
        headersTimeout: timeouts.firstByteMs,
        bodyTimeout: timeouts.silenceMs,
        maxHeaderSize: headerBytesMax,
        connect: { timeout: timeouts.connectMs },
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
