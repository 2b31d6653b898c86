import { Client, DatabaseError, Pool, TypeOverrides } from 'pg'
import type { ClientConfig, QueryConfig } from 'pg'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { errorWords } from '../../platform/log.ts'
import { StoreError } from '../shared/store-queries.ts'

/** A connection of one's own. */
export type PostgresClient = Client
/** Connections that are lent for a statement or a transaction. */
export type PostgresPool = Pool

/** What runs statements: a connection of its own, or one of a pool's. */
export type PostgresQueries = Pick<Client, 'query'>

/** A statement that may take another time than most; 0 stands for the usual one. */
export type TimedQuery = QueryConfig<unknown[]> & { readonly query_timeout?: number }

const bigint = 20
const types = new TypeOverrides()
// The driver hands BIGINT over as text. All of ours are times, counts and micro-roubles.
types.setTypeParser(bigint, 'text', text => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} in the store is no safe integer`)
  return value
})

function clientConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    types,
    application_name: 'gateway',
    connectionTimeoutMillis: 5_000,
    // Nothing here takes as long, so what does is a lock or a connection that will not come back.
    lock_timeout: 5_000,
    statement_timeout: 10_000,
    query_timeout: 15_000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
  }
}

/**
 * Opens a connection for one purpose. `onLost` is told when it ends by itself, which may be before it was
 * handed over.
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

/** How long the other side may take to end a connection too, in milliseconds. */
const endMs = 2_000

/** Ends connections, without waiting long for a database that does not answer. */
export async function endPostgres(connections: Pick<Client, 'end'> | Pick<Pool, 'end'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, endMs)
  try {
    await Promise.race([connections.end(), promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Connections for what is not of the moment: reports, and changes of accounts and keys. */
export function postgresPool(url: string, onLost: (error: Error) => void): PostgresPool {
  const pool = new Pool({ ...clientConfig(url), max: 4, allowExitOnIdle: true })
  pool.on('error', onLost)
  // The pool listens to the ones that are idle; an error that nobody listens to would end the process.
  pool.on('connect', client => client.on('error', onLost))
  return pool
}

/** Reading everything, as `verify` does, takes what it takes. */
export const withoutTimeouts = 'SET LOCAL statement_timeout = 0'

/**
 * Classes of errors that are of what was asked: its values, what stands there already, its size, what our own
 * function says of it. All others are the store's, as also a table that is not there or may not be written:
 * what is owed meanwhile can be written when the store is in order.
 */
const ownFailures = /^(22|23|54|P0)/

/** Whether the store failed, and not what was asked of it. What was sent may have been done or not. */
export function isStoreFailure(error: unknown): boolean {
  return !(error instanceof DatabaseError) || !ownFailures.test(error.code ?? '')
}

/** The SQLSTATE of a failure, or what the connection says of its own. */
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

/** A store that cannot be reached, as whoever starts the gateway is told. */
export function cannotConnect(url: string, cause: unknown): StoreError {
  const { host, pathname } = new URL(url)
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : postgresErrorCode(cause)
  const remedy = 'check that it runs, and `store` in the configuration'
  const message = `the database ${pathname.slice(1)} on ${host} cannot be opened: ${reason}; ${remedy}`
  return new StoreError(message, { cause })
}

/** As callers are told that a transaction could not be written. */
export function notWritten(cause: unknown): LedgerUnavailableError {
  return new LedgerUnavailableError(`the store cannot be written: ${errorWords(cause)}`, { cause })
}
