import { AccountError } from '../../accounts/accounts.ts'
import type { NewKey } from '../../accounts/accounts.ts'
import { keyDigest, newKeyValue } from '../../accounts/memory-key-directory.ts'
import type { Micros } from '../../ledger/ledger.ts'
import { amountMicrosMax } from '../../money/amount.ts'
import { newId } from '../../platform/new-id.ts'
import type { KeyRow } from './store-operation.ts'

const emailPattern = /^[^\s@]+@[^\s@]+\.[^\s@]+$/
const emailLengthMax = 254

/**
 * An account's address as it is stored, however it was written.
 * @throws AccountError email_invalid
 */
export function accountEmail(text: string): string {
  const email = text.trim().toLowerCase()
  if (!emailPattern.test(email) || email.length > emailLengthMax) {
    throw new AccountError('email_invalid', `"${text}" is not an e-mail address`)
  }
  return email
}

/** @throws AccountError amount_invalid */
export function checkMovement(amountMicros: Micros): void {
  if (!(Number.isSafeInteger(amountMicros) && amountMicros > 0 && amountMicros <= amountMicrosMax)) {
    throw new AccountError('amount_invalid', `${amountMicros} micro-roubles cannot be moved`)
  }
}

/** Why a blocked account gets no key, for the operator. */
export function blockedMessage(accountId: string): string {
  return `the account ${accountId} is blocked: gateway account unblock ends that`
}

/**
 * A new key: what is stored, and the value that is shown once.
 * @throws AccountError amount_invalid, expiry_invalid
 */
export function newKeyRow(key: NewKey, now: number): { readonly row: KeyRow; readonly value: string } {
  checkKey(key)
  const value = newKeyValue()
  const row: KeyRow = {
    id: newId(),
    account_id: key.accountId,
    digest: keyDigest(value),
    name: key.name ?? '',
    last_four: value.slice(-4),
    models: key.models === undefined ? null : JSON.stringify(key.models),
    budget_micros: key.budgetMicros ?? null,
    budget_period: key.budgetMicros === undefined ? null : (key.budgetPeriod ?? 'total'),
    expires_at: key.expiresAt ?? null,
    ip_addresses: key.ipAddresses === undefined ? null : JSON.stringify(key.ipAddresses),
    revoked_at: null,
    blocked_at: null,
    created_at: now,
  }
  return { row, value }
}

/** @throws AccountError amount_invalid, expiry_invalid */
export function checkKey({
  budgetMicros = null,
  expiresAt = null,
}: {
  readonly budgetMicros?: Micros | null
  readonly expiresAt?: number | null
}): void {
  if (budgetMicros !== null && !(Number.isSafeInteger(budgetMicros) && budgetMicros >= 0)) {
    throw new AccountError('amount_invalid', `${budgetMicros} micro-roubles cannot be a budget`)
  }
  if (expiresAt !== null && !Number.isSafeInteger(expiresAt)) {
    throw new AccountError('expiry_invalid', `${expiresAt} is not a time in milliseconds`)
  }
}
