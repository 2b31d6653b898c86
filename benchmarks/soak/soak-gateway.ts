import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ControlClient } from '../../lib/control/control-client.ts'

export const rubPerMillion = { input: '0.37', output: '1.113' } as const

/** What a usage costs by that price, in micro-roubles, by arithmetic of its own. */
export function costMicros(input: number, output: number): number {
  return Math.floor((input * 370 + output * 1113 + 500) / 1000)
}

export interface SoakGateway {
  readonly url: string
  readonly storeFile: string
  readonly accountId: string
  readonly key: string
  readonly creditMicros: number
  isRunning(): boolean
  rssBytes(): number
  socketCount(): number
  /** Ends it as an operator would; the exit code. */
  stop(): Promise<number | null>
  remove(): void
}

const bin = join(import.meta.dirname, '../../bin/gateway.ts')

/** `gateway serve` in a process of its own, in a folder of its own, before this provider. */
export async function startSoakGateway(origin: string): Promise<SoakGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'soak-'))
  const config = join(folder, 'gateway.yaml')
  const storeFile = join(folder, 'g.db')
  const dialects = { openai: { baseUrl: `${origin}/v1` } }
  writeFileSync(
    config,
    stringify({
      listen: { port: 0 },
      store: `sqlite:${storeFile}`,
      providers: { openai: { credentials: ['sk-x'], streamUsage: 'as-sent', dialects } },
      models: { 'test-model': { provider: 'openai', outputTokensMax: 60, rubPerMillion } },
    }),
  )
  const logFile = join(folder, 'log')
  const log = openSync(logFile, 'w')
  const child = spawn(process.execPath, [bin, 'serve', '--config', config], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'ignore', log],
  })
  closeSync(log)
  const url = await listening(child, logFile)
  const accounts = new ControlClient(`${storeFile}.sock`)
  const { id: accountId } = await accounts.createAccount({ email: 'soak@example.org' })
  const creditMicros = 1e12
  await accounts.credit({ accountId, amountMicros: creditMicros, reason: 'soak' })
  const { key } = await accounts.createKey({ accountId })
  const proc = `/proc/${child.pid}`
  return {
    url,
    storeFile,
    accountId,
    key,
    creditMicros,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    rssBytes: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1]) * 1024,
    socketCount: () => countSockets(`${proc}/fd`),
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      return child.exitCode
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
}

function countSockets(folder: string): number {
  return readdirSync(folder).filter(name => {
    try {
      return readlinkSync(join(folder, name)).startsWith('socket:')
    } catch (error) {
      // Closed between the two calls.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
      throw error
    }
  }).length
}

async function listening(child: ChildProcess, logFile: string): Promise<string> {
  for (;;) {
    const text = readFileSync(logFile, 'utf8')
    const found = /"url":"([^"]+)"/.exec(text)
    if (found?.[1] !== undefined) return found[1]
    if (child.exitCode !== null) throw new Error(`The gateway ended before it listened:\n${text}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
