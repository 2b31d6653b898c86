import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { storeReports } from '../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../lib/stores/sqlite/sqlite-queries.ts'
import { startGatewayProcess } from '../fixtures/gateway-process.ts'
import { startPaidGateway } from '../fixtures/paid-gateway.ts'
import { askOnce, startPaidLoad } from '../fixtures/paid-load.ts'
import { startPricedUpstream } from '../fixtures/priced-upstream.ts'
import { runGateway, runHere, writeConfig } from './run-gateway.ts'

async function chargesIn(file: string): Promise<ChargeReport[]> {
  const reports = storeReports(new SqliteQueries(file), { clock: systemClock })
  try {
    return await Array.fromAsync(reports.charges(undefined))
  } finally {
    await reports.close()
  }
}

await t.test(
  'a restore drill: a backup made under load becomes a gateway that continues from there',
  async t => {
    const upstream = await startPricedUpstream(t)
    const folder = t.testdir({ restored: {} })
    const options = { folder, origin: upstream.origin, rub: 1000 }
    const original = await startPaidGateway(t, options)
    const load = startPaidLoad(original.process.url, original.key, 16)
    await delay(400)
    const copy = join(folder, 'copy.db')
    const backup = await runGateway(['backup', copy, '--config', original.config, '--json'])
    t.match(backup, { code: 0, stdout: `${JSON.stringify({ file: copy })}\n` })
    t.equal(statSync(copy).mode & 0o777, 0o600)
    t.notOk(existsSync(`${copy}-wal`), 'a copy is one file')
    await delay(100)
    await load.stop()
    await original.process.kill()

    const before = readFileSync(copy)
    t.match(await runHere(['backup', copy, '--config', original.config]), {
      code: 1,
      stderr: /exists already; a backup overwrites nothing/,
    })
    t.same(readFileSync(copy), before)
    t.match(await runHere(['backup', join(folder, 'gone', 'copy.db'), '--config', original.config]), {
      code: 1,
      stderr: /there is no folder .*gone/,
    })

    const config = join(folder, 'restored', 'gateway.yaml')
    const storeFile = join(folder, 'restored', 'g.db')
    writeFileSync(
      config,
      readFileSync(original.config, 'utf8').replace(/^store: .*$/m, `store: sqlite:${storeFile}`),
    )
    copyFileSync(copy, storeFile)
    const restored = await startGatewayProcess(t, config)
    t.match(await runHere(['verify', '--config', config]), { code: 0 })
    t.match(await runHere(['charges', 'recompute', '--since', '2020-01-01', '--config', config]), { code: 0 })
    const [all, some] = [await chargesIn(original.storeFile), await chargesIn(storeFile)]
    t.ok(some.length > 0 && some.length < all.length, `${some.length} of ${all.length} charges`)
    t.strictSame(some, all.slice(0, some.length), 'what was charged until then, and nothing else')
    const balance = await runHere(['balance', '--account', original.accountId, '--config', config, '--json'])
    t.match(JSON.parse(balance.stdout), { held: '0.000000' }, 'a hold that was open in it is released')
    t.match(await askOnce(restored.url, original.key, true), { status: 200, isWhole: true }, 'the key works')
    t.equal((await chargesIn(storeFile)).length, some.length + 1)
  },
)

await t.test('a store with a damaged page leaves no copy, and the error names the store', async t => {
  const { config, store } = writeConfig(t.testdir())
  await runHere(['account', 'create', '--email', 'a@b.ru', '--config', config])
  const sound = readFileSync(store)
  writeFileSync(store, sound.fill('A', sound.length - 4096))

  t.match(await runHere(['backup', `${store}.copy`, '--config', config]), {
    code: 1,
    stdout: '',
    stderr: new RegExp(`^gateway: ${store} is damaged`),
  })
  t.notOk(existsSync(`${store}.copy`))
  t.notOk(existsSync(`${store}.copy.partial`))
})

await t.test(
  'a read error of the store during a copy is not reported as a write error of the copy',
  async t => {
    const { config, store } = writeConfig(t.testdir())
    await runHere(['account', 'create', '--email', 'a@b.ru', '--config', config])
    t.capture(Database.prototype, 'backup', () =>
      Promise.reject(new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_READ')),
    )

    const { stderr } = await runHere(['backup', `${store}.copy`, '--config', config])

    t.match(stderr, `${store} cannot be`)
    t.notMatch(stderr, 'cannot be written')
  },
)

await t.test('a store of an older release is backed up before it is brought up to date', async t => {
  const { config, store } = writeConfig(t.testdir())
  await runHere(['account', 'create', '--email', 'a@b.ru', '--config', config])
  const database = new Database(store)
  const newest = Number(database.pragma('user_version', { simple: true }))
  database.pragma(`user_version = ${newest - 1}`)
  database.close()

  t.match(await runHere(['verify', '--config', config]), {
    code: 1,
    stderr: /is of an older release: back it up, then start the gateway once/,
  })
  t.match(await runHere(['backup', `${store}.copy`, '--config', config]), { code: 0, stderr: '' })
  const copy = new Database(`${store}.copy`, { readonly: true })
  t.teardown(() => copy.close())
  t.equal(copy.pragma('user_version', { simple: true }), newest - 1)
  t.not(copy.prepare('SELECT count(*) FROM accounts').pluck().get(), 0)
})

await t.test(
  'a store that is newer, damaged or foreign is refused by every command, with the reason',
  async t => {
    const { config, store } = writeConfig(t.testdir())
    t.match(await runHere(['account', 'create', '--email', 'a@b.ru', '--config', config]), { code: 0 })
    const sound = readFileSync(store)
    const refused = async (reason: RegExp): Promise<void> => {
      const broken = readFileSync(store)
      for (const words of [['verify'], ['account', 'list'], ['backup', `${store}.copy`]]) {
        t.match(await runHere([...words, '--config', config]), { code: 1, stderr: reason }, words.join(' '))
      }
      t.match(await runGateway(['serve', '--config', config]), { code: 1, stderr: reason }, 'serve')
      t.same(readFileSync(store), broken, 'and left unchanged')
    }

    const database = new Database(store)
    database.pragma('user_version = 99')
    database.close()
    await refused(/has schema version 99 and this program knows versions up to \d+: run the newer release/)

    writeFileSync(store, 'these are notes about something else entirely, in plain text\n'.repeat(200))
    await refused(/g\.db/)

    writeFileSync(store, sound.subarray(0, 4096))
    t.match(await runGateway(['serve', '--config', config]), { code: 1, stderr: /damaged/ }, 'truncated')

    writeFileSync(store, sound)
    t.match(await runHere(['verify', '--config', config]), { code: 0 })
  },
)
