import type { Test } from 'tap'
import { readActions } from '../../lib/administration/operator-log.ts'
import { forgetUser } from '../../lib/administration/forget-user.ts'
import { setCompany } from '../../lib/documents/company-versions.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { createInvoice } from '../../lib/documents/invoices.ts'
import { listTransfers } from '../../lib/documents/transfers.ts'
import { deleteAccount, deletionBlockers } from '../../lib/payments/delete-account.ts'
import { PaymentRows } from '../../lib/payments/payment-rows.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { company, seller } from '../fixtures/companies.ts'
import { statementOf } from './documents.ts'
import { chargeOf, holdOf, roubles } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

const now = Date.parse('2026-11-20T12:00:00Z')
const clock = { now: () => now }

interface Customer {
  readonly accountId: string
  readonly userId: string
  readonly email: string
}

/** An account with an owner who is signed in, and a key. */
async function customer(store: StoreUnderTest): Promise<Customer> {
  const userId = newId()
  const email = `${userId}@example.com`
  const user = { id: userId, email, name: 'Ольга', created_at: 1, updated_at: 1, email_verified: 1 }
  await store.users.createUser(user, [])
  const session = { id: newId(), token: newId(), expires_at: now * 2, created_at: 1, updated_at: 1 }
  await store.users.insert('user_sessions', { ...session, user_id: userId })
  const [own] = await store.users.memberships(userId)
  const accountId = own?.accountId ?? ''
  await store.accounts.createKey({ accountId, name: 'laptop', ipAddresses: ['10.0.0.1'] })
  return { accountId, userId, email }
}

async function remove(store: StoreUnderTest, accountId: string): Promise<void> {
  const records = await store.records()
  await deleteAccount(
    { records, accounts: store.accounts },
    { accountId, reason: 'asked for it', operator: 'olga' },
    now,
  )
}

