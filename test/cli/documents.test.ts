import { existsSync, readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import t from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import { openControlServer } from '../../lib/control/control-server.ts'
import { createLog } from '../../lib/observability/log.ts'
import { openSqliteStore } from '../../lib/stores/sqlite/sqlite.ts'
import { chargeRoubles } from '../contracts/documents.ts'
import { reading } from '../contracts/store-under-test.ts'
import { encodeStatement, statementLines } from '../fixtures/bank-statement.ts'
import { company, seller, sellerYaml } from '../fixtures/companies.ts'
import { pdfPages } from '../fixtures/pdf-text.ts'
import { storeReports } from '../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../lib/stores/sqlite/sqlite-queries.ts'
import { runHere, writeConfig } from './run-gateway.ts'

const { bank } = seller
const since2020 = {
  ...seller,
  tax: [{ from: '2020-01-01', rate: 'none', basis: 'п. 2 ст. 346.11 НК РФ' }],
} as const
const month = new Date(systemClock.now() + 3 * 3_600_000).toISOString().slice(0, 7)

function parsed(json: string): Record<string, never> {
  return JSON.parse(json) as Record<string, never>
}

function rowsOf(json: string): { readonly id: string }[] {
  const found: unknown = JSON.parse(`[${json.trim().replaceAll('\n', ',')}]`)
  return found as { readonly id: string }[]
}

await t.test('empty lists say that they are empty', async t => {
  const { config } = writeConfig(t.testdir(), sellerYaml(since2020))

  for (const [list, said] of [
    ['invoice', 'no invoices\n'],
    ['documents', 'no documents\n'],
    ['statement', 'no payments\n'],
  ] as const) {
    t.match(await runHere([list, 'list', '--config', config]), { code: 0, stdout: said, stderr: '' })
    t.equal((await runHere([list, 'list', '--json', '--config', config])).stdout, '')
  }
})

await t.test('beside a server, a company is invoiced, pays by transfer and gets its documents', async t => {
  const folder = t.testdir()
  const { config, store: file } = writeConfig(folder, sellerYaml(since2020))
  const run = (...words: string[]) => runHere([...words, '--config', config, '--json'])
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
  const { id } = await store.accounts.createAccount({ email: 'a@b.ru' })
  writeFileSync(join(folder, 'company.json'), JSON.stringify(company))

  const incomplete = join(folder, 'incomplete.json')
  writeFileSync(incomplete, JSON.stringify({ kind: 'company', name: 'x', inn: '7736207543', ogrn: 5 }))
  const said = 'ogrn: Invalid input: expected string, received number; address: is missing; email: is missing'
  t.match(await run('account', 'company', id, '--set', incomplete), {
    code: 1,
    stderr: `gateway: ${incomplete}: ${said}\n`,
  })
  t.match(await run('account', 'company', id), { code: 1, stderr: /has no company details/ })
  t.match(await run('account', 'company', id, '--set', join(folder, 'company.json')), { code: 0 })
  t.same(parsed((await run('account', 'company', id)).stdout), company)
  for (const [path, why] of [
    [folder, /is a folder, and a file is to be written/],
    ['/proc/none/i.pdf', /cannot be written: there is no such file or folder/],
    [join(folder, 'company.json', 'i.pdf'), /cannot be written: a part of its path is a file/],
  ] as const) {
    const refused = await run('invoice', 'create', '--account', id, '--rub', '1', '--out', path)
    t.match(
      refused,
      { code: 2, stdout: '', stderr: why },
      'an invoice whose file cannot be written is not made',
    )
  }
  const invoice = await run(
    'invoice',
    'create',
    '--account',
    id,
    '--rub',
    '10000.50',
    '--out',
    join(folder, 'i.pdf'),
  )
  t.match(parsed(invoice.stdout), { number: '1', amount: '10000.50', date: new RegExp(`^${month}`) })
  const [page = ''] = await pdfPages(readFileSync(join(folder, 'i.pdf')))
  t.match(page, 'Счёт на оплату № 1')

  const day = `${month}-01`
  const payments = [
    { number: '7', date: day, amount: 1_000_050, inn: company.inn, purpose: 'Оплата по счету № 1' },
  ]
  const lines = statementLines({ account: bank.account, payments, from: day, to: day })
  writeFileSync(join(folder, 'bank.txt'), encodeStatement(lines.join('\r\n'), 'ibm866'))
  writeFileSync(join(folder, 'cut.txt'), encodeStatement(lines.slice(0, -1).join('\r\n'), 'ibm866'))
  t.match(await run('statement', 'import', join(folder, 'cut.txt')), {
    code: 1,
    stderr: /line \d+: КонецФайла is missing/,
  })
  t.match(parsed((await run('statement', 'import', join(folder, 'bank.txt'), '--dry-run')).stdout), {
    credited: { length: 1 },
  })
  t.match(await store.ledger.balance(id), { balanceMicros: 0 })
  t.match(parsed((await run('statement', 'import', join(folder, 'bank.txt'))).stdout), {
    documents: 1,
    credited: [{ account: id, invoice: '1', amount: '10000.50', reason: 'rule-1' }],
    queued: [],
    repeated: 0,
  })
  t.match(parsed((await run('statement', 'import', join(folder, 'bank.txt'))).stdout), {
    credited: [],
    repeated: 1,
  })
  t.match(await store.ledger.balance(id), { balanceMicros: 10_000_500_000 })

  await chargeRoubles(
    Object.assign(
      store,
      { restart: () => Promise.reject(new Error('no')) },
      reading(async () => storeReports(new SqliteQueries(file), { clock: systemClock })),
    ),
    id,
    123,
  )
  const closed = await run('documents', 'close', '--month', month)
  t.match(closed.stderr, /is not over/)
  t.match(parsed(closed.stdout), {
    documents: [{ kind: 'act', number: '1', amount: '123.00', account: id }],
  })
  t.match(parsed((await run('documents', 'close', '--month', month)).stdout), { months: [], documents: [] })
  t.match(parsed((await run('documents', 'list')).stdout), {
    number: '1',
    state: 'issued',
    inn: company.inn,
  })
  for (const list of ['invoice', 'documents', 'statement']) {
    const { stdout } = await runHere([list, 'list', '--config', config])
    const [first] = rowsOf((await run(list, 'list')).stdout)
    t.ok(
      stdout.startsWith(`${first?.id.slice(0, 12)}`),
      `${list} list shows the ids that its other commands take`,
    )
  }
  const reconciled = join(folder, 'r.pdf')
  const period = ['--from', `${month}-01`, '--to', `${month}-28`, '--out', reconciled]
  t.match(await run('documents', 'reconcile', '--account', id, ...period), { code: 0 })
  const summary = await runHere(['documents', 'reconcile', '--account', id, ...period, '--config', config])
  t.match(summary.stdout, /: 1 row; \d+\.50 ₽ are owed to the company\n$/)
  t.match((await pdfPages(readFileSync(reconciled)))[0], 'Акт сверки взаимных расчётов')
  const out = join(folder, 'out')
  t.match(await run('documents', 'export', '--month', month, '--out', out), { code: 0 })
  t.match(
    readdirSync(out).toSorted((a, b) => (a < b ? -1 : 1)),
    [`${month.slice(0, 4)}-act-1-${company.inn}.pdf`, /^ON_NSCHFDOPPR_.*\.xml$/, 'register.csv'],
  )
  t.match(
    readFileSync(join(out, 'register.csv'), 'utf8'),
    /^\ufeffВид;Номер;.*\r\nАкт;1;.*;ООО «Ромашка»;7736207543;770401001;123,00;без НДС;0,00;выставлен\r\n$/,
  )
  const zip = join(folder, 'archives', 'month.zip')
  t.match(await run('documents', 'export', '--month', month, '--out', zip), { code: 0 })
  const unzipped = Object.entries(unzipSync(readFileSync(zip)))
  t.strictSame(
    new Map(unzipped.map(([name, bytes]) => [name, Buffer.from(bytes)])),
    new Map(readdirSync(out).map(name => [name, readFileSync(join(out, name))])),
    'the archive contains the same as the folder',
  )
  t.match(await run('documents', 'advances', '--month', month), { code: 0, stdout: '' })
  const act = rowsOf((await run('documents', 'list')).stdout)[0]?.id ?? ''
  await run('documents', 'correct', act, '--reason', 'Адрес')
  await run('documents', 'export', '--month', month, '--out', out)
  const [, issue = '', correction = ''] = readFileSync(join(out, 'register.csv'), 'utf8').split('\r\n')
  t.match(issue, /^Акт;1;.*;;ООО «Ромашка»;7736207543;770401001;;без НДС;;"выставлен, исправлен"$/)
  t.match(
    correction,
    /^Акт;1;.*;1 от .*;ООО «Ромашка»;7736207543;770401001;123,00;без НДС;0,00;выставлен$/,
    'the sums of a register add up to those of the month',
  )
})

await t.test('mistakes are reported with what to do, and change nothing', async t => {
  const folder = t.testdir()
  const { config } = writeConfig(folder)
  const run = (...words: string[]) => runHere([...words, '--config', config])
  writeFileSync(join(folder, 'bad.json'), '{"kind":"llc"}')

  t.match(await run('statement', 'import', 'x'), { code: 1, stderr: /has no seller/ })
  const selling = writeConfig(join(folder, 'selling'), sellerYaml(since2020)).config
  const large = join(folder, 'large.txt')
  writeFileSync(large, '1CClientBankExchange\r\n')
  truncateSync(large, 100 * 1024 ** 2)
  t.match(await runHere(['statement', 'import', large, '--config', selling]), {
    code: 1,
    stderr: /has 104857600 bytes; at most 32 MB are read at once: export a shorter period/,
  })
  t.match(await runHere(['statement', 'list', '--config', selling]), { code: 0, stdout: 'no payments\n' })
  t.match(await run('account', 'company', 'x', '--set', join(folder, 'bad.json')), {
    code: 1,
    stderr: /bad\.json: kind: .*; name: /,
  })
  t.match(await run('documents', 'close', '--month', '2026-13'), {
    code: 2,
    stderr: /not a month such as 2026-11/,
  })
  t.match(await run('invoice', 'create', '--account', 'x', '--rub', '1.555'), {
    code: 2,
    stderr: /not an amount/,
  })
  t.notOk(existsSync(join(folder, 'out')))
})
