import { z } from 'zod'

const micros = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const text = z.string().min(1).max(1000)

/** What can be asked of a running server, and the body of each request. */
export const operations = {
  ping: z.strictObject({}),
  'account.create': z.strictObject({ email: text, name: text.optional() }),
  'account.credit': z.strictObject({
    accountId: text,
    amountMicros: micros,
    reason: text,
    idempotencyKey: text.optional(),
  }),
  'key.create': z.strictObject({
    accountId: text,
    name: text.optional(),
    models: z.array(text).max(1000).optional(),
    budgetMicros: micros.optional(),
    budgetPeriod: z.enum(['total', 'day', 'week', 'month']).optional(),
    expiresAt: z.int().min(0).optional(),
    ipAddresses: z.array(text).max(1000).optional(),
  }),
  'key.revoke': z.strictObject({ id: text }),
} as const

/** What the running server can be asked to do. */
export type OperationName = keyof typeof operations

/** Whether there is an operation of that name. */
export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}

/** What each operation answers. */
export interface OperationResults {
  ping: { readonly pid: number }
  'account.create': { readonly id: string }
  'account.credit': { readonly entryId: string; readonly balanceMicros: number }
  'key.create': { readonly id: string; readonly key: string }
  'key.revoke': Readonly<Record<string, never>>
}

/** The answers, checked: what listens on the socket may be another version. */
export const results: { readonly [N in OperationName]: z.ZodType<OperationResults[N]> } = {
  ping: z.object({ pid: z.int() }),
  'account.create': z.object({ id: z.string() }),
  'account.credit': z.object({ entryId: z.string(), balanceMicros: z.int() }),
  'key.create': z.object({ id: z.string(), key: z.string() }),
  'key.revoke': z.record(z.string(), z.never()),
}

/** The answer of the server when it could not. */
export const failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) })

/** An optional member that is undefined is a member that is absent. */
export function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}
