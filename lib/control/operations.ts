import { z } from 'zod'
import { budgetPeriods } from '../accounts/accounts.ts'

const micros = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const text = z.string().min(1).max(1000)

const source = z.enum(['payment', 'operator', 'starting', 'correction'])

const recordMovement = z.strictObject({
  id: text,
  accountId: text,
  amountMicros: micros,
  reason: text,
  at: micros,
  source,
})

const recordStep = z.union([
  z.strictObject({
    write: z.strictObject({
      sql: z.string(),
      parameters: z.array(z.union([z.string(), z.number(), z.null()])),
    }),
    rows: z.int().min(0).optional(),
  }),
  z.strictObject({ credit: recordMovement }),
  z.strictObject({ debit: recordMovement }),
])

/** A step of a transaction in a message to a running server; queries are compiled by the client. */
export type RecordStepMessage = z.output<typeof recordStep>

const movement = z.strictObject({
  accountId: text,
  amountMicros: micros,
  reason: text,
  idempotencyKey: text.optional(),
  source: source.optional(),
})

/** The operations of a running server, and the body of each request. */
export const operations = {
  ping: z.strictObject({}),
  reload: z.strictObject({}),
  'account.create': z.strictObject({ email: text, name: text.optional() }),
  'account.credit': movement,
  'account.debit': movement,
  'key.create': z.strictObject({
    accountId: text,
    name: text.optional(),
    models: z.array(text).max(1000).optional(),
    budgetMicros: micros.optional(),
    budgetPeriod: z.enum(budgetPeriods).optional(),
    expiresAt: z.int().min(0).optional(),
    ipAddresses: z.array(text).max(1000).optional(),
  }),
  'key.revoke': z.strictObject({ id: text, operator: text.optional() }),
  'key.edit': z.strictObject({
    id: text,
    name: z.string().max(1000).optional(),
    models: z.array(text).max(1000).nullable().optional(),
    budgetMicros: micros.nullable().optional(),
    budgetPeriod: z.enum(budgetPeriods).optional(),
    expiresAt: z.int().min(0).nullable().optional(),
    ipAddresses: z.array(text).max(1000).nullable().optional(),
    reason: text,
    operator: text,
  }),
  'account.block': z.strictObject({ accountId: text, isBlocked: z.boolean(), reason: text, operator: text }),
  'provider.health': z.strictObject({}),
  'payment.create': z.strictObject({
    accountId: text,
    amountMicros: micros,
    method: z.enum(['bank_card', 'sbp']).optional(),
  }),
  'payment.refund': z.strictObject({
    paymentId: text,
    amountMicros: micros,
    reason: text,
    operator: text.optional(),
  }),
  'payment.reconcile': z.strictObject({ days: z.int().min(1).max(1095) }),
  // A user who may use the socket may also write the store, so only the shape is checked.
  'records.write': z.strictObject({ steps: z.array(recordStep).min(1).max(2000) }),
} as const

/** The name of an operation of a running server. */
export type OperationName = keyof typeof operations

/** Whether there is an operation of that name. */
export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}

const providerHealth = z.object({
  name: z.string(),
  isOff: z.boolean(),
  credentials: z.array(
    z.object({
      name: z.string(),
      isPaused: z.boolean(),
      state: z.enum(['works', 'unreachable', 'refused']),
      restMs: z.number(),
      coolingModels: z.int(),
      requests: z.int(),
      waiting: z.int(),
    }),
  ),
  routes: z.array(
    z.object({
      egress: z.string(),
      origin: z.string(),
      state: z.enum(['works', 'fails', 'barred']),
      restMs: z.number(),
    }),
  ),
})

/** The results, validated: the server on the socket may be another version. */
export const results = {
  ping: z.object({ pid: z.int() }),
  // What is wrong with the configuration; empty where it was applied.
  reload: z.object({ problems: z.array(z.string()) }),
  'account.create': z.object({ id: z.string() }),
  'account.credit': z.object({ entryId: z.string(), balanceMicros: z.int() }),
  'account.debit': z.object({ entryId: z.string(), balanceMicros: z.int() }),
  'key.create': z.object({ id: z.string(), key: z.string() }),
  'key.revoke': z.record(z.string(), z.never()),
  'key.edit': z.object({
    id: z.string(),
    accountId: z.string(),
    name: z.string(),
    lastFour: z.string(),
    models: z.array(z.string()).exactOptional(),
    budgetMicros: z.int().exactOptional(),
    budgetPeriod: z.enum(budgetPeriods).exactOptional(),
    expiresAt: z.int().exactOptional(),
    ipAddresses: z.array(z.string()).exactOptional(),
    revokedAt: z.int().exactOptional(),
    blockedAt: z.int().exactOptional(),
    createdAt: z.int(),
  }),
  'account.block': z.object({ blockedAt: z.int().nullable() }),
  'provider.health': z.object({ processes: z.array(z.array(providerHealth)) }),
  'payment.create': z.object({
    id: z.string(),
    providerId: z.string().nullable(),
    status: z.string(),
    confirmationUrl: z.string().nullable(),
  }),
  'payment.refund': z.object({ id: z.string(), payment: z.string(), status: z.string(), amount: z.string() }),
  'payment.reconcile': z.object({
    compared: z.int(),
    settled: z.array(z.string()),
    differences: z.array(
      z.object({
        payment: z.string().nullable(),
        providerId: z.string().nullable(),
        difference: z.string(),
      }),
    ),
  }),
  'records.write': z.object({ rows: z.array(z.array(z.unknown())) }),
} satisfies Record<OperationName, z.ZodType>

export type OperationResults = { [N in OperationName]: z.output<(typeof results)[N]> }

/** The response of the server when the operation failed. */
export const failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) })

/** Removes optional members that are undefined. */
export function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}
