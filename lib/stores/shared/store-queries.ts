import { fileProblem } from '../../platform/file-problem.ts'

/** The store cannot be opened: it is damaged, not a gateway's, or written by a newer program. */
export class StoreError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'StoreError'
  }
}

/** Another process, or another part of this one, is the store's writer. */
export class StoreLockedError extends StoreError {
  constructor(file: string) {
    super(
      `${file} is open in another process, and a SQLite store has one writer: ` +
        'stop the other gateway, or give this one a store of its own',
    )
    this.name = 'StoreLockedError'
  }
}

const notAllowed = /^(?:EACCES|EPERM|EROFS|SQLITE_(?:CANTOPEN|READONLY|PERM))/
/** In place of the system's messages, which differ by the call that failed. */
const refusals: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'this user may not'],
  ['EPERM', 'this user may not'],
  ['EROFS', 'its disk is read-only'],
])

/** Describes a file that the system would not open: which, why, and what to do when permission is missing. */
export function cannotOpen(file: string, cause: unknown): StoreError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = notAllowed.test(code)
    ? `${refusals.get(code) ?? (cause as Error).message}; run this as the user who owns the store, or name a file that this user may write: \`store\` in the configuration`
    : fileProblem(cause)
  return new StoreError(`${file} cannot be opened: ${reason}`, { cause })
}

/** A value that a statement binds. */
export type QueryValue = string | number | null

/** A statement that both stores understand, with `?` for each value. */
export interface SqlStatement {
  readonly sql: string
  readonly values: readonly QueryValue[]
}

/** Read access to a store of either kind: SQL that both understand, with `?` for each value. */
export interface StoreQueries {
  readonly kind: 'sqlite' | 'postgres'
  all<Row extends object>(sql: string, values?: readonly QueryValue[]): Promise<readonly Row[]>
  /** Runs queries that may take minutes. Each query sees one state of the store; two queries may see different ones. */
  withoutHurry<T>(read: (queries: StoreQueries) => Promise<T>): Promise<T>
  close(): Promise<void>
}
