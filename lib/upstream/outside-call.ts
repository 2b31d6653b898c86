import { Agent, request } from 'undici'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/scalars.ts'
import { egressConnector, nameLookup } from './upstream-pools.ts'

interface OutsideCallOptions {
  readonly config: Pick<Config, 'egress' | 'dns'>
  /** `direct`, or the name of an egress; the first configured egress by default. */
  readonly egress?: string | undefined
  readonly timeoutMs: number
  readonly bytesMax: number
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Sends a request to a service that is not a provider, through the same egresses as other requests: when one is
 * configured, nothing goes out directly unless the option is `direct`. Redirects are not followed.
 * @throws Error when no complete response arrives within the limits of time and size
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
 * Downloads a file.
 * @throws Error when it does not arrive whole, with 200, within the limits of time and size
 */
export async function download(url: URL, options: Omit<OutsideCallOptions, 'method'>): Promise<Buffer> {
  const { status, body } = await outsideCall(url, { ...options, headers: { accept: '*/*' } })
  if (status !== 200) throw new Error(`${url.host} answered ${status}`)
  return body
}
