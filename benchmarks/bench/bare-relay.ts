import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Pool, type Dispatcher } from 'undici'

// The least that Node needs to relay requests: node:http in front, undici's dispatch behind, nothing between. Its
// arguments are the upstream's origin and, to speak TLS in front, the files of a certificate and its key.

const [, , origin = '', certificate, key] = process.argv
const upstream = new Pool(origin, {
  allowH2: false,
  pipelining: 1,
  connections: 1024,
  headersTimeout: 0,
  bodyTimeout: 0,
})

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse
  #controller: Dispatcher.DispatchController | undefined

  constructor(response: ServerResponse) {
    this.#response = response
    response.on('drain', () => this.#controller?.resume())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const raw = controller.rawHeaders as readonly Buffer[]
    this.#response.writeHead(
      status,
      raw.map(part => part.toString('latin1')),
    )
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#response.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.#response.end()
  }

  onResponseError(): void {
    this.#response.destroy()
  }
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const headers = request.rawHeaders.filter((_, index, all) => {
      const name = all[index - (index % 2)]?.toLowerCase()
      return name !== 'host' && name !== 'connection' && name !== 'content-length'
    })
    upstream.dispatch(
      {
        method: request.method ?? 'GET',
        path: request.url ?? '/',
        headers,
        body: Buffer.concat(chunks),
      },
      new Relay(response),
    )
  })
}

const options = { keepAliveTimeout: 75_000 }
const server =
  certificate === undefined || key === undefined
    ? createServer(options, onRequest)
    : createTlsServer({ ...options, cert: readFileSync(certificate), key: readFileSync(key) }, onRequest)
server.listen(0, '127.0.0.1', 4096, () => {
  process.send?.({ port: (server.address() as { port: number }).port })
})
