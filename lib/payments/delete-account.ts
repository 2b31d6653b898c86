import { AccountError, type Accounts } from '../accounts/accounts.ts'
import { forgetAccountSteps, forgetUserSteps, isForgotten } from '../administration/forget-user.ts'
import { actionStep } from '../administration/operator-log.ts'
import { companyVersions } from '../documents/company-versions.ts'
import { moscowDay } from '../ledger/moscow-days.ts'
import { owedUntil } from '../documents/month-close.ts'
import { RecordConflictError, type RecordReader, type Records } from '../stores/records/records.ts'
import { paidParts } from '../stores/records/document-tables.ts'
import { AutoTopUpRows } from './auto-top-up-rows.ts'

/** What prevents the deletion of an account, each as micro-roubles, kopecks or a count. */
export interface DeletionBlockers {
  readonly balanceMicros: number
  readonly debtMicros: number
  readonly openHolds: number
  /** Payments and refunds that are not final. */
  readonly openPayments: number
  /** Invoices that are neither paid nor canceled. */
  readonly openInvoices: number
  /** Charges that are in no closing document yet. */
  readonly undocumentedKopecks: number
}

interface Deletion {
  readonly accountId: string
  readonly reason: string
  readonly operator: string
}

const sentences: Readonly<Record<keyof DeletionBlockers, string>> = {
  balanceMicros: 'there is money on it: refund or debit it first',
  debtMicros: 'it owes money: credit that first',
  openHolds: 'requests or jobs of it are still running: block it and wait for their end',
  openPayments: 'payments or refunds of it are not over: wait for their end',
  openInvoices: 'invoices of it are open: cancel them first',
  undocumentedKopecks: 'a closing document is still to come: close the month first',
}

/**
 * What prevents the deletion of an account now.
 * @throws AccountError account_not_found; account_deleted when it is already deleted
 */
export async function deletionBlockers(
  records: RecordReader,
  accountId: string,
  now: number,
): Promise<DeletionBlockers> {
  const { build } = records
  const [account] = await records.all(
    build
      .selectFrom('accounts')
      .select(['email', 'balance_micros', 'debt_micros'])
      .where('id', '=', accountId)
      .where('kind', '=', 'customer'),
  )
  if (account === undefined) throw new AccountError('account_not_found', `there is no account ${accountId}`)
  if (isForgotten(account.email))
    throw new AccountError('account_deleted', `the account ${accountId} was deleted before`)
  const { open, payments, refunds, invoices } = await countOpen(records, accountId)
  const companies = await companyVersions(records, accountId)
  const owed = companies.length === 0 ? [] : await owedUntil(records, companies, moscowDay(now).slice(0, 7))
  return {
    balanceMicros: account.balance_micros,
    debtMicros: account.debt_micros,
    openHolds: open,
    openPayments: payments + refunds,
    openInvoices: invoices,
    undocumentedKopecks: Math.max(0, owed[0]?.amount ?? 0),
  }
}

async function countOpen(
  records: RecordReader,
  accountId: string,
): Promise<Readonly<Record<'open' | 'payments' | 'refunds' | 'invoices', number>>> {
  const { build } = records
  const [holds, payments, refunds, invoices] = await Promise.all([
    records.all(
      build
        .selectFrom('holds')
        .select(one => one.fn.countAll<number>().as('count'))
        .where('account_id', '=', accountId)
        .where('state', '=', 'open'),
    ),
    records.all(
      build
        .selectFrom('payments')
        .select(one => one.fn.countAll<number>().as('count'))
        .where('account_id', '=', accountId)
        .where('state', 'in', ['created', 'pending']),
    ),
    records.all(
      build
        .selectFrom('refunds')
        .innerJoin('payments', 'payments.id', 'refunds.payment_id')
        .select(one => one.fn.countAll<number>().as('count'))
        .where('payments.account_id', '=', accountId)
        .where('refunds.state', 'in', ['created', 'pending']),
    ),
    records.all(
      build
        .selectFrom('invoices')
        .select(one => one.fn.countAll<number>().as('count'))
        .where('invoices.account_id', '=', accountId)
        .where('cancelled_at', 'is', null)
        .where(one => one(paidParts(one), '=', 0)),
    ),
  ])
  const countOf = ([row]: readonly { readonly count: number }[]): number => Number(row?.count ?? 0)
  return {
    open: countOf(holds),
    payments: countOf(payments),
    refunds: countOf(refunds),
    invoices: countOf(invoices),
  }
}

