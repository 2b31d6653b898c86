import { Agent, createServer } from 'node:http'
import { createProxyServer } from 'http-proxy-3'

// The usual proxy in Node: http-proxy-3 with keep-alive connections.

const proxy = createProxyServer({
  target: process.argv[2] ?? '',
  agent: new Agent({ keepAlive: true, maxSockets: 1024 }),
})
proxy.on('error', (_error, _request, response) => response.destroy())

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => proxy.web(request, response))
server.listen(0, '127.0.0.1', 4096, () => {
  process.send?.({ port: (server.address() as { port: number }).port })
})
