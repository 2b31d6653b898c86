import { AccountError, type Accounts } from '../accounts/accounts.ts'
import { nodeHttp } from '../platform/node-http.ts'
import type { PaymentActions } from '../payments/payment-actions.ts'
import type { ProviderHealth } from '../upstream/provider-health.ts'
import { recordValues, RecordConflictError, recordConflict } from '../stores/records/records.ts'
import type { RecordStep } from '../stores/records/records.ts'
import { failure, results } from './operations.ts'
import type { OperationName, OperationResults, RecordStepMessage } from './operations.ts'
import { socketAddress } from './socket-path.ts'

const answerMs = 30_000

/** Nothing listens on the socket, or there is none. */
export class ControlUnreachableError extends Error {
  constructor(path: string, options: { readonly cause: unknown }) {
    super(`no gateway answers on ${path}`, options)
    this.name = 'ControlUnreachableError'
  }
}

/** The accounts of a running server, over its control socket. */
export class ControlClient implements Accounts, PaymentActions {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  readonly createAccount: Accounts['createAccount'] = account => this.#ask('account.create', account)
  readonly credit: Accounts['credit'] = credit => this.#ask('account.credit', credit)
  readonly debit: Accounts['debit'] = debit => this.#ask('account.debit', debit)
  readonly createKey: Accounts['createKey'] = key => this.#ask('key.create', key)
  readonly editKey: Accounts['editKey'] = edit => this.#ask('key.edit', edit)
  readonly setBlocked: Accounts['setBlocked'] = block => this.#ask('account.block', block)
  readonly createPayment: PaymentActions['createPayment'] = payment => this.#ask('payment.create', payment)
  readonly refundPayment: PaymentActions['refundPayment'] = refund => this.#ask('payment.refund', refund)
  readonly reconcilePayments: PaymentActions['reconcilePayments'] = time =>
    this.#ask('payment.reconcile', time)

  ping(): Promise<OperationResults['ping']> {
    return this.#ask('ping', {})
  }

  /** Makes the server read its configuration again; returns what is wrong with it. */
  async reload(): Promise<readonly string[]> {
    return (await this.#ask('reload', {})).problems
  }

  /** @throws RecordConflictError as a store does */
  async writeRecords(steps: readonly RecordStep[]): Promise<readonly (readonly unknown[])[]> {
    try {
      const { rows } = await this.#ask('records.write', { steps: steps.map(stepMessage) })
      return rows
    } catch (error) {
      if (!(error instanceof AccountError) || error.code !== recordConflict) throw error
      throw new RecordConflictError(error.message, { cause: error })
    }
  }

  async revokeKey(id: string, operator?: string): Promise<void> {
    await this.#ask('key.revoke', { id, operator })
  }

  async providerHealth(): Promise<readonly (readonly ProviderHealth[])[]> {
    return (await this.#ask('provider.health', {})).processes
  }

  async #ask<N extends OperationName>(name: N, body: object): Promise<OperationResults[N]> {
    const { status, text } = await post(this.#path, name, JSON.stringify(body))
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch (error) {
      throw new Error(`what listens on ${this.#path} is no gateway`, { cause: error })
    }
    if (status === 200) return results[name].parse(parsed) as OperationResults[N]
    const { data } = failure.safeParse(parsed)
    if (data === undefined) throw new Error(`what listens on ${this.#path} is no gateway`)
    if (status === 409) throw new AccountError(data.error.code, data.error.message)
    throw new Error(`the running gateway could not do it: ${data.error.message}`)
  }
}

function stepMessage(step: RecordStep): RecordStepMessage {
  if (!('write' in step)) return step
  const { sql, parameters } = step.write.compile()
  return {
    write: { sql, parameters: recordValues(parameters) },
    ...(step.rows !== undefined && { rows: step.rows }),
  }
}

/** Whether a server responds on the socket. */
export async function isListening(path: string): Promise<boolean> {
  try {
    await new ControlClient(path).ping()
    return true
  } catch (error) {
    if (error instanceof ControlUnreachableError) return false
    throw error
  }
}

async function post(path: string, name: string, body: string): Promise<{ status: number; text: string }> {
  const address = socketAddress(path)
  try {
    return await postTo(address.path, name, body)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ECONNREFUSED')
      throw new ControlUnreachableError(path, { cause: error })
    if (code === 'EACCES' || code === 'EPERM')
      throw new Error(
        `the gateway's socket ${path} is not this user's: run this as the user who runs the gateway`,
        {
          cause: error,
        },
      )
    throw error
  } finally {
    address.release()
  }
}

function postTo(socket: string, name: string, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = nodeHttp.request({
      socketPath: socket,
      path: `/${name}`,
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      signal: AbortSignal.timeout(answerMs),
    })
    request.on('error', reject)
    request.on('response', response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') })
      })
    })
    request.end(body)
  })
}
