import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { storeReports } from '../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../lib/stores/sqlite/sqlite-queries.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import type { RawClient } from '../fixtures/raw-client.ts'
import { startPaidGateway } from '../fixtures/paid-gateway.ts'
import { until } from '../fixtures/test-gateway.ts'
import { runGateway } from '../cli/run-gateway.ts'
import Database from 'better-sqlite3'

/** How long the store is out of order; `npm run test:crash` makes it 30. */
const faultMs = Number(process.env['LOCK_SECONDS'] ?? 2) * 1000

const event = (fields: string): string =>
  `data: {"id":"c","object":"chat.completion.chunk","model":"test-model",${fields}}\n\n`
const firstEvents = event('"choices":[{"index":0,"delta":{"content":"Once"}}]')
const lastEvents = `${event('"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":7,"total_tokens":1007}')}data: [DONE]\n\n`
/** 1000 tokens in and 7 out by the fixture's price, rounded half up. */
const costRoubles = '0.000378'

/** An upstream whose streams begin at once, and end when `letGo` is called. */
async function startHeldUpstream(t: Test) {
  let letGo = (): void => undefined
  let gate = Promise.resolve()
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(firstEvents)
      void gate.then(() => response.end(lastEvents))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      letGo = resolve
    },
    letGo: () => letGo(),
  }
}

const body = JSON.stringify({
  model: 'test-model',
  stream: true,
  stream_options: { include_usage: true },
  max_tokens: 60,
  messages: [{ role: 'user', content: 'Tell me a short story, please.' }],
})

async function ask(t: Test, url: string, key: string): Promise<RawClient> {
  const client = await connectRaw(t, url)
  client.socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  return client
}

const answerOf = (client: RawClient) => parseAnswers(client.received())[0]
const isWhole = (client: RawClient): boolean => answerOf(client)?.isWhole === true

async function chargesOf(file: string, accountId: string): Promise<ChargeReport[]> {
  const reports = storeReports(new SqliteQueries(file), { clock: systemClock })
  try {
    return await Array.fromAsync(reports.charges(accountId))
  } finally {
    await reports.close()
  }
}

/** Sends requests until a response has the status; returns their clients, that one last. */
async function askUntil(t: Test, url: string, key: string, status: number): Promise<RawClient[]> {
  const attempts: RawClient[] = []
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const client = await ask(t, url, key)
    attempts.push(client)
    for (let waited = 0; waited < 20 && answerOf(client) === undefined; waited += 1) await delay(5)
    if (answerOf(client)?.status === status) return attempts
    if (answerOf(client) !== undefined) await delay(20)
  }
  throw new Error(`no response had the status ${status}`)
}

/** A fault that keeps a store from being written, until it ends. */
interface StoreFault {
  readonly name: string
  /** Makes a folder in which the fault is possible; undefined where this system does not allow it. */
  prepare(t: Test, folder: string): string | undefined
  /** Begins the fault for the process that writes the store; returns a function that ends it. */
  begin(storeFile: string, pid: number): () => void
}

function runs(command: string, words: readonly string[]): boolean {
  return spawnSync(command, words, { stdio: 'ignore' }).status === 0
}

const foreignLock: StoreFault = {
  name: 'a foreign lock',
  prepare: (_, folder) => folder,
  begin(storeFile) {
    const database = new Database(storeFile)
    database.exec('BEGIN IMMEDIATE')
    return () => {
      database.exec('ROLLBACK')
      database.close()
    }
  },
}

/** A real ENOSPC of the kernel: a small file system of its own, which is filled. */
const fullDisk: StoreFault = {
  name: 'a full disk',
  prepare(t) {
    const mount = mkdtempSync(join(tmpdir(), 'gw-disk-'))
    const isMounted = runs('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', mount])
    t.teardown(() => {
      if (isMounted) execFileSync('umount', ['-l', mount])
      rmdirSync(mount)
    })
    return isMounted ? mount : undefined
  },
  begin(storeFile) {
    const filler = `${storeFile}.filler`
    const descriptor = openSync(filler, 'w')
    const page = Buffer.alloc(4096, 1)
    try {
      for (;;) writeSync(descriptor, page)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
    } finally {
      closeSync(descriptor)
    }
    return () => rmSync(filler)
  },
}

