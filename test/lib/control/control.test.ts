import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { basename, dirname, join, relative } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { AccountError } from '../../../lib/accounts/accounts.ts'
import { keyDigest } from '../../../lib/accounts/memory-key-directory.ts'
import { systemClock } from '../../../lib/platform/clock.ts'
import { loadConfig } from '../../../lib/config/load-config.ts'
import { connectAccounts } from '../../../lib/control/connect-accounts.ts'
import { ControlClient, ControlUnreachableError, isListening } from '../../../lib/control/control-client.ts'
import { openControlServer } from '../../../lib/control/control-server.ts'
import { createLog } from '../../../lib/observability/log.ts'
import { openSqliteStore } from '../../../lib/stores/sqlite/sqlite.ts'
import { StoreLockedError } from '../../../lib/stores/shared/store-queries.ts'

const lines: string[] = []
const log = createLog({ level: 'info', destination: { write: line => lines.push(line) } })

async function openStore(t: Test, folder: string) {
  const file = join(folder, 'g.db')
  const store = await openSqliteStore({ file, durability: 'strict', clock: systemClock, log })
  t.teardown(() => store.close())
  return { file, store }
}

/** An open store with its control socket, as a server has it. */
async function startServer(t: Test) {
  const { file, store } = await openStore(t, t.testdir())
  const server = await openControlServer({
    storeFile: file,
    accounts: store.accounts,
    records: () => store.records(),
    log,
  })
  t.teardown(() => server.close())
  return { file, store, server, client: new ControlClient(server.path) }
}

function post(
  path: string,
  url: string,
  body: string,
  method = 'POST',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: path, path: url, method }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

await t.test('changes over the socket are in the memory of the server before the response', async t => {
  const { store, client } = await startServer(t)

  const { id: accountId } = await client.createAccount({ email: 'a@b.ru', name: 'A' })
  const credit = { accountId, amountMicros: 5_000_000, reason: 'test', idempotencyKey: 'one' }
  t.match(await client.credit(credit), { balanceMicros: 5_000_000 })
  t.match(await client.credit(credit), { balanceMicros: 5_000_000 }, 'a repeated credit is not booked again')
  t.match(await store.ledger.balance(accountId), { balanceMicros: 5_000_000 })

  const { id, key } = await client.createKey({
    accountId,
    name: 'k',
    models: ['gpt-5', 'sandbox*'],
    budgetMicros: 1000,
    budgetPeriod: 'day',
    expiresAt: 4_000_000_000_000,
    ipAddresses: ['10.0.0.0/8'],
  })
  t.match(store.keys.findByDigest(keyDigest(key)), {
    id,
    accountId,
    name: 'k',
    models: ['gpt-5', 'sandbox*'],
    budgetMicros: 1000,
    budgetPeriod: 'day',
    expiresAt: 4_000_000_000_000,
    ipAddresses: ['10.0.0.0/8'],
  })
  await client.revokeKey(id)
  t.type(store.keys.findByDigest(keyDigest(key))?.revokedAt, 'number')
  t.notMatch(lines.join(), key, 'the key is not logged')
})

await t.test('errors of accounts reach the client with their codes', async t => {
  const { client } = await startServer(t)

  await client.createAccount({ email: 'a@b.ru' })
  await t.rejects(client.createAccount({ email: 'a@b.ru' }), { code: 'email_taken' })
  await t.rejects(client.createAccount({ email: 'nobody' }), AccountError)
  await t.rejects(client.credit({ accountId: 'x', amountMicros: 1, reason: 'r' }), {
    code: 'account_not_found',
  })
  await t.rejects(client.revokeKey('x'), { code: 'key_not_found' })
})

await t.test('only this user can use the socket, and it is deleted when the server closes', async t => {
  const { file, store } = await openStore(t, t.testdir())
  const server = await openControlServer({
    storeFile: file,
    accounts: store.accounts,
    records: () => store.records(),
    log,
  })

  t.equal(server.path, `${file}.sock`)
  t.equal(statSync(server.path).mode & 0o777, 0o600)
  await server.close()
  t.notOk(existsSync(server.path))
})

await t.test('unknown operations and invalid requests are refused', async t => {
  const { server } = await startServer(t)

  t.match(await post(relative(process.cwd(), server.path), '/account.destroy', '{}'), {
    status: 404,
    text: /operation_unknown/,
  })
  t.match(await post(relative(process.cwd(), server.path), '/toString', '{}'), { status: 404 })
  t.match(await post(relative(process.cwd(), server.path), '/ping', '', 'GET'), { status: 404 })
  t.match(await post(relative(process.cwd(), server.path), '/account.create', '{'), {
    status: 400,
    text: /request_invalid/,
  })
  t.match(await post(relative(process.cwd(), server.path), '/account.create', '{"email":3}'), { status: 400 })
  t.match(
    await post(relative(process.cwd(), server.path), '/account.create', '{"email":"a@b.ru","role":"admin"}'),
    { status: 400 },
  )
  t.match(
    await post(
      relative(process.cwd(), server.path),
      '/account.credit',
      '{"accountId":"x","amountMicros":0.5,"reason":"r"}',
    ),
    {
      status: 400,
    },
  )
  t.match(await post(relative(process.cwd(), server.path), '/ping', '{}'), {
    status: 200,
    text: JSON.stringify({ pid: process.pid }),
  })
})

