import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keyDigest } from '../../lib/accounts/memory-key-directory.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import { openControlServer } from '../../lib/control/control-server.ts'
import { createLog } from '../../lib/observability/log.ts'
import { openSqliteStore } from '../../lib/stores/sqlite/sqlite.ts'
import { chargeOf, holdOf } from '../contracts/store-under-test.ts'
import { runGateway, runHere, writeConfig } from './run-gateway.ts'

function member(json: string, name: string): string {
  const value = (JSON.parse(json) as Record<string, unknown>)[name]
  if (typeof value !== 'string') throw new TypeError(`no ${name} in ${json}`)
  return value
}

await t.test('a store whose folder cannot be made is reported at once, with what to do', async t => {
  const config = join(t.testdir(), 'gateway.yaml')
  writeFileSync(config, 'store: sqlite:/proc/none/gateway.db\n')

  const words = ['account', 'create', '--email', 'a@b.ru', '--config', config]
  const { code, stderr } = await runGateway(words, { timeout: 20_000 })

  t.equal(code, 1)
  t.match(stderr, 'the folder of /proc/none/gateway.db cannot be made')
  t.match(stderr, 'name a file in a folder that this user may write')
})

await t.test('a file that is not a store is reported, with what to do', async t => {
  const folder = t.testdir({ 'g.db': 'no store' })
  writeFileSync(join(folder, 'gateway.yaml'), 'store: sqlite:g.db\n')

  const { code, stderr } = await runHere(['account', 'list', '--config', join(folder, 'gateway.yaml')])

  t.equal(code, 1)
  t.match(stderr, /g\.db is damaged or not a SQLite database; restore it from a backup/)
})

await t.test('without a server too, holds are limited by the money and the configured risk', async t => {
  for (const [name, hold, code] of [
    ['as shipped', '', 0],
    ['no risk', 'hold: { riskRub: "0", riskOfPaid: "0" }\n', 1],
  ] as const) {
    const { config, store: file } = writeConfig(join(t.testdir(), name), hold)
    const rule = { baseMicros: 1_000_000_000, perRoubleMicros: 0, maxMicros: 1_000_000_000 }
    const store = await openSqliteStore({
      file,
      durability: 'strict',
      clock: systemClock,
      riskRule: () => rule,
    })
    const { id } = await store.accounts.createAccount({ email: 'a@b.ru' })
    await store.accounts.credit({ accountId: id, amountMicros: 100_000_000, reason: 'test' })
    const sums = { likelyMicros: 1_000_000, worstMicros: 150_000_000, strictMicros: 150_000_000 }
    const exchange = { exchangeId: 'one', sequence: 0, accountId: id, keyId: 'key' }
    await store.ledger.openJob(await store.ledger.placeHold({ ...exchange, ...sums }), {
      provider: 'openai',
      kind: 'batch',
      id: 'batch_1',
      credential: 'openai#1',
      dialect: 'openai',
      operation: 'batches',
      model: 'gpt-5',
      facts: { upstreamModel: 'gpt-5', priceVersions: {} },
      nextPollAt: Date.now() + 60_000,
      deadlineAt: Date.now() + 60_000_000,
    })
    await store.close()
    const debit = ['account', 'debit', id, '--rub', '1', '--reason', 'error', '--config', config]
    t.match(await runHere(debit), { code }, name)
  }
})

