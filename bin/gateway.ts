#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { runCli } from '../lib/cli/program.ts'

// When compiled, this file is one folder deeper.
const manifest = new URL(
  import.meta.url.endsWith('.ts') ? '../package.json' : '../../package.json',
  import.meta.url,
)
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }

// A reader such as `head` may close the pipe before everything is written; that is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// The same program, compiled or not.
const workerFile = join(import.meta.dirname, `gateway-worker${extname(import.meta.filename)}`)
const loadPlugins = async () => (await import('../plugins/index.ts')).plugins

async function ask(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^(?:y|yes|д|да)$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}

process.exitCode = await runCli(process.argv.slice(2), {
  version,
  stdout: process.stdout,
  stderr: process.stderr,
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
  loadPlugins,
  async startGateway(options) {
    const [{ startGateway }, plugins] = await Promise.all([
      import('../lib/gateway/gateway.ts'),
      loadPlugins(),
    ])
    return startGateway({ ...options, plugins, workerFile })
  },
})

// A log without a reader must not keep a finished process alive.
setTimeout(() => {
  if (process.stdout.writableLength === 0) process.exit()
}, 1000).unref()