await t.test('the error of an invalid request names the member', async t => {
  const { client } = await startServer(t)

  await t.rejects(client.credit({ accountId: 'a', amountMicros: 1, reason: '' }), { message: /reason: \S/ })
  await t.rejects(client.createKey({ accountId: 'a', name: 'x'.repeat(1001) }), { message: /name: \S/ })
})

await t.test('the stale socket of a killed server is replaced', async t => {
  const { file, store } = await openStore(t, t.testdir())
  leaveStaleSocket(`${file}.sock`)
  t.equal(await isListening(`${file}.sock`), false)

  const server = await openControlServer({
    storeFile: file,
    accounts: store.accounts,
    records: () => store.records(),
    log,
  })
  t.teardown(() => server.close())
  t.equal(await isListening(server.path), true)
})

await t.test('a socket in use, and a file that is no socket, are refused and left in place', async t => {
  const { file, store } = await startServer(t)
  const options = { storeFile: file, accounts: store.accounts, records: () => store.records(), log }
  await t.rejects(openControlServer(options), /another gateway listens/)

  const other = join(t.testdir({ 'x.db.sock': 'precious' }), 'x.db')
  await t.rejects(openControlServer({ ...options, storeFile: other }), /in the way/)
  t.ok(existsSync(`${other}.sock`))
})

await t.test('a folder with a long path works, and a file name that is too long is refused', async t => {
  const folder = join(t.testdir(), 'x'.repeat(120))
  mkdirSync(folder)
  const { file, store } = await openStore(t, folder)
  const server = await openControlServer({
    storeFile: file,
    accounts: store.accounts,
    records: () => store.records(),
    log,
  })
  t.match(await new ControlClient(server.path).ping(), { pid: process.pid })
  await server.close()
  t.notOk(existsSync(server.path))

  const long = join(t.testdir(), 'y'.repeat(120))
  await t.rejects(
    openControlServer({ storeFile: long, accounts: store.accounts, records: () => store.records(), log }),
    /shorter path/,
  )
  await t.rejects(new ControlClient(`${long}.sock`).ping(), /shorter path/)
})

await t.test('while a server runs, accounts are changed through it', async t => {
  const { file, store } = await startServer(t)
  const connection = await connectAccounts(configFor(file).store, { clock: systemClock, log })

  t.equal(connection.through, 'server')
  const { id } = await connection.accounts.createAccount({ email: 'a@b.ru' })
  await connection.close()
  t.match(await store.ledger.balance(id), { balanceMicros: 0 })
})

await t.test('without a server, the store is opened directly and released afterwards', async t => {
  const file = join(t.testdir(), 'data/g.db')
  const config = configFor(file)
  const first = await connectAccounts(config.store, { clock: systemClock, log })
  t.equal(first.through, 'store')
  await first.accounts.createAccount({ email: 'a@b.ru' })
  await first.close()

  leaveStaleSocket(`${file}.sock`)
  const second = await connectAccounts(config.store, { clock: systemClock, log })
  t.equal(second.through, 'store')
  await t.rejects(second.accounts.createAccount({ email: 'a@b.ru' }), { code: 'email_taken' })
  await second.close()
})

await t.test('a client waits for a server that has the lock but does not listen yet', async t => {
  const { file, store } = await openStore(t, t.testdir())
  const connecting = connectAccounts(configFor(file).store, { clock: systemClock, log })
  const server = await openControlServer({
    storeFile: file,
    accounts: store.accounts,
    records: () => store.records(),
    log,
  })
  t.teardown(() => server.close())

  t.equal((await connecting).through, 'server')
})

await t.test('a lock whose owner never listens is an error', async t => {
  const { file } = await openStore(t, t.testdir())
  const connecting = connectAccounts(configFor(file).store, { clock: systemClock, log, startingMs: 60 })

  await t.rejects(connecting, StoreLockedError)
})

await t.test('a foreign socket and none are different errors', async t => {
  await t.rejects(new ControlClient(join(t.testdir(), 'none.sock')).ping(), ControlUnreachableError)

  const other = join(t.testdir(), 'other.sock')
  const silent = createServer(socket => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'))
  silent.listen(relative(process.cwd(), other))
  t.teardown(() => silent.close())
  await t.rejects(new ControlClient(other).ping(), /no gateway/)
})

function configFor(file: string) {
  mkdirSync(dirname(file), { recursive: true })
  const configFile = `${file}.yaml`
  writeFileSync(configFile, `store: sqlite:${file}\n`)
  return loadConfig(configFile, { env: {} }).config
}

/** Leaves a socket behind, as a killed process does. */
function leaveStaleSocket(path: string): void {
  const script = `require('node:net').createServer().listen(${JSON.stringify(basename(path))}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script], { cwd: dirname(path) })
}