/** The contract of deleting accounts, on every store. */
export async function deletionContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('an account is deleted with its personal data, and its books stay', async t => {
    const store = await open(t, { clock })
    const { accountId, userId, email } = await customer(store)
    await store.accounts.credit({ accountId, amountMicros: roubles(2), reason: 'in' })
    await store.accounts.debit({ accountId, amountMicros: roubles(2), reason: 'out' })

    await remove(store, accountId)

    const records = await store.records()
    const [key] = await store.reports.keys(accountId)
    t.match(key, { name: '', revokedAt: Number, blockedAt: Number })
    t.equal(key?.ipAddresses, undefined)
    t.equal((await store.reports.account(accountId))?.email, `deleted-${accountId}@deleted.invalid`)
    t.same(await store.users.find('user_sessions', { where: [] }), [])
    const texts = JSON.stringify([await store.users.find('users', {}), await store.reports.accounts()])
    t.notMatch(texts, email)
    t.notMatch(texts, 'Ольга')
    t.match(texts, `deleted-${userId}@deleted.invalid`)
    const entries = await records.all(
      records.build.selectFrom('entries').select(['amount_micros']).where('account_id', '=', accountId),
    )
    t.equal(entries.length, 2)
    t.match(await readActions(records, { accountId, limit: 10 }), [
      { action: 'delete-account', reason: 'asked for it', operator: 'olga' },
    ])
    await t.rejects(remove(store, accountId), { code: 'account_deleted' })
    await t.rejects(remove(store, 'nobody'), { code: 'account_not_found' })
    await t.rejects(remove(store, 'house:cash'), { code: 'account_not_found' })
    t.same(await store.verify(), [])
  })

  await t.test('anything unsettled prevents a deletion, and the account continues unchanged', async t => {
    const store = await open(t, { clock })
    const { accountId } = await customer(store)
    const records = await store.records()
    const refused = async (name: string, message: RegExp): Promise<void> => {
      await t.rejects(remove(store, accountId), { code: 'deletion_refused', message }, name)
      t.match((await store.reports.keys(accountId))[0], {
        name: 'laptop',
        revokedAt: undefined,
        blockedAt: undefined,
      })
    }

    await store.accounts.credit({ accountId, amountMicros: roubles(5), reason: 'in' })
    await refused('money', /there is money on it/)
    const hold = await holdOf(store, accountId, 1)
    await hold.durable
    await refused('a hold', /are still running/)
    t.match(await deletionBlockers(records, accountId, now), { balanceMicros: roubles(5), openHolds: 1 })
    await store.ledger.charge(hold, chargeOf({ input: 1 }))
    await setCompany(records, accountId, company, Date.parse('2026-10-01T12:00:00Z'))
    const { balanceMicros } = await store.accounts.debit({
      accountId,
      amountMicros: (await store.reports.balance(accountId))?.balanceMicros ?? 0,
      reason: 'out',
    })
    t.equal(balanceMicros, 0)
    await refused('a document to come', /a closing document is still to come/)
    t.same(await store.verify(), [])
  })

  await t.test('a payment that begins during the deletion prevents it', async t => {
    const store = await open(t, { clock })
    const { accountId, email } = await customer(store)
    const records = await store.records()
    const payment = new PaymentRows(records).addPayment({
      id: newId(),
      account_id: accountId,
      provider: 'sandbox',
      is_test: 1,
      state: 'created',
      method: null,
      origin: 'customer',
      amount_micros: roubles(100),
      receipt_email: email,
      idempotence_key: newId(),
      request: '{}',
      requested_at: now,
      created_at: now,
      next_poll_at: now,
    })
    const inBetween: typeof records = {
      ...records,
      async write(steps) {
        await records.write([payment])
        return records.write(steps)
      },
    }

    const deletion = { accountId, reason: 'asked for it', operator: 'olga' }
    await t.rejects(deleteAccount({ records: inBetween, accounts: store.accounts }, deletion, now), {
      code: 'deletion_refused',
    })

    t.equal((await store.reports.account(accountId))?.email, email)
    t.match((await store.reports.keys(accountId))[0], { name: 'laptop', blockedAt: undefined })
    t.same(await store.verify(), [])
  })

  await t.test('money for an invoice of a deleted account waits for a person', async t => {
    const store = await open(t, { clock })
    const records = await store.records()
    const { accountId, userId } = await customer(store)
    await setCompany(records, accountId, company, now)
    const invoice = await createInvoice(records, seller, {
      accountId,
      amount: 100,
      at: now,
      isEmailed: false,
    })
    const kept = (await customer(store)).accountId
    const pay = (inn: string, purpose: string) => {
      const payment = { number: newId(), date: '2026-11-21', amount: 100, inn, purpose }
      const bytes = statementOf([payment], '2026-11-21')
      return importStatement(records, seller, { bytes, at: now, isDryRun: false })
    }
    const named = `Оплата по счету № ${invoice.document.number} от 20.11.2026`

    t.equal(await forgetUser(records, userId), true)

    await t.rejects(createInvoice(records, seller, { accountId, amount: 100, at: now }), {
      code: 'account_deleted',
      message: /nobody could use the money/,
    })

    t.match(await pay(company.inn, named), { credited: [], queued: [{ reason: 'account-deleted' }] })
    t.match(await pay(company.inn, 'Аванс'), { queued: [{ reason: 'payer-unknown' }] })
    t.match(await pay('7707083893', named), { queued: [{ reason: 'payer-other' }] })
    await setCompany(records, kept, company, now)
    t.match(await pay(company.inn, 'Аванс'), { queued: [{ reason: 'payer-known' }] })
    const rows = await listTransfers(records)
    t.same(new Set(rows.map(row => row.suggestions)), new Set(['[]', JSON.stringify([kept])]))
    t.match(await store.ledger.balance(accountId), { balanceMicros: 0 })
    t.same(await store.verify(), [])
  })
}
