import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import { startPaymentSandbox } from '../../lib/sandbox/payments/payment-sandbox.ts'
import { plugins } from '../../plugins/index.ts'
import { runHere } from '../cli/run-gateway.ts'
import { startCentralBank } from '../fixtures/central-bank.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

/** A gateway, and what makes it ill. */
export interface Fault {
  /** The alert that has to fire. */
  readonly alert: string
  readonly cause: string
  /** Starts a gateway that is well. */
  start(t: Test): Promise<{ readonly gateway: TestGateway; strike(): Promise<unknown> }>
}

const [openai] = dialectCalls as readonly [DialectCall]
const admin = { listen: { host: '127.0.0.1', port: 0 } }
const json = ['content-type', 'application/json']
const sandbox = {
  providers: { sandbox: {} },
  models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100', output: '200' } } },
}
const day = (offset: number): string => moscowDay(Date.now() + offset * 86_400_000)

/** One chat; what becomes of it is for the metrics to say. */
export async function ask({ url, key }: TestGateway, model = 'test-model'): Promise<number | undefined> {
  const body = JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    .then(async got => ({ status: got.status, text: await got.text() }))
    .catch(() => undefined)
  return response?.status
}

/** A gateway whose traffic nothing is wrong with. */
export function startHealthy(t: Test): Promise<TestGateway> {
  return startTestGateway(t, { config: { ...sandbox, admin }, rub: 100_000 })
}

/** Writes into a file until nothing more can be. */
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

export const faults: readonly Fault[] = [
  {
    alert: 'GatewayStoreUnavailable',
    cause: 'the store is down: another process keeps it locked',
    async start(t) {
      const gateway = await startTestGateway(t, { config: { ...sandbox, admin } })
      return {
        gateway,
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
        gateway,
        async strike() {
          const filling = join(disk, 'filling')
          // Before the gateway is closed, which writes what it still has to.
          t.teardown(() => rmSync(filling))
          fillDisk(filling)
          // What is in the log of SQLite already can be written over; what is new cannot.
          for (let count = 0; count < 200; count += 1) await ask(gateway, 'sandbox-chat')
        },
      }
    },
  },
  {
    alert: 'GatewayCredentialSuspended',
    cause: 'a provider refuses the credential',
    async start(t) {
      const upstream = await startRawUpstream(t, () =>
        plainAnswer(401, json, '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}'),
      )
      const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
      return { gateway, strike: () => ask(gateway) }
    },
  },
  {
    alert: 'GatewayEgressDown',
    cause: 'an egress is dead',
    async start(t) {
      const config = callConfig(
        'https://provider.example.org',
        { egress: ['berlin'] },
        { admin, egress: { berlin: { url: 'http://127.0.0.1:9' } } },
      )
      const gateway = await startTestGateway(t, { config })
      return { gateway, strike: () => ask(gateway) }
    },
  },
  {
    alert: 'GatewayProviderSlow',
    cause: 'a provider takes more than a minute to answer',
    async start(t) {
      const upstream = await startRawUpstream(t, async () => {
        await delay(65_000)
        return plainAnswer(200, json, openai.document)
      })
      const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
      return {
        gateway,
        async strike() {
          // One after the other, so that the series rises while it is looked at.
          for (let count = 0; count < 20; count += 1) {
            void ask(gateway)
            await delay(500)
          }
        },
      }
    },
  },
  {
    alert: 'GatewayOverrun',
    cause: 'usage costs more than the account has',
    async start(t) {
      const usage = { prompt_tokens: 10, completion_tokens: 1_000_000, total_tokens: 1_000_010 }
      const document = JSON.stringify({ ...(JSON.parse(openai.document) as object), usage })
      const upstream = await startRawUpstream(t, () => plainAnswer(200, json, document))
      const gateway = await startTestGateway(t, {
        config: callConfig(upstream.origin, {}, { admin }),
        rub: 50,
      })
      return { gateway, strike: () => ask(gateway) }
    },
  },
  {
    alert: 'GatewayRateHeld',
    cause: 'the exchange rate jumps',
    async start(t) {
      const bank = await startCentralBank(t, { [day(0)]: '90,0000' })
      const gateway = await startTestGateway(t, {
        config: {
          providers: sandbox.providers,
          models: { 'sandbox-chat': { provider: 'sandbox', usdPerMillion: { input: '1', output: '3' } } },
          admin,
          prices: {
            usdRub: { from: 'cbr', marginPercent: 2, changePercentMax: 5, url: bank.url },
            coefficient: '1.30',
          },
        },
      })
      return {
        gateway,
        async strike() {
          bank.rates.set(day(1), '120,0000')
          await gateway.gateway.reload(loadConfig(gateway.configFile, { env: {}, plugins }).config)
        },
      }
    },
  },
  {
    alert: 'GatewayPaymentDiffers',
    cause: 'a reconciliation finds a difference',
    async start(t) {
      const provider = await startPaymentSandbox({ clock: systemClock })
      t.teardown(() => provider.close())
      const yookassa = { shopId: 'sandbox', secretKey: 'test_sandbox', baseUrl: `${provider.origin}/v3` }
      const gateway = await startTestGateway(t, {
        config: { ...sandbox, admin, payments: { provider: 'yookassa', yookassa } },
      })
      const run = (...words: string[]) => runHere([...words, '--config', gateway.configFile])
      return {
        gateway,
        async strike() {
          await run('payment', 'create', '--account', gateway.accountId, '--rub', '500')
          for (const [id, payment] of provider.shop.payments) {
            const body = { ...payment.body, amount: { value: '5.00', currency: 'RUB' as const } }
            provider.shop.payments.set(id, { ...payment, status: 'succeeded', body })
          }
          await run('payment', 'reconcile')
        },
      }
    },
  },
]