/** The writer's process may not make files longer: a substitute where nothing can be mounted. */
const fileSizeLimit: StoreFault = {
  name: 'a limit on the size of files',
  prepare: (_, folder) => (runs('prlimit', ['--version']) ? folder : undefined),
  begin(storeFile, pid) {
    const { size } = statSync(`${storeFile}-wal`)
    // The soft limit only, since a process cannot raise its hard limit again.
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${size}:`])
    return () => void execFileSync('prlimit', ['--pid', String(pid), '--fsize=unlimited:'])
  },
}

const storeFaults: readonly StoreFault[] = [foreignLock, fullDisk, fileSizeLimit]

async function survives(t: Test, fault: StoreFault): Promise<void> {
  const folder = t.testdir()
  const storeFolder = fault.prepare(t, folder)
  if (storeFolder === undefined) {
    t.comment('skipped: this system does not allow the fault')
    t.pass()
    return
  }
  const upstream = await startHeldUpstream(t)
  const options = { folder, origin: upstream.origin, rub: 1000, storeFolder }
  const { config, storeFile, process: gateway, accountId, key } = await startPaidGateway(t, options)
  upstream.hold()
  const running = await Promise.all(Array.from({ length: 5 }, () => ask(t, gateway.url, key)))
  for (const client of running) await client.waitFor('Once')

  const began = performance.now()
  const end = fault.begin(storeFile, gateway.child.pid ?? 0)
  const attempts = await askUntil(t, gateway.url, key, 503)
  const refused = attempts.pop()
  const refusal = refused === undefined ? undefined : answerOf(refused)
  t.equal(refusal?.headers.get('retry-after'), '1')
  t.match(refusal?.body.toString(), /"code":"overloaded"/)
  t.ok(attempts.length > 0, 'some were admitted before the fault showed')
  await until(() => gateway.written().includes('the store cannot be written; no paid request is admitted'))
  upstream.letGo()
  for (const client of running) await client.waitFor('[DONE]')
  await delay(Math.max(100, faultMs - (performance.now() - began)))
  t.equal(running.filter(isWhole).length, 0, 'running streams continue, and do not end uncharged')
  t.strictSame(await chargesOf(storeFile, accountId), [])
  t.equal(
    attempts.filter(client => client.received().length > 0).length,
    0,
    'a request without a durable hold receives nothing',
  )

  end()
  const all = [...running, ...attempts]
  await until(() => all.every(isWhole), 10_000)
  await until(() => gateway.written().includes('the store can be written again'))
  all.push(...(await askUntil(t, gateway.url, key, 200)))
  await until(() => all.every(client => answerOf(client)?.status === 503 || isWhole(client)), 10_000)

  const charges = await chargesOf(storeFile, accountId)
  const whole = all.filter(client => answerOf(client)?.status === 200)
  const ids = whole.map(client => String(answerOf(client)?.headers.get('x-gateway-request-id')))
  t.strictSame(charges.map(charge => charge.requestId).sort(), ids.sort(), 'each is charged once')
  t.ok(charges.every(charge => charge.amount === costRoubles && charge.outcome === 'completed'))
  t.match(await runGateway(['balance', '--config', config, '--account', accountId, '--json']), {
    stdout: /"held":"0.000000"/,
  })
  t.match(await runGateway(['verify', '--config', config]), { code: 0 })
}

for (const fault of storeFaults) {
  await t.test(
    `${fault.name}: new requests are refused, streams end after the fault, and each is charged once`,
    { timeout: 60_000 + faultMs },
    t => survives(t, fault),
  )
}
