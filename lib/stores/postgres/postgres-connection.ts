import { Client, DatabaseError, Pool, TypeOverrides } from 'pg'
import type { ClientConfig, QueryConfig } from 'pg'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { errorWords } from '../../platform/log.ts'
import { StoreError } from '../shared/store-queries.ts'

/** A dedicated connection. */
export type PostgresClient = Client
/** Connections that are acquired for a statement or a transaction. */
export type PostgresPool = Pool

/** Runs statements: a dedicated connection, or one of a pool. */
export type PostgresQueries = Pick<Client, 'query'>

/** A statement with a timeout of its own; 0 means the usual one. */
export type TimedQuery = QueryConfig<unknown[]> & { readonly query_timeout?: number }

const bigint = 20
const types = new TypeOverrides()
// The driver returns BIGINT as text. All of ours are times, counts and micro-roubles.
types.setTypeParser(bigint, 'text', text => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} in the store is not a safe integer`)
  return value
})

function clientConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    types,
    application_name: 'gateway',
    connectionTimeoutMillis: 5_000,
    // No statement here takes as long; one that does waits for a lock or a dead connection.
    lock_timeout: 5_000,
    statement_timeout: 10_000,
    query_timeout: 15_000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
  }
}

/**
 * Opens a connection for one purpose. `onLost` is called when it ends by itself, which may be before the promise
 * resolves.
 * @throws Error when the database cannot be reached, or refuses
 */
export async function connectPostgres(
  url: string,
  onLost: (error: Error, lost: PostgresClient) => void,
): Promise<PostgresClient> {
  const client = new Client(clientConfig(url))
  client.on('error', error => onLost(error, client))
  await client.connect()
  return client
}

/** How long the other side may take to end a connection, in milliseconds. */
const endMs = 2_000

/** Ends connections, without waiting long for a database that does not respond. */
export async function endPostgres(connections: Pick<Client, 'end'> | Pick<Pool, 'end'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, endMs)
  try {
    await Promise.race([connections.end(), promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Connections for work that is not urgent: reports, and changes of accounts and keys. */
export function postgresPool(url: string, onLost: (error: Error) => void): PostgresPool {
  const pool = new Pool({ ...clientConfig(url), max: 4, allowExitOnIdle: true })
  pool.on('error', onLost)
  // The pool listens for errors of idle connections only; an error without a listener would end the process.
  pool.on('connect', client => client.on('error', onLost))
  return pool
}

/** Reading everything, as `verify` does, may exceed every timeout, and pause while the machine does other work. */
export const withoutTimeouts =
  'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0'

/**
 * SQLSTATE classes of errors that the statement caused: its values, a conflict with existing rows, its size, or an
 * exception of our own function. All others are failures of the store, including a table that is missing or cannot be
 * written: what is owed then can be written when the store is repaired.
 */
const ownFailures = /^(22|23|54|P0)/

/** Whether the store failed, and not the statement. What was sent may or may not be done then. */
export function isStoreFailure(error: unknown): boolean {
  return !(error instanceof DatabaseError) || !ownFailures.test(error.code ?? '')
}

/** The SQLSTATE of a failure, or the connection's own error code. */
export function postgresErrorCode(error: unknown): string {
  if (error instanceof DatabaseError) return error.code ?? 'unknown'
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'connection'
}

/** Runs statements as one transaction, on a connection of the pool. */
export async function transaction<T>(
  pool: PostgresPool,
  begin: string,
  run: (queries: PostgresQueries) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  // A connection on which something failed is in an unknown state, and is not used again.
  let failure: Error | undefined = new Error('the transaction did not end')
  try {
    await client.query(begin)
    const result = await run(client)
    await client.query('COMMIT')
    failure = undefined
    return result
  } finally {
    client.release(failure)
  }
}

/** The error for a store that cannot be reached, for the person who starts the gateway. */
export function cannotConnect(url: string, cause: unknown): StoreError {
  const { host, pathname } = new URL(url)
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : postgresErrorCode(cause)
  const remedy = 'check that it runs, and `store` in the configuration'
  const message = `the database ${pathname.slice(1)} on ${host} cannot be opened: ${reason}; ${remedy}`
  return new StoreError(message, { cause })
}

/** The error that callers get when a transaction could not be written. */
export function notWritten(cause: unknown): LedgerUnavailableError {
  return new LedgerUnavailableError(`the store cannot be written: ${errorWords(cause)}`, { cause })
}
