import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cores, measure, pinned, startNode } from '../bench/process.ts'
import type { Target } from '../bench/targets.ts'
import { startGatewayProcess } from '../gateway-process.ts'

/** The files of a certificate for 127.0.0.1 and its key. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

const program = join(import.meta.dirname, '../../dist/bin/gateway.js')

/** Makes a self-signed one; undefined where openssl is missing. */
export function makeCertificate(): Certificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'bench-tls-'))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const made = spawnSync('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  })
  if (made.status !== 0) return undefined
  writeFileSync(join(folder, 'README'), 'Of a benchmark; may be removed.\n')
  return { cert, key }
}

/** Node's own relay, with TLS on both sides where there is a certificate. */
export function bareRelay(upstreamPort: number, tls?: Certificate): () => Promise<Target> {
  return async () => {
    const origin = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${upstreamPort}`
    const argv = tls === undefined ? [origin] : [origin, tls.cert, tls.key]
    const relay = join(import.meta.dirname, '../bench/bare-relay.ts')
    const beganMs = performance.now()
    const started = await startNode(relay, argv, cores.measured, trusting(tls))
    return { ...started, name: 'bare relay', headers: [], beganMs }
  }
}

interface StreamGatewayOptions {
  readonly nodeOptions?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** The most connections to each provider. */
  readonly connectionsMax?: number
}

/** The compiled gateway, with a provider for each format. */
export function streamGateway(
  upstreamPort: number,
  tls?: Certificate,
  { nodeOptions = [], environment = {}, connectionsMax = 2048 }: StreamGatewayOptions = {},
): () => Promise<Target> {
  return async () => {
    const origin = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${upstreamPort}`
    const credentials = ['sk-bench']
    const limits = { connectionsMax }
    const price = { outputTokensMax: 100_000, rubPerMillion: { input: '1', output: '2' } }
    const started = await startGatewayProcess({
      program,
      prefix: command => pinned(cores.measured, command),
      nodeOptions,
      environment: { ...trusting(tls), ...environment },
      config: {
        ...(tls !== undefined && { tls: { cert: tls.cert, key: tls.key } }),
        providers: {
          openai: {
            credentials,
            limits,
            streamUsage: 'as-sent',
            dialects: { openai: { baseUrl: `${origin}/v1` } },
          },
          restored: {
            credentials,
            limits,
            streamUsage: 'inject',
            dialects: { openai: { baseUrl: `${origin}/v1` } },
          },
          anthropic: { credentials, dialects: { anthropic: { baseUrl: `${origin}/v1` } } },
          google: { credentials, dialects: { google: { baseUrl: `${origin}/v1beta` } } },
        },
        models: {
          'bench-model': { provider: ['openai', 'anthropic', 'google'], ...price },
          'bench-restored': { provider: 'restored', upstreamModel: 'bench-model', ...price },
        },
      },
    })
    return {
      ...measure(started.child),
      name: 'gateway',
      port: Number(new URL(started.url).port),
      headers: [`Authorization: Bearer ${started.key}`],
      beganMs: started.beganMs,
      async stop() {
        await started.stop()
        started.remove()
      },
    }
  }
}

function trusting(tls: Certificate | undefined): Readonly<Record<string, string>> {
  return tls === undefined ? {} : { NODE_EXTRA_CA_CERTS: tls.cert }
}