await t.test('accounts, money and keys without a server', async t => {
  const folder = t.testdir()
  const { config } = writeConfig(folder)
  const run = (...words: string[]) => runHere([...words, '--config', config])

  const person = ['--email', 'a@b.ru', '--name', 'A']
  const created = await runGateway(['account', 'create', ...person, '--json', '--config', config])
  t.match(created, { code: 0, stderr: '' })
  const id = member(created.stdout, 'id')
  t.same(JSON.parse(created.stdout), { id })

  const credited = await run('account', 'credit', id, '--rub', '100.00', '--reason', 'start', '--json')
  t.match(JSON.parse(credited.stdout), { account: id, amount: '100.000000', balance: '100.000000' })
  const debited = await run('account', 'debit', id, '--rub', '0.50', '--reason', 'error', '--json')
  t.match(JSON.parse(debited.stdout), { account: id, amount: '0.500000', balance: '99.500000' })
  t.match(await run('account', 'debit', id, '--rub', '99.51', '--reason', 'all'), {
    code: 1,
    stderr: /cannot be taken out/,
  })
  for (const kind of ['credit', 'debit']) {
    t.match(await run('account', kind, id, '--rub', '0', '--reason', 'nothing'), {
      code: 1,
      stderr: `gateway: a ${kind} of 0 roubles moves nothing: name more than 0\n`,
    })
  }
  await run('account', 'credit', id, '--rub', '0.50', '--reason', 'back')
  const balance = await run('balance', '--account', id, '--json')
  t.equal(
    balance.stdout,
    '{"balance":"100.000000","debt":"0.000000","held":"0.000000","available":"100.000000",' +
      '"worst":"0.000000","risk":"130.000000","paid":"100.000000"}\n',
  )

  const limits = ['--models', 'sandbox-chat, sandbox*', '--budget-rub', '0.5', '--budget-period', 'month']
  const ends = ['--expires', '2999-01-01', '--ips', '10.0.0.0/8']
  const made = await run('key', 'create', '--account', id, '--name', 'k', ...limits, ...ends, '--json')
  const keyId = member(made.stdout, 'id')
  const key = member(made.stdout, 'key')
  t.match(key, /^gw-[\w-]{43}$/)
  t.same(JSON.parse(made.stdout), { id: keyId, key })

  const listed = await run('key', 'list', '--account', id, '--json')
  t.match(JSON.parse(listed.stdout), {
    id: keyId,
    account: id,
    name: 'k',
    lastFour: key.slice(-4),
    state: 'active',
    models: ['sandbox-chat', 'sandbox*'],
    budget: '0.500000',
    budgetPeriod: 'month',
    expiresAt: '2998-12-31T21:00:00.000Z',
    ipAddresses: ['10.0.0.0/8'],
    revokedAt: null,
  })
  t.match(await run('key', 'revoke', keyId), { code: 0, stdout: `key ${keyId} revoked\n` })

  const shown = await run('account', 'show', id, '--json')
  t.match(JSON.parse(shown.stdout), {
    id,
    email: 'a@b.ru',
    name: 'A',
    keys: [{ id: keyId, state: 'revoked' }],
  })
  t.notMatch(shown.stdout, key)
  const [accounts, charges, alarms, verified, verifiedJson] = await Promise.all([
    run('account', 'list'),
    run('charges', '--account', id, '--json'),
    run('charges', '--alarms'),
    run('verify'),
    run('verify', '--json'),
  ])
  t.match(accounts.stdout, new RegExp(`^ID +EMAIL +NAME .*\n${id} +a@b\\.ru +A .* 100\\.000000\n$`))
  t.match(charges, { code: 0, stdout: '' })
  t.match(alarms, { code: 0, stdout: 'no charges\n' })
  t.match(verified, { code: 0, stdout: 'the ledger is in order\n' })
  t.match(verifiedJson, { code: 0, stdout: '{"ok":true,"breaches":[]}\n' })

  const copy = join(folder, 'copy.db')
  t.match(await run('backup', copy, '--json'), { code: 0, stdout: `${JSON.stringify({ file: copy })}\n` })
  t.equal(statSync(copy).mode & 0o777, 0o600)
  t.match(await run('backup', copy), { code: 1, stderr: /exists already/ })
})

await t.test('a key can be revoked even if the configuration has a mistake elsewhere', async t => {
  const folder = t.testdir()
  const { config } = writeConfig(folder)
  const created = await runHere(['account', 'create', '--email', 'a@b.ru', '--json', '--config', config])
  const account = member(created.stdout, 'id')
  const made = await runHere(['key', 'create', '--account', account, '--json', '--config', config])
  writeConfig(folder, 'limits: { bodyMs: never }\n')

  const revoked = await runHere(['key', 'revoke', member(made.stdout, 'id'), '--config', config])
  const checked = await runHere(['check', '--config', config])

  t.match(revoked, { code: 0, stderr: '' })
  t.match(checked, { code: 1 })
})

await t.test('a command that fails exits 1 and says why', async t => {
  const { config } = writeConfig(t.testdir())
  const run = (...words: string[]) => runHere([...words, '--config', config])

  t.match(await run('balance', '--account', 'x'), {
    code: 1,
    stdout: '',
    stderr: /^gateway: there is no store/,
  })
  t.match(await run('account', 'create', '--email', 'a@b.ru'), { code: 0, stdout: /^account \w+ created\n$/ })
  t.match(await run('account', 'create', '--email', 'A@b.ru'), { code: 1, stderr: /a@b\.ru/i })
  t.match(await run('account', 'credit', 'x', '--rub', '1', '--reason', 'r'), {
    code: 1,
    stderr: /no account x/,
  })
  const correct = ['account', 'correct', 'x', '--request', 'r', '--rub', '0']
  t.match(await run(...correct, '--reason', 'r'), { code: 1, stderr: /x was charged for no request r/ })
  t.match(await run(...correct, '--reason', ' '), { code: 2, stderr: /--reason: takes 1 to 1000/ })
  t.match(await run(...correct, '--reason', 'r', '--turn', '-1'), { code: 2, stderr: /not a whole number/ })
  t.match(await run('key', 'create', '--account', 'x'), { code: 1, stderr: /no account x/ })
  t.match(await run('key', 'revoke', 'x'), { code: 1, stderr: /no key x/ })
  for (const words of [
    ['balance', '--account'],
    ['key', 'list', '--account'],
    ['charges', '--account'],
    ['account', 'show'],
  ]) {
    const expected = { code: 1, stdout: '', stderr: /^gateway: there is no account x: gateway account list/ }
    t.match(await run(...words, 'x'), expected, words.join(' '))
  }
})

