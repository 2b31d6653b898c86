import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import Database from 'better-sqlite3'
import { runGateway, runHere } from './run-gateway.ts'

/** A configuration in the folder, with its store at this URL. */
function configWith(folder: string, store: string): string {
  const config = join(folder, 'gateway.yaml')
  writeFileSync(
    config,
    `listen: { host: 127.0.0.1, port: 0 }\nproviders: { sandbox: {} }\nstore: "${store}"\n`,
  )
  return config
}

const refused: readonly (readonly [name: string, store: string, reason: RegExp])[] = [
  ['a file is in the place of its folder', 'sqlite:file/g.db', /file\/g\.db cannot be made: .* is a file/],
  ['a file is further up', 'sqlite:file/below/g.db', /below\/g\.db cannot be made: .* is a file/],
  [
    'no user may make its folder',
    'sqlite:/sys/kernel/none/g.db',
    /none\/g\.db cannot be made: this user may/,
  ],
  [
    'no user may write to its folder',
    'sqlite:/sys/kernel/g.db',
    /g\.db\S* cannot be opened: this user may not; run this as/,
  ],
  ['every user may write to its folder', 'sqlite:open/g.db', /every user .* run chmod o-w/],
  ['it is a folder', 'sqlite:folder', /folder cannot be opened: it is a folder/],
  ['it is not a database', 'sqlite:file', /file is damaged or not a SQLite database/],
  ['it is the database of another program', 'sqlite:foreign.db', /not a store of the gateway/],
  [
    'its database refuses connections',
    'postgres://u:secret@127.0.0.1:1/x',
    /the database x on 127\.0\.0\.1:1 cannot be opened: .*ECONNREFUSED.*; check/,
  ],
  [
    'its database has an unknown host',
    'postgres://u:secret@nowhere.invalid/x',
    /the database x on nowhere\.invalid cannot be opened: .*(?:ENOTFOUND|EAI_AGAIN).*; check/,
  ],
]

for (const [name, store, reason] of refused) {
  await t.test(`check and serve both refuse a store where ${name}`, async t => {
    const folder = t.testdir({ file: 'no store '.repeat(1000), folder: {} })
    mkdirSync(join(folder, 'open'))
    chmodSync(join(folder, 'open'), 0o777)
    const foreign = new Database(join(folder, 'foreign.db'))
    foreign.exec('CREATE TABLE other (a)')
    foreign.close()
    const config = configWith(folder, store)
    const before = readdirSync(folder, { recursive: true })
    const checked = await runHere(['check', '--config', config])
    const after = readdirSync(folder, { recursive: true })
    const served = await runGateway(['serve', '--config', config], { timeout: 30_000 })

    t.match(checked, { code: 1, stdout: reason, stderr: `gateway: 1 problem in ${config}\n` })
    t.match(checked.stdout, ' store: ')
    t.match(served, { code: 1, stderr: reason })
    const said = /^gateway: (.*)\n$/m.exec(served.stderr)?.[1] ?? served.stderr
    t.ok(checked.stdout.includes(said), `${checked.stdout} says ${said}`)
    t.notMatch(checked.stdout + served.stderr, 'secret')
    t.same(after, before, 'nothing is created')
  })
}

await t.test('a store that does not exist yet is in order, and check does not create it', async t => {
  const folder = t.testdir()
  for (const store of ['sqlite:g.db', 'sqlite:one/two/g.db', 'sqlite:./.one/g.db']) {
    const checked = await runHere(['check', '--config', configWith(folder, store)])
    t.match(checked, { code: 0, stdout: /is in order/, stderr: '' })
  }
  t.same(readdirSync(folder), ['gateway.yaml'])
})

await t.test('a store that exists is in order, and check does not change it', async t => {
  const config = configWith(t.testdir(), 'sqlite:data/g.db')
  await runHere(['account', 'create', '--email', 'a@b.ru', '--config', config])
  t.match(await runHere(['check', '--config', config]), { code: 0, stdout: /is in order/, stderr: '' })
  t.match(await runHere(['account', 'list', '--config', config]), { code: 0, stdout: /a@b\.ru/ })
  t.ok(existsSync(join(t.testdirName, 'data', 'g.db')))
})
