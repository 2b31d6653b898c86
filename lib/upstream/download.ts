import { outsideCall } from './outside-call.ts'
import type { OutsideCallOptions } from './outside-call.ts'

/**
 * Gets a file.
 * @throws Error when it does not come whole, with 200, within time and size
 */
export async function download(url: URL, options: Omit<OutsideCallOptions, 'method'>): Promise<Buffer> {
  const { status, body } = await outsideCall(url, { ...options, headers: { accept: '*/*' } })
  if (status !== 200) throw new Error(`${url.host} answered ${status}`)
  return body
}
