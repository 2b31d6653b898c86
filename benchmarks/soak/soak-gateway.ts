import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { startGatewayProcess, type GatewayProcess } from '../gateway-process.ts'

export const rubPerMillion = { input: '0.37', output: '1.113' } as const

/** What a usage costs by that price, in micro-roubles, by arithmetic of its own. */
export function costMicros(input: number, output: number): number {
  return Math.floor((input * 370 + output * 1113 + 500) / 1000)
}

export interface SoakGateway extends GatewayProcess {
  isRunning(): boolean
  rssBytes(): number
  socketCount(): number
}

/** The gateway in a process of its own, before this provider. */
export async function startSoakGateway(origin: string): Promise<SoakGateway> {
  const dialects = { openai: { baseUrl: `${origin}/v1` } }
  const gateway = await startGatewayProcess({
    config: {
      providers: { openai: { credentials: ['sk-x'], streamUsage: 'as-sent', dialects } },
      models: { 'test-model': { provider: 'openai', outputTokensMax: 60, rubPerMillion } },
    },
  })
  const { child } = gateway
  const proc = `/proc/${child.pid}`
  return {
    ...gateway,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    rssBytes: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1]) * 1024,
    socketCount: () => countSockets(`${proc}/fd`),
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
