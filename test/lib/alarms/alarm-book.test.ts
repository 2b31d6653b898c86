import Database from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { AlarmBook, alarmSubject } from '../../../lib/alarms/alarm-book.ts'
import { alarmDetails, listAlarms } from '../../../lib/alarms/alarms.ts'
import { countAlarms } from '../../fixtures/count-alarms.ts'
import { alarmSentences } from '../../../lib/pipeline/alarm-sentences.ts'
import { alarmCodes } from '../../../lib/pipeline/alarm-codes.ts'
import { systemClock } from '../../../lib/platform/clock.ts'
import { until } from '../../fixtures/until.ts'
import { openNew } from '../stores/open-store.ts'

const failing = (t: Test) => ({
  error: (facts: object | string) => void t.fail('an error is logged', { facts }),
})

await t.test('every alarm has a sentence', t => {
  t.same(Object.keys(alarmSentences).toSorted(), alarmCodes.toSorted())
  t.end()
})

await t.test('alarms about more than 500 models share one row beyond the first 500', async t => {
  const store = await openNew(t)
  const records = await store.records()
  const book = new AlarmBook({
    records: () => store.records(),
    clock: systemClock,
    log: failing(t),
    gatherMs: 5,
  })
  t.teardown(() => book.close())

  for (let index = 0; index < 3000; index += 1)
    book.note('model_unpriced', { provider: 'openai', model: `model-${index}` })
  await until(async () => (await countAlarms(records)).open > 0)

  const rows = await listAlarms(records, { limit: 5000 })
  t.equal(rows.length, 501)
  t.equal(rows.find(({ subject }) => subject === '(others)')?.count, 2500)
})

await t.test(
  'alarms wait while the store cannot be written, and are written later with their counts',
  async t => {
    const store = await openNew(t)
    const records = await store.records()
    const book = new AlarmBook({
      records: () => store.records(),
      clock: systemClock,
      log: failing(t),
      gatherMs: 5,
    })
    t.teardown(() => book.close())
    const other = new Database(store.file)
    other.exec('BEGIN IMMEDIATE')

    book.note('store_unavailable', { error: 'it is locked' })
    await until(() => store.failure() !== undefined)
    book.note('rate_missing', {})
    book.note('rate_missing', {})
    book.note('store_available', {})
    other.exec('ROLLBACK')
    other.close()

    await until(async () => (await countAlarms(records)).open === 1)
    t.match(await listAlarms(records, { limit: 10, isAll: true }), [
      { kind: 'rate_missing', count: 2, state: 'open' },
      { kind: 'store_unavailable', count: 1, state: 'closed', closed_by: 'gateway' },
    ])
  },
)

await t.test('alarms that wait are written before the book closes', async t => {
  const store = await openNew(t)
  const book = new AlarmBook({ records: () => store.records(), clock: systemClock, log: failing(t) })

  book.note('overrun', { account: 'a1', model: 'gpt-5' })
  await book.close()
  book.note('overrun', { account: 'a2' })

  t.match(await listAlarms(await store.records(), { limit: 10 }), [{ kind: 'overrun', subject: 'a1' }])
})

await t.test('details are short, and have no secrets', t => {
  const error = Object.assign(new Error('refused at https://user:hunter2@proxy/?key=AIzaSecret'), {
    data: 'a prompt',
  })
  const details = alarmDetails({
    error,
    reason: 'gw-0123456789abcdefghijklmnop was refused',
    authorization: 'Bearer sk-1',
    long: 'x'.repeat(10_000),
    meters: Array.from({ length: 1000 }, (_, index) => `meter-${index}`),
    deep: { prompt: 'a prompt' },
    owed: 5,
  })

  const text = JSON.stringify(details)
  for (const secret of ['hunter2', 'AIzaSecret', 'gw-0123', 'sk-1', 'a prompt']) t.notMatch(text, secret)
  t.ok(text.length < 2000)
  t.match(details, { error: /refused at/, authorization: '[redacted]', owed: 5 })
  t.end()
})

await t.test('the subject of an alarm is the account, the model or the egress that it concerns', t => {
  t.equal(alarmSubject('overrun', { account: 'a1', provider: 'openai', model: 'gpt-5' }), 'a1')
  t.equal(
    alarmSubject('usage_missing', { account: 'a1', provider: 'openai', model: 'gpt-5' }),
    'openai/gpt-5',
  )
  t.equal(
    alarmSubject('egress_down', { provider: 'openai', egress: 'berlin', reason: 'no' }),
    'openai/berlin',
  )
  t.equal(alarmSubject('accept_failed', { error: 'EMFILE' }), '')
  t.equal(alarmSubject('usage_zero', { model: 'm'.repeat(1000) }).length, 200)
  t.end()
})