await t.test('while a server has the store open, changes go through its socket', async t => {
  const { config, store: file } = writeConfig(t.testdir())
  const log = createLog({ level: 'silent' })
  const store = await openSqliteStore({ file, durability: 'strict', clock: systemClock, log })
  t.teardown(() => store.close())
  const server = await openControlServer({
    storeFile: file,
    accounts: store.accounts,
    records: () => store.records(),
    log,
  })
  t.teardown(() => server.close())
  const run = (...words: string[]) => runHere([...words, '--config', config, '--json'])

  const created = await runGateway(['account', 'create', '--email', 'a@b.ru', '--config', config, '--json'])
  const id = member(created.stdout, 'id')
  await run('account', 'credit', id, '--rub', '0.000001', '--reason', 'r', '--idempotency-key', 'one')
  await run('account', 'credit', id, '--rub', '0.000001', '--reason', 'r', '--idempotency-key', 'one')
  t.match(await store.ledger.balance(id), { balanceMicros: 1 })
  const made = await run('key', 'create', '--account', id)
  const digest = keyDigest(member(made.stdout, 'key'))
  t.match(store.keys.findByDigest(digest), { accountId: id })
  t.notOk(store.keys.findByDigest(digest)?.revokedAt)
  const edit = (...words: string[]) =>
    run('key', 'edit', member(made.stdout, 'id'), '--reason', 'r', ...words)
  const limits = ['--models', 'sandbox*', '--budget-rub', '5', '--budget-period', 'day', '--ips', '10.0.0.1']
  t.match(JSON.parse((await edit(...limits, '--name', 'n')).stdout), {
    account: id,
    models: ['sandbox*'],
    budget: '5.000000',
    budgetPeriod: 'day',
  })
  const edited = {
    models: ['sandbox*'],
    budgetMicros: 5_000_000,
    budgetPeriod: 'day',
    ipAddresses: ['10.0.0.1'],
  }
  t.match(store.keys.findByDigest(digest), { ...edited, name: 'n' })
  t.match(await edit('--models', 'none', '--budget-rub', 'none'), {
    code: 0,
    stdout: /"models":null,"budget":null/,
  })
  t.match(await edit('--models', 'sandbx'), { code: 1, stderr: /has no model "sandbx"/ })
  t.match(await edit('--budget-period', 'day'), { code: 2, stderr: /needs --budget-rub/ })
  t.match(await edit(), { code: 2, stderr: /name what to change/ })
  t.match(store.keys.findByDigest(digest), { name: 'n', ipAddresses: ['10.0.0.1'] })
  t.equal(store.keys.findByDigest(digest)?.budgetMicros, undefined)
  await run('key', 'revoke', member(made.stdout, 'id'))
  t.match(await edit('--name', 'm'), { code: 1, stderr: /is revoked: make another/ })
  t.ok(store.keys.findByDigest(digest)?.revokedAt)
  t.match((await run('balance', '--account', id)).stdout, /"balance":"0\.000001"/)

  await run('account', 'credit', id, '--rub', '10', '--reason', 'r')
  const hold = await holdOf(store, id, 3)
  await store.ledger.charge(hold, chargeOf({ input: 3 }))
  const correct = (rub: string) =>
    run('account', 'correct', id, '--request', hold.exchangeId, '--rub', rub, '--reason', 'an empty answer')
  t.same(JSON.parse((await correct('0.5')).stdout), {
    request: hold.exchangeId,
    revision: 1,
    before: '3.000000',
    cost: '0.500000',
    returned: '2.500000',
  })
  t.match(await correct('0.5'), { code: 1, stderr: /comes to 0\.500000 roubles already/ })
  t.match(await correct('3.000001'), { code: 1, stderr: /gateway account debit takes more/ })
  t.match(await store.ledger.balance(id), { balanceMicros: 9_500_001 })
  t.match(JSON.parse((await run('charges', '--account', id)).stdout), {
    amount: '3.000000',
    returned: '2.500000',
  })
  t.match((await run('account', 'entries', id)).stdout, /"kind":"correction","amount":"2\.500000"/)
  t.match(await run('verify'), { code: 0 })

  const request = await run('requests', 'find', hold.exchangeId)
  t.match(JSON.parse(request.stdout), {
    request: hold.exchangeId,
    holds: [{ turn: 0, account: id, email: 'a@b.ru', key: 'key', hold: 'charged', held: '3.000000' }],
    charges: [{ account: id, model: 'm', amount: '3.000000', returned: '2.500000' }],
  })
  t.match(await run('requests', 'find', '%'), { code: 1, stderr: /the ledger has no request %/ })

  const [ending = ''] = member(made.stdout, 'key').slice(-4).split(' ')
  for (const found of [
    ['list', '--all'],
    ['list', '--account', id],
    ['find', ending],
    ['find', member(made.stdout, 'id')],
  ]) {
    t.match((await run('key', ...found)).stdout, `"account":"${id}"`, found.join(' '))
  }
  t.match(await run('key', 'find', '%'), { code: 0, stdout: '' })
  t.match(await run('key', 'find', '-1n0'), { code: 0, stdout: '' }, 'a key may end with these characters')
  t.match(await run('account', 'find', '-1n0'), { code: 0, stdout: '' })
  t.match(await run('key', 'find', 'laptop', '--jsn'), { code: 2, stderr: /too many arguments/ })
  t.match(await run('key', 'list'), { code: 2, stderr: /either --account or --all/ })
  t.match(await run('key', 'list', '--all', '--account', id), { code: 2 })
  t.match(await run('key', 'find', 'a'.repeat(201)), { code: 2, stderr: /1 to 200 characters/ })
  const { stdout: csv } = await run('charges', '--csv')
  const [head, line] = csv.split('\r\n')
  t.equal(
    head,
    'at,requestId,sequence,account,key,provider,model,operation,outcome,usageSource,amount,overrun,returned,usage,flags',
  )
  t.match(line, `${hold.exchangeId},0,${id},key,openai,m,chat,completed,provider,3.000000,,2.500000,input=3,`)
  for (const [by, name] of [
    ['account', id],
    ['model', 'm'],
    ['key', 'key'],
    ['outcome', 'completed'],
  ] as const) {
    t.same(JSON.parse((await run('top', '--by', by)).stdout), {
      [by]: name,
      charges: '1',
      roubles: '3.000000',
    })
  }
  t.match(await run('top', '--by', 'colour'), { code: 2, stderr: /account, model, key, outcome/ })
  t.match(await run('top', '--days', '0'), {
    code: 2,
    stderr: /^gateway: --days: "0" is not a whole number from 1 to 36500/,
  })
  t.match((await run('operator', 'log')).stdout, '"action":"correct"')
})