/**
 * Closes an account permanently: revokes its keys, forgets saved cards, ends its owner's access, and removes personal
 * data of both. Ledger, charges, payments with receipts, documents with the company they name, consents and the
 * operator log stay, because law and accounting require them.
 * @throws AccountError account_not_found, account_deleted, and deletion_refused with the reasons
 */
export async function deleteAccount(
  { records, accounts }: { readonly records: Records; readonly accounts: Accounts },
  { accountId, reason, operator }: Deletion,
  now: number,
): Promise<void> {
  requireNone(await deletionBlockers(records, accountId, now))
  const { build } = records
  const [before] = await records.all(
    build.selectFrom('accounts').select('blocked_at').where('id', '=', accountId),
  )
  const block = { accountId, reason, operator }
  // No new request starts from here on; the reads below see those that started before.
  await accounts.setBlocked({ ...block, isBlocked: true })
  try {
    requireNone(await deletionBlockers(records, accountId, now))
    await forget(records, { accountId, reason, operator }, now)
  } catch (error) {
    if (before?.blocked_at === null) await accounts.setBlocked({ ...block, isBlocked: false })
    throw error
  }
  const keys = await records.all(
    build.selectFrom('keys').select('id').where('account_id', '=', accountId).where('revoked_at', 'is', null),
  )
  for (const { id } of keys) await accounts.revokeKey(id)
}

function requireNone(blockers: DeletionBlockers): void {
  const names = Object.keys(sentences) as (keyof DeletionBlockers)[]
  const found = names.filter(name => blockers[name] > 0).map(name => sentences[name])
  if (found.length > 0)
    throw new AccountError('deletion_refused', `the account cannot be deleted: ${found.join('; ')}`)
}

async function forget(
  records: Records,
  { accountId, reason, operator }: Deletion,
  now: number,
): Promise<void> {
  const { build } = records
  const owners = await records.all(
    build
      .selectFrom('memberships')
      .select('user_id')
      .where('account_id', '=', accountId)
      .where('role', '=', 'owner'),
  )
  const others = await records.all(
    build
      .selectFrom('memberships')
      .select('user_id')
      .where('account_id', '<>', accountId)
      .where('role', '=', 'owner')
      .where('user_id', 'in', ['', ...owners.map(one => one.user_id)]),
  )
  const isElsewhere = new Set(others.map(one => one.user_id))
  const without = owners.filter(one => !isElsewhere.has(one.user_id))
  const isEmpty = build
    .updateTable('accounts')
    .set({ name: null })
    .where('id', '=', accountId)
    .where('balance_micros', '=', 0)
    .where('debt_micros', '=', 0)
    // A payment created at this moment would be credited to a deleted account.
    .where(one =>
      one.not(
        one.exists(
          one
            .selectFrom('payments')
            .select('payments.id')
            .where('account_id', '=', accountId)
            .where('payments.state', 'in', ['created', 'pending']),
        ),
      ),
    )
  try {
    await records.write([
      // If money moved meanwhile, the account is kept.
      { write: isEmpty, rows: 1 },
      ...without.flatMap(one => forgetUserSteps(records, one.user_id)),
      ...forgetAccountSteps(records, accountId),
      { write: build.deleteFrom('notices').where('account_id', '=', accountId) },
      ...new AutoTopUpRows(records).unlinkAll(accountId, now),
      actionStep(records, { operator, action: 'delete-account', accountId, reason, at: now }),
    ])
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    throw new AccountError(
      'deletion_refused',
      'something changed about the account meanwhile: look at it again',
    )
  }
}
