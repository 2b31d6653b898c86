import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A provider that takes whatever comes and keeps nothing. */
export interface Sink {
  readonly origin: string
  close(): void
}

const completion =
  '{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes"}}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}'
let files = 0

export async function startSink(): Promise<Sink> {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const isFile = request.url === '/v1/files'
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(isFile ? `{"id":"file-${(files += 1)}","object":"file"}` : completion)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
