import { execFileSync } from 'node:child_process'
import { appendFileSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { callConfig, dialectCalls, type DialectCall } from '../../fixtures/dialect-call.ts'
import { fillLog } from '../../fixtures/fill-log.ts'
import { plainAnswer, startRawUpstream } from '../../fixtures/raw-upstream.ts'
import { serveProcess } from '../../fixtures/serve-process.ts'
import { startTestGateway } from '../../fixtures/test-gateway.ts'
import { admin, adminUrlOf, ask, json, sandbox } from './fault.ts'
import type { Fault } from './fault.ts'

const [openai] = dialectCalls as readonly [DialectCall]

/** Writes to a file until the disk is full. */
function fillDisk(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (let size = 1 << 20; size >= 1; size = size >> 1) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(file)
  }
}

/** Faults of the gateway itself, its store, its machine and its configuration. */
export const houseFaults: readonly Fault[] = [
  {
    alert: 'GatewayDown',
    cause: 'the process is killed',
    async start(t) {
      const { adminUrl, child, exited } = await serveProcess(t, { config: sandbox })
      return {
        adminUrl,
        async strike() {
          child.kill('SIGKILL')
          await exited
        },
      }
    },
  },
  {
    alert: 'GatewayStoreUnavailable',
    cause: 'the store is down: another process keeps it locked',
    async start(t) {
      const gateway = await startTestGateway(t, { config: { ...sandbox, admin } })
      return {
        adminUrl: adminUrlOf(gateway),
        async strike() {
          const other = new Database(gateway.storeFile)
          t.teardown(() => other.close())
          other.exec('BEGIN IMMEDIATE')
          void ask(gateway, 'sandbox-chat')
        },
      }
    },
  },
  {
    alert: 'GatewayStoreUnavailable',
    cause: 'the disk is full',
    async start(t) {
      const disk = mkdtempSync(join(tmpdir(), 'gw-disk-'))
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk])
      t.teardown(() => execFileSync('umount', ['--lazy', disk]))
      const before = process.env['TMPDIR']
      process.env['TMPDIR'] = disk
      const gateway = await startTestGateway(t, { config: { ...sandbox, admin } }).finally(() => {
        if (before === undefined) delete process.env['TMPDIR']
        else process.env['TMPDIR'] = before
      })
      return {
        adminUrl: adminUrlOf(gateway),
        async strike() {
          const filling = join(disk, 'filling')
          // Runs before the gateway is closed, which still writes.
          t.teardown(() => rmSync(filling))
          fillDisk(filling)
          // Pages already in SQLite's log can be overwritten; new ones cannot be written.
          for (let count = 0; count < 200; count += 1) await ask(gateway, 'sandbox-chat')
        },
      }
    },
  },
  {
    alert: 'GatewayOverloaded',
    cause: 'a slow provider has as many requests as its limit allows',
    async start(t) {
      const upstream = await startRawUpstream(t, async () => {
        await delay(600_000, undefined, { ref: false })
        return plainAnswer(200, json, openai.document)
      })
      const limits = { exchangesMax: 10 }
      const gateway = await startTestGateway(t, {
        config: callConfig(upstream.origin, {}, { admin, limits }),
      })
      return {
        adminUrl: adminUrlOf(gateway),
        strike: () => Promise.all(Array.from({ length: 12 }, () => ask(gateway))),
      }
    },
  },
  {
    alert: 'GatewayReloadFailed',
    cause: 'a configuration with a mistake is loaded',
    async start(t) {
      const { adminUrl, child, configFile } = await serveProcess(t, { config: sandbox })
      return {
        adminUrl,
        async strike() {
          appendFileSync(configFile, 'providerz: {}\n')
          child.kill('SIGHUP')
        },
      }
    },
  },
  {
    alert: 'GatewayLogDropped',
    cause: 'the log is not read',
    async start(t) {
      const gateway = await serveProcess(t, { config: sandbox })
      return {
        adminUrl: gateway.adminUrl,
        async strike() {
          gateway.child.stderr?.pause()
          await fillLog(gateway)
        },
      }
    },
  },
  {
    alert: 'GatewayPluginFailing',
    cause: 'an external plugin throws',
    async start(t) {
      const file = join(mkdtempSync(join(tmpdir(), 'gw-plugin-')), 'broken.js')
      t.teardown(() => rmSync(join(file, '..'), { recursive: true }))
      const hooks = "onResponse() { throw new Error('oops') }"
      writeFileSync(file, `export const broken = { name: 'broken', create() { return { ${hooks} } } }`)
      const plugins = ['auth', 'model-router', file, 'size-limit', 'upstream-proxy', 'usage-tap']
      const gateway = await startTestGateway(t, { config: { ...sandbox, admin, plugins } })
      return { adminUrl: adminUrlOf(gateway), strike: () => ask(gateway, 'sandbox-chat') }
    },
  },
]
