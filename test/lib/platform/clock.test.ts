import t from 'tap'
import { isTimeZone, zonedParse, zonedTime } from '../../../lib/platform/clock.ts'

const at = (iso: string): number => Date.parse(iso)

await t.test('a time is shown in the zone, with its offset from UTC', async t => {
  for (const [zone, shown] of [
    ['Europe/Moscow', '2027-01-01 00:30:00+03:00'],
    ['UTC', '2026-12-31 21:30:00Z'],
    ['America/St_Johns', '2026-12-31 18:00:00-03:30'],
    ['Asia/Kathmandu', '2027-01-01 03:15:00+05:45'],
  ] as const) {
    t.equal(zonedTime(at('2026-12-31T21:30:00.999Z'), zone), shown)
  }
})

await t.test('a date begins at midnight in the zone, also when the clocks change that day', async t => {
  for (const [zone, day, begins] of [
    ['Europe/Moscow', '2026-11-22', '2026-11-21T21:00:00Z'],
    ['UTC', '2026-11-22', '2026-11-22T00:00:00Z'],
    ['Pacific/Auckland', '2026-01-01', '2025-12-31T11:00:00Z'],
    ['America/New_York', '2026-03-08', '2026-03-08T05:00:00Z'],
    ['America/New_York', '2026-03-09', '2026-03-09T04:00:00Z'],
    ['America/New_York', '2026-11-01', '2026-11-01T04:00:00Z'],
    ['America/New_York', '2026-11-02', '2026-11-02T05:00:00Z'],
  ] as const) {
    t.equal(zonedParse(day, zone), at(begins), `${day} ${zone}`)
  }
})

await t.test('a time with an offset ignores the zone, and an invalid time is NaN', async t => {
  t.equal(zonedParse('2026-11-22T12:00:00+05:00', 'Europe/Moscow'), at('2026-11-22T07:00:00Z'))
  t.same(zonedParse('2026-13-45', 'Europe/Moscow'), Number.NaN)
  t.same(zonedParse('yesterday', 'Europe/Moscow'), Number.NaN)
})

await t.test('only names of the time zone database are zones', async t => {
  t.strictSame(['Europe/Moscow', 'UTC', 'Europe/Moskow', ''].map(isTimeZone), [true, true, false, false])
})
