import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCli } from '../../lib/cli/program.ts'
import { plugins } from '../../plugins/index.ts'
import { plainNode, processEnvironment } from '../fixtures/process-environment.ts'

const bin = join(import.meta.dirname, '../../bin/gateway.ts')

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** A process that takes longer is killed. */
  readonly timeout?: number
}

/** Runs the command line as users do: in a process of its own, with only PATH in its environment. */
export function runGateway(words: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn('env', [...plainNode, bin, ...words], {
      cwd: options.cwd,
      env: { ...processEnvironment, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: options.timeout,
      killSignal: 'SIGKILL',
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', code => resolve({ code, stdout, stderr }))
  })
}

/** Runs the command line in this process, which takes a tenth of the time. */
export async function runHere(words: readonly string[]): Promise<Finished> {
  const written = { stdout: '', stderr: '' }
  const code = await runCli(words, {
    version: '0.0.0',
    stdout: { write: text => (written.stdout += text) },
    stderr: { write: text => (written.stderr += text) },
    loadPlugins: () => Promise.resolve(plugins),
    startGateway: () => Promise.reject(new Error('no gateway is started here')),
  })
  return { code, ...written }
}

/** Writes a small configuration with a store of its own. Returns the config's file and the store's. */
export function writeConfig(folder: string, more = ''): { config: string; store: string } {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'gateway.yaml')
  writeFileSync(
    config,
    `listen: { port: 0 }
store: sqlite:g.db
providers: { sandbox: {} }
models: { sandbox-chat: { provider: sandbox, rubPerMillion: { input: "100", output: "400" } } }
${more}`,
  )
  return { config, store: join(folder, 'g.db') }
}
