import type { Test } from 'tap'
import { correctCharge } from '../../lib/administration/correct-charge.ts'
import { endSessions, moveMoney } from '../../lib/administration/account-acts.ts'
import { readActions } from '../../lib/administration/operator-log.ts'
import { addOperator, removeOperator } from '../../lib/administration/operators.ts'
import { markClosing, correctClosing } from '../../lib/documents/closing-documents.ts'
import { createInvoice, cancelInvoice } from '../../lib/documents/invoices.ts'
import { assignTransfer, undoTransfer, listTransfers } from '../../lib/documents/transfers.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { seller } from '../fixtures/companies.ts'
import { chargeRoubles, companyAccount, noon, statementOf } from './documents.ts'
import {
  accountWith,
  chargeOf,
  holdOf,
  roubles,
  type OpenStore,
  type StoreUnderTest,
} from './store-under-test.ts'

const operator = 'olga'

async function logged(store: StoreUnderTest): Promise<readonly string[]> {
  const actions = await readActions(await store.records(), { limit: 100 })
  return actions.map(({ action, reason }) => `${action}: ${reason}`).toReversed()
}

/** An operator's action is in the log when it is done, and only then, on every store. */
export async function operatorActsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a transfer is logged once with the decision, and not when it was refused', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    const bytes = statementOf([
      { number: '1', amount: 10_000 },
      { number: '2', amount: 200 },
    ])
    const by = { operator, fileName: 'kl_to_1c.txt' }
    await importStatement(records, seller, { bytes, at: 1, isDryRun: true, by })
    t.strictSame(await logged(store), [], 'viewing is not logged')
    await importStatement(records, seller, { bytes, at: 1, isDryRun: false, by })

    const id = (await listTransfers(records)).find(one => one.amount_kopecks === 10_000)?.id ?? ''
    const assign = () => assignTransfer(records, { id, to: { accountId }, note: 'письмо', at: 2, operator })
    const undo = () => undoTransfer(records, { id, note: 'ошибка', at: 5, operator })
    await Promise.allSettled([assign(), assign(), assign()])
    await chargeRoubles(store, accountId, 1)
    await t.rejects(undo(), { code: 'balance_insufficient' })

    t.strictSame(await logged(store), [
      'import-statement: kl_to_1c.txt: 0 credited, 2 queued',
      `assign-transfer: ${id.slice(0, 12)} письмо`,
    ])
    await moveMoney(
      records,
      { id: 'a', kind: 'credit', accountId, amountMicros: roubles(1), reason: 'r', operator },
      4,
    )
    await undo()
    t.match((await logged(store)).slice(2), [
      'credit: 1.000000 ₽: r',
      `undo-transfer: ${id.slice(0, 12)} ошибка`,
    ])
    t.same(await store.verify(), [])
  })

  await t.test('a form moves money once, with its line in the log', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    const move = (id: string, kind: 'credit' | 'debit', rub: number) =>
      moveMoney(
        records,
        { id, kind, accountId, amountMicros: roubles(rub), reason: `${kind} ${rub}`, operator },
        1,
      )

    const made = await Promise.all([move('a', 'credit', 5), move('a', 'credit', 5), move('a', 'credit', 5)])
    await t.rejects(move('b', 'debit', 6), { code: 'balance_insufficient' })
    await t.rejects(
      moveMoney(
        records,
        { id: 'c', kind: 'credit', accountId: 'nobody', amountMicros: 1, reason: 'r', operator },
        1,
      ),
      { code: 'account_not_found' },
    )
    t.match(await move('a', 'debit', 2), { entryId: 'debit:a', isNew: true }, 'a debit is another action')

    t.equal(made.filter(({ isNew }) => isNew).length, 1)
    t.strictSame(await logged(store), ['credit: 5.000000 ₽: credit 5', 'debit: 2.000000 ₽: debit 2'])
    t.equal((await store.ledger.balance(accountId)).balanceMicros, roubles(3))
    await t.rejects(move('a', 'credit', 7), { code: 'idempotency_conflict' }, 'another amount')

    await records.write([
      {
        credit: {
          id: 'credit:old',
          accountId,
          amountMicros: roubles(1),
          reason: 'r',
          at: 1,
          source: 'operator',
        },
      },
    ])
    t.match(await move('old', 'credit', 1), { isNew: false }, 'an entry that is older than the log')
    t.equal((await logged(store)).length, 2)
    t.equal((await store.ledger.balance(accountId)).balanceMicros, roubles(4))
  })

  await t.test('ending sessions is logged, and no line is written where there are none', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    const end = (of: string) => endSessions(records, { accountId: of, reason: 'чужой вход', operator }, 1)

    await end(accountId)
    for (const nobody of ['nobody', 'house:cash'])
      await t.rejects(end(nobody), { code: 'account_not_found' }, nobody)

    t.strictSame(await logged(store), ['end-sessions: чужой вход'])
  })

  await t.test('closing a month is logged for an operator, and not for the gateway', async t => {
    const store = await open(t, { clock: { now: () => noon('2026-09-10') } })
    const records = await store.records()
    const accountId = await companyAccount(store, undefined, '2026-09-01')
    await moveMoney(
      records,
      { id: 'a', kind: 'credit', accountId, amountMicros: roubles(5), reason: 'r', operator },
      noon('2026-09-02'),
    )
    await chargeRoubles(store, accountId, 1)
    const at = noon('2026-11-02')
    const { made } = await closeMonth(records, seller, { month: '2026-09', at, operator })
    await closeMonth(records, seller, { month: '2026-09', at, operator })
    await closeMonth(records, seller, { month: '2026-10', at })
    const id = made[0]?.id ?? ''
    await correctClosing(records, seller, { id, reason: 'Адрес', at, operator })
    await t.rejects(correctClosing(records, seller, { id: 'x', reason: 'Адрес', at, operator }))

    t.strictSame((await logged(store)).slice(1), [
      'close-month: 2026-09: 1 documents',
      `correct-document: ${id}: Адрес`,
    ])
  })

  await t.test('a correction is logged with its request and the change', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await accountWith(store, 10)
    const hold = await holdOf(store, accountId, 2)
    await store.ledger.charge(hold, chargeOf({ input: 2 }))
    const { exchangeId: requestId } = hold
    const correct = (rub: number) =>
      correctCharge(
        records,
        { accountId, requestId, sequence: 0, costMicros: roubles(rub), reason: 'пусто', operator },
        1,
      )

    await correct(0.5)
    await t.rejects(correct(3), { code: 'correction_refused' })

    t.strictSame(await logged(store), [`correct: ${requestId}: from 2.000000 to 0.500000 ₽: пусто`])
    t.equal((await store.ledger.balance(accountId)).balanceMicros, roubles(9.5))
  })

  await t.test('revoking a key is logged once, and not when a customer does it', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 1)
    const [{ id }, { id: own }] = [
      await store.accounts.createKey({ accountId }),
      await store.accounts.createKey({ accountId }),
    ]
    await Promise.all([1, 2, 3].map(() => store.accounts.revokeKey(id, operator)))
    await store.accounts.revokeKey(own)
    await store.accounts.revokeKey(own, operator)
    await t.rejects(store.accounts.revokeKey('nothing', operator), { code: 'key_not_found' })

    t.strictSame(await logged(store), [`revoke-key: ${id}`])
    t.ok(store.keys.findById(id)?.revokedAt)
    t.ok(store.keys.findById(own)?.revokedAt)
  })

  await t.test('changes to invoices and documents by an operator are logged', async t => {
    const store = await open(t, { clock: { now: () => noon('2026-09-10') } })
    const records = await store.records()
    const accountId = await companyAccount(store, undefined, '2026-09-01', 5)
    const [{ id }, { id: own }] = [
      await createInvoice(records, seller, { accountId, amount: 10_000, at: noon('2026-09-02') }),
      await createInvoice(records, seller, { accountId, amount: 10_000, at: noon('2026-09-02') }),
    ]
    await chargeRoubles(store, accountId, 1)
    const { made } = await closeMonth(records, seller, { month: '2026-09', at: noon('2026-10-02') })
    const document = made[0]?.id ?? ''

    await cancelInvoice(records, own, 1, { accountId })
    await cancelInvoice(records, id, 2, { operator })
    await t.rejects(cancelInvoice(records, id, 3, { operator }))
    await markClosing(records, { id: document, state: 'sent', at: 4, operator })
    await t.rejects(markClosing(records, { id: 'x', state: 'sent', at: 5, operator }))

    t.strictSame(await logged(store), [`cancel-invoice: ${id}`, `mark-document: ${document}: sent`])
  })

  await t.test('changes to operators are logged with the operator who made them', async t => {
    const store = await open(t)
    const records = await store.records()
    const add = (email: string, role: 'owner' | 'support') =>
      addOperator(records, { email, role, by: 'root' }, 1)
    await add('a@example.org', 'owner')
    await add('b@example.org', 'support')
    await t.rejects(add('a@example.org', 'support'), { code: 'operator_needed' })
    await removeOperator(records, { email: 'b@example.org', by: 'root' }, 2)

    t.strictSame(await logged(store), [
      'add-operator: a@example.org: owner',
      'add-operator: b@example.org: support',
      'remove-operator: b@example.org',
    ])
  })
}
