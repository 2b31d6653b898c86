import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { answerAnthropic } from './anthropic.ts'
import { jsonResponse, readRequest, type SandboxResponse, type SandboxRequest } from './sandbox-response.ts'
import { answerGoogle } from './google.ts'
import { answerOpenai } from './openai.ts'
import type { Config, ProviderConfig } from '../config/config.ts'

/** Google's SDKs use `/v1` unless they are set to `v1beta`; only its paths end in a method after a colon. */
const googleStablePath = /^\/v1\/models\/[^/]+:[A-Za-z]+$/

const bodyBytesMax = 64 * 1024 * 1024

interface SandboxOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number
  /** The wait between the frames of `sandbox-slow`. */
  readonly paceMs?: number
}

/** The sandbox, listening. */
export interface SandboxProvider {
  /** `http://127.0.0.1:PORT`, to which a dialect's path is appended. */
  readonly origin: string
  /** Closes open connections, and resolves when the port is free. */
  close(): Promise<void>
}

/**
 * Starts a provider on the loopback address that speaks all three dialects and costs nothing. It is an HTTP server and
 * not a short cut inside the gateway, so that a trial uses the same code as production. It accepts any key, and model
 * names with the prefix `sandbox`.
 */
export async function startSandboxProvider(options: SandboxOptions = {}): Promise<SandboxProvider> {
  const paceMs = options.paceMs ?? 100
  const server = createServer((incoming, response) => {
    // A failure here means a disconnected client, or a fault of the sandbox: a truncated response shows either.
    serve(incoming, response, paceMs).catch(() => response.destroy())
  })
  // Longer than any pool's idle time, so that the gateway is the one to close idle connections.
  server.keepAliveTimeout = 60_000
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function serve(incoming: IncomingMessage, response: ServerResponse, paceMs: number): Promise<void> {
  const request = await readRequest(incoming, bodyBytesMax)
  if (request === undefined) {
    const fault = { message: `The body is larger than ${bodyBytesMax} bytes.`, type: 'invalid_request_error' }
    await write(response, jsonResponse({ error: fault }, 413, { connection: 'close' }), 0)
    return
  }
  await write(response, await answerFor(request), paceMs)
}

function answerFor(request: SandboxRequest): SandboxResponse | Promise<SandboxResponse> {
  if (request.path.startsWith('/v1beta/') || googleStablePath.test(request.path)) return answerGoogle(request)
  if (request.path.startsWith('/v1/messages')) return answerAnthropic(request)
  return answerOpenai(request)
}

async function write(response: ServerResponse, made: SandboxResponse, paceMs: number): Promise<void> {
  if (!made.isStream) {
    const body = Buffer.concat(made.frames.map(frame => Buffer.from(frame)))
    response.writeHead(made.status, { ...made.headers, 'content-length': body.length })
    response.end(body)
    return
  }
  response.writeHead(made.status, made.headers)
  await pipeline(Readable.from(paced(made, paceMs)), response)
}

/** One frame per write, with a delay in between if the model is slow. */
async function* paced(made: SandboxResponse, paceMs: number): AsyncGenerator<Buffer> {
  for (const [index, frame] of made.frames.entries()) {
    if (made.isPaced && index > 0) await delay(paceMs)
    yield Buffer.from(frame)
  }
}

/** Port 0 stands for the built-in sandbox, whatever port it got. */
function isBuiltIn(provider: ProviderConfig): boolean {
  return (
    provider.kind === 'sandbox' &&
    Object.values(provider.dialects).some(({ baseUrl }) => baseUrl.port === '0')
  )
}

/** Starts the built-in sandbox provider when the config names it; undefined otherwise. */
export async function startSandbox(config: Config): Promise<SandboxProvider | undefined> {
  if (![...config.providers.values()].some(isBuiltIn)) return undefined
  // Loaded only for trying out the gateway.
  const { startSandboxProvider } = await import('./sandbox-provider.ts')
  return await startSandboxProvider()
}

/** The config with the sandbox's addresses filled in. */
export function withSandbox(config: Config, sandbox: SandboxProvider | undefined): Config {
  if (sandbox === undefined) return config
  const providers = new Map(config.providers)
  for (const provider of config.providers.values()) {
    if (!isBuiltIn(provider)) continue
    const dialects = Object.fromEntries(
      Object.entries(provider.dialects).map(([name, { baseUrl }]) => [
        name,
        { baseUrl: new URL(sandbox.origin + baseUrl.pathname) },
      ]),
    )
    const credentials = [{ name: `${provider.name}#1`, value: 'sandbox' }]
    providers.set(provider.name, { ...provider, dialects, credentials })
  }
  return { ...config, providers }
}
