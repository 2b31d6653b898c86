import Database from 'better-sqlite3'
import t from 'tap'
import { chargeOf, holdOf, accountWith } from '../contracts/store-under-test.ts'
import { openFile } from '../lib/stores/open-store.ts'
import { runGateway, runHere, writeConfig } from './run-gateway.ts'

const day = (date: string): number => Date.parse(`${date}T12:00:00Z`)

await t.test('charges are recomputed while the store is open, and differences exit 1', async t => {
  const { config, store: file } = writeConfig(t.testdir())
  let now = day('2026-05-05')
  const store = await openFile(t, file, { clock: { now: () => now } })
  const account = await accountWith(store, 100)
  for (const date of ['2026-05-05', '2026-05-06', '2026-05-07']) {
    now = day(date)
    const charge = chargeOf({ input: 1 }, date === '2026-05-07' ? {} : { rawUsage: '{"prompt_tokens":1}' })
    await store.ledger.charge(await holdOf(store, account, 5), charge)
  }
  const recompute = (...words: string[]) => runHere(['charges', 'recompute', '--config', config, ...words])

  t.match(await recompute('--since', '2026-05-06'), {
    code: 0,
    stdout: "2 charges recomputed, 0 of them different; 1 with the provider's own usage beside them\n",
  })
  t.match(await recompute('--since', '2026-05-05', '--json'), {
    code: 0,
    stdout: '{"charges":3,"differing":0,"withProviderUsage":2}\n',
  })
  t.match(await recompute('--since', '2027-01-01T00:00:00+03:00', '--json'), {
    code: 0,
    stdout: /"charges":0/,
  })

  const database = new Database(file)
  database.exec(`DROP TRIGGER charges_stay_as_they_are;
    UPDATE charges SET lines = replace(lines, '"input":1', '"input":2') WHERE id = 2`)
  database.close()
  const differing = await recompute('--since', '2026-05-05', '--json')
  t.match(differing, { code: 1, stderr: /1 charge with an amount other than the recomputed cost/ })
  const [line = '', counted = ''] = differing.stdout.split('\n')
  t.match(JSON.parse(line), {
    at: '2026-05-06T12:00:00.000Z',
    account,
    charged: '1.000000',
    recomputed: '2.000000',
    hasProviderUsage: true,
    differences: ['a charge is not what its usage costs by its price'],
  })
  t.same(JSON.parse(counted), { charges: 3, differing: 1, withProviderUsage: 2 })
  t.match(await recompute('--since', '2026-05-05'), {
    code: 1,
    stdout: /^2026-05-06T12:00:00.000Z \w+\/0: charged 1.000000, recomputed 2.000000: a charge is not/,
  })
  t.match(await recompute('--since', '2026-05-07'), { code: 0 })
})

await t.test('charges are listed from a time on and until another', async t => {
  const { config, store: file } = writeConfig(t.testdir())
  let now = day('2026-05-05')
  const store = await openFile(t, file, { clock: { now: () => now } })
  const account = await accountWith(store, 100)
  for (const date of ['2026-05-05', '2026-05-06', '2026-05-07']) {
    now = day(date)
    await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
  }
  const listed = async (...words: string[]) => {
    const { stdout } = await runHere(['charges', '--json', '--config', config, ...words])
    return stdout.match(/2026-05-0\d/g)
  }

  t.same(await listed('--since', '2026-05-06'), ['2026-05-06', '2026-05-07'])
  t.same(await listed('--until', '2026-05-06'), ['2026-05-05'])
  t.same(await listed('--since', '2026-05-06T12:00:00Z', '--until', '2026-05-07T12:00:00Z'), ['2026-05-06'])
  t.same(await listed('--since', '2026-05-06T15:00:00.001+03:00', '--account', account), ['2026-05-07'])
  t.match(await runHere(['charges', '--config', config, '--until', 'noon']), {
    code: 2,
    stderr: /not a date/,
  })
})

await t.test('a missing or invalid date is wrong usage', async t => {
  const { config } = writeConfig(t.testdir())
  t.match(await runGateway(['charges', 'recompute', '--config', config]), { code: 2, stderr: /--since/ })
  const wrong = await runHere(['charges', 'recompute', '--config', config, '--since', 'yesterday'])
  t.match(wrong, { code: 2, stderr: /not a date/, stdout: '' })
})

await t.test('the list of charges works as before', async t => {
  const { config, store: file } = writeConfig(t.testdir())
  const store = await openFile(t, file)
  const account = await accountWith(store, 100)
  await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
  t.match(await runHere(['charges', '--config', config, '--account', account]), {
    code: 0,
    stdout: /input 1/,
  })
  t.match(await runHere(['charges', 'what', '--config', config]), { code: 2 })
})
