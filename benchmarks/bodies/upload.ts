import { Agent, request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import type { Pieces } from './made-bodies.ts'

const agent = new Agent({ keepAlive: true })

/** Sends a body as fast as it is accepted; returns the status of the response, or 0 if there was none. */
export function upload(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Pieces,
): Promise<number> {
  return new Promise(resolve => {
    const request = httpRequest(url, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': String(body.length) },
    })
    request.on('error', () => resolve(0))
    request.on('response', response => {
      response.resume()
      response.on('close', () => resolve(response.statusCode ?? 0))
    })
    Readable.from(body.pieces(), { objectMode: false }).pipe(request)
  })
}
