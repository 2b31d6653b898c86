import type { Test } from 'tap'
import { acceptRate, changePercent, noteRate, ratesInForce, readRates } from '../../lib/prices/rate-book.ts'
import type { OpenStore } from './store-under-test.ts'

/** The contract of exchange rates, on every store. */
export async function ratesContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a rate is stored once for its day, over a restart', async t => {
    const store = await open(t)
    const records = await store.records()
    const rate = { day: '2026-11-24', usdRub: '92.5034' }

    const first = await noteRate(records, rate, '5', 1000)
    const again = await noteRate(records, { ...rate, usdRub: '93' }, '5', 2000)
    const restarted = await store.restart()

    t.same([first.became, again.became], ['used', 'known'])
    t.same(await readRates(await restarted.records()), [
      { day: '2026-11-24', usd_rub: '92.5034', state: 'used', found_at: 1000, accepted_at: null },
    ])
  })

  await t.test('a rate that differs by more than the limit is held until an operator accepts it', async t => {
    const records = await (await open(t)).records()
    const note = (day: string, usdRub: string) => noteRate(records, { day, usdRub }, '5', 1000)
    const states = async () => Object.fromEntries((await readRates(records)).map(row => [row.day, row.state]))

    t.equal((await note('2026-11-20', '100')).became, 'used')
    t.match(await note('2026-11-21', '105'), { became: 'used', before: '100' }, 'exactly the limit')
    t.match(await note('2026-11-24', '110.250001'), { became: 'held', before: '105' })
    t.match(
      await note('2026-11-25', '99.75'),
      { became: 'used', before: '105' },
      'compared with the last rate that was used',
    )
    t.match(
      await note('2026-11-26', '94.76'),
      { became: 'held', before: '99.75' },
      'the limit is the same downwards',
    )
    t.same(await states(), {
      '2026-11-20': 'used',
      '2026-11-21': 'used',
      '2026-11-24': 'held',
      '2026-11-25': 'used',
      '2026-11-26': 'held',
    })

    const operator = 'olga'
    t.match(await acceptRate(records, { operator }, 5000), {
      day: '2026-11-26',
      state: 'used',
      accepted_at: 5000,
    })
    t.match(await acceptRate(records, { day: '2026-11-24', operator }, 6000), { day: '2026-11-24' })
    await t.rejects(acceptRate(records, { day: '2026-11-24', operator }, 7000), {
      name: 'RateError',
      message: /2026-11-24 is not held/,
    })
    await t.rejects(acceptRate(records, { operator }, 7000), {
      name: 'RateError',
      message: /^no rate is held/,
    })
    t.notMatch(Object.values(await states()).join(), 'held')
  })

  await t.test('of two processes that find a rate at once, one stores it', async t => {
    const records = await (await open(t)).records()

    const notes = await Promise.all(
      ['92.5', '92.6'].map(usdRub => noteRate(records, { day: '2026-11-24', usdRub }, '5', 1)),
    )

    t.same(notes.map(({ became }) => became).toSorted(), ['known', 'used'])
    t.equal((await readRates(records)).length, 1)
  })

  await t.test('prices use the rate in force, the one before it, and future ones', async t => {
    const row = (day: string, usd_rub: string, state: 'used' | 'held' = 'used') => ({ day, usd_rub, state })
    const rows = [
      row('2026-11-25', '93'),
      row('2026-11-24', '99', 'held'),
      row('2026-11-21', '92'),
      row('2026-11-20', '91'),
      row('2026-11-19', '90'),
    ]
    const at = (time: string) => ratesInForce(rows, Date.parse(time))
    const from = (day: string) => `${day}T00:00:00+03:00`

    t.same(at('2026-11-24T20:59:59Z'), [
      { from: from('2026-11-20'), usdRub: '91' },
      { from: from('2026-11-21'), usdRub: '92' },
      { from: from('2026-11-25'), usdRub: '93' },
    ])
    t.same(
      at('2026-11-24T21:00:00Z').map(({ usdRub }) => usdRub),
      ['92', '93'],
      'from midnight in Moscow on',
    )
    t.same(at('2026-11-01T00:00:00Z')[0], { usdRub: '90' }, 'the first known rate applies before its day too')
    t.same(ratesInForce([], 0), [])
    t.same(
      [changePercent('100', '107.25'), changePercent('100', '92.75'), changePercent('3', '3')],
      ['7.25', '-7.25', '0.00'],
    )
  })
}
