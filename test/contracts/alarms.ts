import type { Test } from 'tap'
import { AlarmBook } from '../../lib/alarms/alarm-book.ts'
import { closeAlarm, findAlarm, listAlarms, takeAlarm } from '../../lib/alarms/alarms.ts'
import { countAlarms } from '../fixtures/count-alarms.ts'
import { readActions } from '../../lib/administration/operator-log.ts'
import { until } from '../fixtures/until.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

const limit = 100
const quiet = { error: () => undefined }

/** A book with the test's clock, and the function that makes it write. */
function openBook(t: Test, store: StoreUnderTest) {
  const clock = { time: 1000, now: () => clock.time }
  const book = new AlarmBook({ records: () => store.records(), clock, log: quiet, gatherMs: 5 })
  t.teardown(() => book.close())
  return { book, clock }
}

/** The contract of rows of alarms, on every store. */
export async function alarmsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('an alarm that is raised repeatedly is one row, with its count and both times', async t => {
    const store = await open(t)
    const records = await store.records()
    const { book, clock } = openBook(t, store)

    for (clock.time = 1000; clock.time < 1010; clock.time += 1)
      book.note('credential_suspended', {
        provider: 'openai',
        credentialName: 'openai#a',
        reason: `no ${clock.time}`,
      })
    book.note('credential_suspended', { provider: 'openai', credentialName: 'openai#b' })
    await until(async () => (await countAlarms(records)).open === 2)
    clock.time = 5000
    book.note('credential_suspended', { provider: 'openai', credentialName: 'openai#a', reason: 'again' })
    await until(async () => (await listAlarms(records, { limit }))[0]?.count === 11)

    const [first, second] = await listAlarms(records, { limit })
    t.match(first, {
      kind: 'credential_suspended',
      subject: 'openai#a',
      state: 'open',
      count: 11,
      first_at: 1000,
      last_at: 5000,
    })
    t.match(JSON.parse(first?.details ?? ''), { reason: 'again' })
    t.match(second, { subject: 'openai#b', count: 1, first_at: 1010 })
    t.same((await listAlarms(await (await store.restart()).records(), { limit })).length, 2)
  })

  await t.test('an alarm is taken and closed, and raised again it is open as at first', async t => {
    const store = await open(t)
    const records = await store.records()
    const { book, clock } = openBook(t, store)
    book.note('rate_missing', {})
    await until(async () => (await countAlarms(records)).open === 1)
    const id = (await listAlarms(records, { limit }))[0]?.id ?? ''

    await takeAlarm(records, { id, operator: 'olga', at: 2000 })
    t.match(await findAlarm(records, id), { state: 'taken', taken_by: 'olga', taken_at: 2000 })
    await t.rejects(takeAlarm(records, { id, operator: 'ivan', at: 2001 }), {
      code: 'alarm_changed',
      message: /is taken already/,
    })
    book.note('rate_missing', {})
    await until(async () => (await findAlarm(records, id))?.count === 2)
    t.match(await findAlarm(records, id), { state: 'taken' }, 'the operator who took it keeps it')

    await closeAlarm(records, { id, operator: 'ivan', at: 3000, reason: 'the bank is back' })
    t.match(await findAlarm(records, id), { state: 'closed', closed_by: 'ivan', reason: 'the bank is back' })
    await t.rejects(closeAlarm(records, { id, operator: 'olga', at: 3001, reason: 'too' }), {
      code: 'alarm_changed',
    })
    t.same(await listAlarms(records, { limit }), [])
    t.equal((await listAlarms(records, { limit, isAll: true })).length, 1)
    t.same(
      (await readActions(records, { limit })).map(({ operator, action, reason }) => [
        operator,
        action,
        reason,
      ]),
      [
        ['ivan', 'close-alarm', 'rate_missing: the bank is back'],
        ['olga', 'take-alarm', 'rate_missing'],
      ],
    )

    clock.time = 9000
    book.note('rate_missing', {})
    await until(async () => (await findAlarm(records, id))?.state === 'open')
    t.match(await findAlarm(records, id), {
      count: 1,
      first_at: 9000,
      last_at: 9000,
      taken_by: null,
      closed_at: null,
      reason: null,
    })
    await t.rejects(takeAlarm(records, { id: 'none', operator: 'olga', at: 1 }), { code: 'alarm_not_found' })
  })

  await t.test('of two operators who take one alarm at once, one gets it', async t => {
    const store = await open(t)
    const records = await store.records()
    const { book } = openBook(t, store)
    book.note('rate_missing', {})
    await until(async () => (await countAlarms(records)).open === 1)
    const id = (await listAlarms(records, { limit }))[0]?.id ?? ''

    const taken = await Promise.allSettled(
      ['olga', 'ivan'].map(operator => takeAlarm(records, { id, operator, at: 1 })),
    )

    t.same(taken.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    t.equal((await readActions(records, { limit })).length, 1)
  })

  await t.test('an alarm that ends by itself is closed, in whatever order the reports arrive', async t => {
    const store = await open(t)
    const records = await store.records()
    const { book, clock } = openBook(t, store)
    const egress = { provider: 'openai', egress: 'berlin' }
    const state = async () => (await listAlarms(records, { limit, isAll: true }))[0]?.state

    book.note('egress_up', egress)
    book.note('egress_down', egress)
    book.note('egress_down', { ...egress, egress: 'oslo' })
    await until(async () => (await countAlarms(records)).open === 2)
    clock.time = 2000
    book.note('egress_up', egress)
    await until(async () => (await countAlarms(records)).closed === 1)
    t.match((await listAlarms(records, { limit, isAll: true }))[1], {
      subject: 'openai/berlin',
      closed_by: 'gateway',
      closed_at: 2000,
    })
    book.note('egress_down', egress)
    book.note('egress_up', egress)
    book.note('egress_down', egress)
    await until(async () => (await countAlarms(records)).open === 2)
    t.equal(await state(), 'open')
    t.match(
      (await listAlarms(records, { limit })).find(({ subject }) => subject === 'openai/berlin'),
      { count: 2, first_at: 2000 },
    )
  })
}
