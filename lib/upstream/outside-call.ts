import { Agent, request } from 'undici'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/scalars.ts'
import { egressConnector, nameLookup } from './upstream-pools.ts'

interface OutsideCallOptions {
  readonly config: Pick<Config, 'egress' | 'dns'>
  /** `direct`, or the name of an egress; unless said the first that there is. */
  readonly egress?: string | undefined
  readonly timeoutMs: number
  readonly bytesMax: number
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Asks somebody who is no provider, over the same ways out as requests use: with an egress configured nothing goes out
 * another way unless it says `direct`. Redirects are answers as any other.
 * @throws Error when no whole answer comes within time and size
 */
export async function outsideCall(
  url: URL,
  options: OutsideCallOptions,
): Promise<{ readonly status: number; readonly body: Buffer }> {
  const { config, timeoutMs, bytesMax, method = 'GET', headers = {}, body: sent = null } = options
  const name = isLoopback(url) ? 'direct' : (options.egress ?? config.egress.keys().next().value ?? 'direct')
  const proxyUrl = config.egress.get(name)?.url
  const lookup = config.dns === undefined ? undefined : nameLookup(config.dns.servers)
  const proxy = proxyUrl === undefined ? undefined : { name, url: proxyUrl, lookup }
  const agent = new Agent({
    connect: egressConnector(proxy, timeoutMs, lookup),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: bytesMax,
  })
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      method,
      headers,
      body: sent,
      signal,
    })
    return { status: statusCode, body: Buffer.from(await body.arrayBuffer()) }
  } finally {
    await agent.destroy()
  }
}

/**
 * Gets a file.
 * @throws Error when it does not come whole, with 200, within time and size
 */
export async function download(url: URL, options: Omit<OutsideCallOptions, 'method'>): Promise<Buffer> {
  const { status, body } = await outsideCall(url, { ...options, headers: { accept: '*/*' } })
  if (status !== 200) throw new Error(`${url.host} answered ${status}`)
  return body
}
