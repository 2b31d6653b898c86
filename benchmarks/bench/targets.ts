import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startGatewayProcess } from '../gateway-process.ts'
import { cores, measure, pinned, startNode, type Measured } from './process.ts'
import { freePort } from '../../test/fixtures/free-port.ts'

/** A contender between the load and the upstream, ready to be measured. */
export interface Target extends Measured {
  readonly name: string
  readonly port: number
  /** Headers that it needs beside those of every request. */
  readonly headers: readonly string[]
  /** When it was started, in milliseconds of `performance.now()`. */
  readonly beganMs: number
}

/** Starts a contender, or returns why it is not available. */
export type Contender = () => Promise<Target | string>

/** Starts all that are available, and reports why the others are not. */
export async function startAll(
  say: (line: string) => void,
  contenders: readonly Contender[],
): Promise<readonly Target[]> {
  const targets: Target[] = []
  for (const start of contenders) {
    const target = await start()
    if (typeof target === 'string') say(target)
    else targets.push(target)
  }
  return targets
}

const folder = import.meta.dirname
const measuredCore = cores.measured

export function nginx(upstreamPort: number): Contender {
  return async () => {
    if (spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status !== 0) return 'nginx is not installed'
    const port = await freePort()
    const place = mkdtempSync(join(tmpdir(), 'bench-nginx-'))
    writeFileSync(join(place, 'nginx.conf'), nginxConfig(port, upstreamPort, place))
    const [command = '', ...argv] = pinned(measuredCore, [
      'nginx',
      '-c',
      join(place, 'nginx.conf'),
      '-p',
      place,
    ])
    const beganMs = performance.now()
    const child = spawn(command, argv, { stdio: 'ignore' })
    await listens(port)
    const measured = measure(child)
    return {
      ...measured,
      name: 'nginx',
      port,
      headers: [],
      beganMs,
      async stop() {
        await measured.stop()
        rmSync(place, { recursive: true })
      },
    }
  }
}

/** One process, no log, keep-alive connections to the upstream: a plain reverse proxy at its best. */
function nginxConfig(port: number, upstreamPort: number, place: string): string {
  return `
daemon off; master_process off; worker_processes 1; pid ${place}/pid; error_log ${place}/error.log crit;
events { worker_connections 16384; }
http {
  access_log off; client_body_temp_path ${place}; proxy_temp_path ${place}; fastcgi_temp_path ${place};
  uwsgi_temp_path ${place}; scgi_temp_path ${place}; keepalive_requests 1000000000; client_max_body_size 0;
  upstream provider { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
  }
}`
}

export function relay(name: string, program: string, upstreamPort: number): Contender {
  return async () => {
    const origin = `http://127.0.0.1:${upstreamPort}`
    const beganMs = performance.now()
    return { ...(await startNode(join(folder, program), [origin], measuredCore)), name, headers: [], beganMs }
  }
}

export function portkey(upstreamPort: number): Contender {
  return async () => {
    const port = await freePort()
    const program = createRequire(import.meta.url).resolve('@portkey-ai/gateway/build/start-server.js')
    const [command = '', ...argv] = pinned(measuredCore, [
      process.execPath,
      program,
      `--port=${port}`,
      '--headless',
    ])
    const beganMs = performance.now()
    const child = spawn(command, argv, {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    })
    await listens(port)
    const headers = [
      'x-portkey-provider: openai',
      `x-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1`,
    ]
    return { ...measure(child), name: 'Portkey', port, headers, beganMs }
  }
}

interface GatewayOptions {
  readonly durability?: 'strict' | 'relaxed'
  readonly plugins?: readonly unknown[]
  readonly core?: number | string
  readonly workers?: number
  /** A store in PostgreSQL, instead of a new file. */
  readonly postgresUrl?: string
  /** Keys in the store beside the one that is used. */
  readonly moreKeys?: number
  readonly nodeOptions?: readonly string[]
}

/** A gateway, with its standard output. */
export type GatewayTarget = Target & { readonly outputFile: string }

/** The compiled gateway, as it is installed. */
export function gateway(
  name: string,
  upstreamPort: number,
  options: GatewayOptions = {},
): () => Promise<GatewayTarget> {
  const { durability = 'strict', plugins, workers, moreKeys = 0, nodeOptions = [], postgresUrl } = options
  const { core = measuredCore } = options
  return async () => {
    const started = await startGatewayProcess({
      program: join(folder, '../../dist/bin/gateway.js'),
      prefix: command => pinned(core, command),
      moreKeys,
      postgresUrl,
      nodeOptions,
      config: {
        durability,
        ...(plugins !== undefined && { plugins }),
        ...(workers !== undefined && { workers }),
        providers: {
          openai: {
            credentials: ['sk-bench'],
            streamUsage: 'as-sent',
            dialects: { openai: { baseUrl: `http://127.0.0.1:${upstreamPort}/v1` } },
          },
        },
        models: {
          'bench-model': {
            provider: 'openai',
            outputTokensMax: 64,
            rubPerMillion: { input: '1', output: '2' },
          },
        },
      },
    })
    return {
      ...measure(started.child),
      name,
      port: Number(new URL(started.url).port),
      headers: [`Authorization: Bearer ${started.key}`],
      beganMs: started.beganMs,
      outputFile: started.outputFile,
      async stop() {
        await started.stop()
        started.remove()
      },
    }
  }
}

async function listens(port: number): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    const isOpen = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1')
      socket.on('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
    if (isOpen) return
    await delay(5)
  }
  throw new Error(`Nothing listens on port ${port} after 10 seconds.`)
}
