import { chmodSync, lstatSync, rmSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { z } from 'zod'
import { AccountError, type Accounts } from '../accounts/accounts.ts'
import { readBody } from '../http/read-body.ts'
import type { Log } from '../platform/log.ts'
import { nodeHttp } from '../platform/node-http.ts'
import type { PaymentActions } from '../payments/payment-actions.ts'
import { RecordConflictError, recordConflict } from '../stores/records/records.ts'
import type { RecordStep, Records } from '../stores/records/records.ts'
import type { ProviderHealth } from '../upstream/provider-health.ts'
import { isListening } from './control-client.ts'
import { isOperation, operations, withoutUndefined } from './operations.ts'
import type { OperationName, RecordStepMessage } from './operations.ts'
import { socketAddress, socketPath } from './socket-path.ts'

/** What executes the command line's requests. */
export interface ControlServerOptions {
  readonly storeFile: string
  readonly accounts: Accounts
  /** Absent: no payment provider is configured. */
  readonly payments?: PaymentActions | undefined
  /** The providers' health in each process that serves requests; absent where there is none. */
  readonly providers?:
    | {
        health(): Promise<readonly (readonly ProviderHealth[])[]>
        /** Applies the switches that are in the store now. */
        look(): Promise<void>
      }
    | undefined
  /** Loads the module that writes business rows. */
  readonly records: () => Promise<Records>
  /** Reads the configuration again; returns what is wrong with it, and then changes nothing. */
  readonly reload?: (() => Promise<readonly string[]>) | undefined
  readonly log: Pick<Log, 'error' | 'info'>
}

interface ControlServer {
  /** Absolute path of the socket. */
  readonly path: string
  /** Finishes the requests received so far, then stops. */
  close(): Promise<void>
}

/** Enough for two hundred payments of a bank statement, each with all its texts. */
const bodyBytesMax = 2 * 1024 * 1024

/**
 * Listens beside the store for requests of the command line. Requires the store's lock. The file's mode, 0600, is the
 * whole of the authorization: a user who may use the socket may also write the store.
 *
 * @throws Error when the path is too long, is not a socket, or another process listens there
 */
export async function openControlServer(options: ControlServerOptions): Promise<ControlServer> {
  const path = socketPath(options.storeFile)
  await removeStale(path)
  const address = socketAddress(path)
  const server = nodeHttp.createServer((request, response) => {
    void respond(request, response, options)
  })
  server.requestTimeout = 30_000
  try {
    await listen(server, address.path)
  } catch (error) {
    address.release()
    throw error
  }
  chmodSync(path, 0o600)
  return {
    path,
    async close() {
      await new Promise<void>((resolve, reject) => {
        server.close(error => (error === undefined ? resolve() : reject(error)))
        server.closeIdleConnections()
      })
      // Only after the close: the socket's file is removed through the path that it was created with.
      address.release()
    },
  }
}

/** Removes a socket that nothing listens on: a killed server left it behind. */
async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) throw new Error(`${path} is in the way of the control socket: move it elsewhere`)
  if (await isListening(path)) throw new Error(`another gateway listens on ${path}: stop it first`)
  rmSync(path, { force: true })
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // listen() creates the file itself, so the umask ensures that it never has a wider mode.
    const mask = process.umask(0o177)
    try {
      server.listen(path, () => {
        server.off('error', reject)
        resolve()
      })
    } finally {
      process.umask(mask)
    }
  })
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: ControlServerOptions,
): Promise<void> {
  const { log } = options
  const name = (request.url ?? '').slice(1)
  try {
    if (request.method !== 'POST' || !isOperation(name)) {
      send(response, 404, 'operation_unknown', `this gateway has no operation "${name}"`)
      return
    }
    const body = taken(operations[name], await readJson(request))
    const act = actsOf(options)[name] as (body: unknown) => object | Promise<object>
    const result = await act(body)
    if (!isReading(name)) log.info({ operation: name }, 'the command line changed accounts')
    sendJson(response, 200, result)
  } catch (error) {
    if (error instanceof AccountError) send(response, 409, error.code, error.message)
    else if (error instanceof RecordConflictError) send(response, 409, recordConflict, error.message)
    else if (error instanceof SyntaxError) send(response, 400, 'request_invalid', error.message)
    else {
      log.error({ error, operation: name }, 'an operation of the command line failed')
      send(response, 500, 'internal', error instanceof Error ? error.message : String(error))
    }
  }
}

function isReading(name: OperationName): boolean {
  return name === 'ping' || name === 'reload' || name === 'provider.health'
}

type Acts = { readonly [N in OperationName]: (body: z.output<(typeof operations)[N]>) => object }

/** The implementation of each operation, called with its body; returns the result or a promise of it. */
function actsOf({ accounts, payments, records, providers, reload }: ControlServerOptions): Acts {
  const paying = (): PaymentActions => {
    if (payments !== undefined) return payments
    const message = 'no payment provider is set up: see payments in the configuration'
    throw new AccountError('payments_off', message)
  }
  return {
    ping: () => ({ pid: process.pid }),
    reload: async () => ({
      problems: (await reload?.()) ?? ['it reads its configuration at the start only'],
    }),
    'account.create': body => accounts.createAccount(withoutUndefined(body)),
    'account.credit': body => accounts.credit(withoutUndefined(body)),
    'account.debit': body => accounts.debit(withoutUndefined(body)),
    'account.block': body => accounts.setBlocked(body),
    'key.create': body => accounts.createKey(withoutUndefined(body)),
    'key.edit': body => accounts.editKey(withoutUndefined(body)),
    'key.revoke': async ({ id, operator }) => {
      await accounts.revokeKey(id, operator)
      return {}
    },
    'provider.health': async () => ({ processes: (await providers?.health()) ?? [] }),
    'payment.create': body => paying().createPayment(body),
    'payment.refund': body => paying().refundPayment(body),
    'payment.reconcile': body => paying().reconcilePayments(body),
    'records.write': async ({ steps }) => {
      const writer = await records()
      const rows = await writer.write(steps.map(stepOf))
      await providers?.look()
      return { rows }
    },
  }
}

/** A statement that was compiled by the client has nothing left to build. */
function stepOf(step: RecordStepMessage): RecordStep {
  if (!('write' in step)) return step
  const { write, rows } = step
  const compiled = { compile: () => write } as unknown as Extract<RecordStep, { write: unknown }>['write']
  return { write: compiled, ...(rows !== undefined && { rows }) }
}

/** @throws SyntaxError when the body does not match the operation's schema */
function taken(schema: z.ZodType, body: unknown): unknown {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new SyntaxError(problems.join('; '))
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request, bodyBytesMax)
  if (body === undefined) throw new SyntaxError(`the request is longer than ${bodyBytesMax} bytes`)
  const value: unknown = JSON.parse(body.toString('utf8'))
  return value
}

function send(response: ServerResponse, status: number, code: string, message: string): void {
  sendJson(response, status, { error: { code, message } })
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.end(body)
}