await t.test('times are printed, and dates begin, in the zone of the configuration', async t => {
  const folder = t.testdir()
  const { config, store: file } = writeConfig(folder)
  const store = await openSqliteStore({
    file,
    durability: 'strict',
    clock: { now: () => Date.parse('2026-11-21T21:30:00Z') },
  })
  const { id } = await store.accounts.createAccount({ email: 'a@b.ru' })
  await store.accounts.credit({ accountId: id, amountMicros: 9_000_000, reason: 'r' })
  const hold = await holdOf(store, id, 3)
  await store.ledger.charge(hold, chargeOf({ input: 3 }))
  await store.close()
  const run = (...words: string[]) => runHere([...words, '--config', config])
  const since = async (day: string) => (await run('charges', '--since', day, '--json')).stdout !== ''

  for (const words of [
    ['account', 'list'],
    ['account', 'entries', id],
    ['charges'],
    ['requests', 'find', hold.exchangeId],
  ]) {
    t.match((await run(...words)).stdout, '2026-11-22 00:30:00+03:00', words.join(' '))
  }
  t.match((await run('charges', '--json')).stdout, '"at":"2026-11-21T21:30:00.000Z"')
  t.match((await run('charges', '--csv')).stdout, '\r\n2026-11-22T00:30:00+03:00,')
  t.ok(await since('2026-11-22'))
  t.notOk(await since('2026-11-23'))

  writeConfig(folder, 'timeZone: UTC\n')
  t.match((await run('account', 'list')).stdout, '2026-11-21 21:30:00Z')
  t.match((await run('charges', '--csv')).stdout, '\r\n2026-11-21T21:30:00Z,')
  t.notOk(await since('2026-11-22'))
  writeConfig(folder, 'timeZone: Europe/Moskow\n')
  t.match(await run('account', 'list'), {
    code: 1,
    stderr: /timeZone: is no time zone such as Europe\/Moscow/,
  })
})

await t.test('adding an operator while the pages are off advises to switch them on', async t => {
  const config = join(t.testdir(), 'gateway.yaml')
  writeFileSync(config, 'store: sqlite:g.db\n')

  const words = ['operator', 'add', '--email', 'olga@example.org', '--role', 'owner', '--config', config]
  const { code, stdout } = await runHere(words)

  t.equal(code, 0)
  t.match(
    stdout,
    /which are off: set operatorArea in the configuration\n\/set-password\?token=\w+\n$/,
    'there is no link, which would lead nowhere',
  )
})
