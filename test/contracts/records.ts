import type { Test } from 'tap'
import { newId } from '../../lib/platform/new-id.ts'
import type { NewRow, RecordStep, Records } from '../../lib/stores/records/records.ts'
import { accountWith, roubles } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

function insertPayment(records: Records, id: string, accountId: string): RecordStep {
  const row: NewRow<'payments'> = {
    id,
    account_id: accountId,
    provider: 'yookassa',
    provider_id: null,
    is_test: null,
    state: 'created',
    method: 'sbp',
    origin: 'customer',
    amount_micros: roubles(100),
    receipt_email: 'a@b.ru',
    idempotence_key: id,
    request: '{}',
    requested_at: null,
    confirmation_url: null,
    method_title: null,
    saved_method_id: null,
    failure: null,
    difference: null,
    created_at: 1,
    credited_at: null,
    ended_at: null,
    next_poll_at: 1,
  }
  return { write: records.build.insertInto('payments').values(row) }
}

function succeed(records: Records, id: string): RecordStep {
  const change = records.build
    .updateTable('payments')
    .set({ state: 'succeeded', credited_at: 2, ended_at: 2, next_poll_at: null })
    .where('id', '=', id)
    .where('state', '=', 'created')
  return { write: change, rows: 1 }
}

function creditOf(id: string, accountId: string): RecordStep {
  return {
    credit: {
      id: `payment:${id}`,
      accountId,
      amountMicros: roubles(100),
      reason: 'payment',
      at: 2,
      source: 'payment',
    },
  }
}

const statesOf = async (records: Records): Promise<readonly string[]> => {
  const rows = await records.all(records.build.selectFrom('payments').select('state'))
  return rows.map(({ state }) => state)
}

/** The contract of business rows, on every store. */
export async function recordsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a row and its money are one commit', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await accountWith(store, 0)
    const id = newId()
    await records.write([insertPayment(records, id, accountId)])

    await records.write([succeed(records, id), creditOf(id, accountId)])

    t.strictSame(await statesOf(records), ['succeeded'])
    t.equal((await store.ledger.balance(accountId)).balanceMicros, roubles(100))
    t.strictSame(await store.verify(), [])
  })

  await t.test('of transactions that race for one row, one is written with its money', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await accountWith(store, 0)
    const id = newId()
    await records.write([insertPayment(records, id, accountId)])

    const endings = await Promise.allSettled(
      Array.from({ length: 4 }, () => records.write([succeed(records, id), creditOf(newId(), accountId)])),
    )

    t.equal(endings.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const ending of endings) {
      if (ending.status === 'rejected') t.match(ending.reason, { name: 'RecordConflictError' })
    }
    t.equal((await store.ledger.balance(accountId)).balanceMicros, roubles(100))
    t.strictSame(await store.verify(), [])
  })

  await t.test('the refusal of a later step undoes the earlier ones, with their money', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await accountWith(store, 0)
    const id = newId()

    await t.rejects(
      records.write([insertPayment(records, id, accountId), creditOf(id, accountId), creditOf(id, 'nobody')]),
      { name: 'AccountError' },
    )
    await t.rejects(
      records.write([creditOf(id, accountId), insertPayment(records, id, 'nobody')]),
      /FOREIGN KEY|foreign key/,
    )

    t.strictSame(await statesOf(records), [])
    t.equal((await store.ledger.balance(accountId)).balanceMicros, 0)
    t.strictSame(await store.verify(), [])
  })

  await t.test('a row that exists already is a conflict', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await accountWith(store, 0)
    const id = newId()
    await records.write([insertPayment(records, id, accountId)])

    await t.rejects(records.write([insertPayment(records, id, accountId)]), { name: 'RecordConflictError' })
  })

  await t.test('steps return the rows that they select', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await accountWith(store, 0)
    const id = newId()
    const take = records.build
      .updateTable('payments')
      .set(change => ({ polls: change('polls', '+', 1) }))
      .where('next_poll_at', '<=', 5)
      .returning(['id', 'polls'])

    const rows = await records.write([insertPayment(records, id, accountId), { write: take }])

    t.strictSame(
      rows.map(step => step.map(row => Object.assign({}, row))),
      [[], [{ id, polls: 1 }]],
    )
  })

  await t.test('a query that is executed by itself fails visibly', async t => {
    const store = await open(t)
    const records = await store.records()

    await t.rejects(records.build.selectFrom('payments').selectAll().execute(), /are run by/)
    const wrong = records.build
      .selectFrom('payments')
      .selectAll()
      .where('polls', '=', true as never)
    await t.rejects(async () => records.all(wrong), TypeError)
  })
}
