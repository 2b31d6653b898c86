import { Agent, request } from 'undici'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/scalars.ts'
import { egressConnector } from './egress-connector.ts'
import { nameLookup } from './name-lookup.ts'

interface DownloadOptions {
  readonly config: Pick<Config, 'egress' | 'dns'>
  /** `direct`, or the name of an egress; unless said the first that there is. */
  readonly egress?: string | undefined
  readonly timeoutMs: number
  readonly bytesMax: number
}

/**
 * Gets a file over the same ways out as requests use: with an egress configured nothing goes out another way unless it
 * says `direct`.
 * @throws Error when it does not come whole, with 200, within time and size
 */
export async function download(url: URL, options: DownloadOptions): Promise<Buffer> {
  const { config, timeoutMs, bytesMax } = options
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
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      headers: { accept: '*/*' },
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (statusCode !== 200) {
      await body.dump()
      throw new Error(`${url.host} answered ${statusCode}`)
    }
    return Buffer.from(await body.arrayBuffer())
  } finally {
    await agent.destroy()
  }
}
