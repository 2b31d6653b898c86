import { AccountError } from '../accounts/accounts.ts'
import { GatewayError, type ErrorRow, type GatewayErrorOptions } from '../pipeline/errors.ts'
import type { KeyBudget } from '../ledger/key-spending.ts'
import {
  BalanceInsufficientError,
  HoldResolvedError,
  KeyBudgetExceededError,
  LedgerUnavailableError,
} from '../ledger/ledger.ts'
import type { Balance } from '../ledger/ledger.ts'

/** Sends messages to another process and receives its messages, in order, until it is closed. */
export interface Channel {
  send(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  /** Called when the other end is gone and everything it had sent has been received. */
  onClose(listener: () => void): void
}

/** The parts of a process that a channel uses: this process, or one that it has forked. */
interface LinkedProcess {
  readonly connected: boolean
  readonly pid?: number | undefined
  send?(message: object, done: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect' | 'exit' | 'error', listener: () => void): unknown
  disconnect?(): void
}

/** How long the messages of a process that has exited are still read. */
const restMs = 1000

/** The channel that Node opens between a process and those it forks. */
export function processChannel(linked: LinkedProcess): Channel {
  return {
    send(message) {
      // A message that cannot be sent any more is followed by the close event.
      if (linked.connected) linked.send?.(message as object, () => undefined)
    },
    onMessage: listener => void linked.on('message', listener),
    onClose(listener) {
      let isClosed = false
      const close = (): void => {
        if (isClosed) return
        isClosed = true
        listener()
      }
      linked.once('disconnect', close)
      linked.once('error', () => {
        // A process that could not be started emits no disconnect.
        if (linked.pid === undefined) close()
      })
      // A process killed while a connection is passed to it may never emit a disconnect; until then, more connections
      // would be passed to it.
      linked.once('exit', () => {
        setTimeout(() => {
          if (linked.connected) linked.disconnect?.()
          close()
        }, restMs)
      })
    },
  }
}

/** An error in a message to another process: its kind, and the values to rebuild it from. */
export type ErrorMessage =
  | readonly ['balance', number, number, Balance]
  | readonly ['budget', number, number, KeyBudget, number]
  | readonly ['resolved', { readonly exchangeId: string; readonly sequence: number }, string]
  | readonly ['unavailable', string]
  | readonly ['account', string, string]
  | readonly [
      'gateway',
      { readonly code: string; readonly row: ErrorRow },
      string,
      Omit<GatewayErrorOptions, 'cause'>,
    ]
  | readonly ['range', string]
  | readonly ['other', string, string]

/** Serializes an error; what callers act on is kept, its stack is not. */
export function errorMessage(error: unknown): ErrorMessage {
  if (error instanceof BalanceInsufficientError)
    return ['balance', error.likelyMicros, error.worstMicros, error.balance]
  if (error instanceof KeyBudgetExceededError)
    return ['budget', error.likelyMicros, error.worstMicros, error.budget, error.riskMicros]
  if (error instanceof HoldResolvedError) return ['resolved', error.hold, error.state]
  if (error instanceof LedgerUnavailableError) return ['unavailable', error.message]
  if (error instanceof AccountError) return ['account', error.code, error.message]
  if (error instanceof GatewayError) {
    const { code, row, message, param, details, retryAfterSeconds } = error
    return [
      'gateway',
      { code, row },
      message,
      {
        ...(param !== undefined && { param }),
        ...(details !== undefined && { details }),
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      },
    ]
  }
  if (error instanceof RangeError) return ['range', error.message]
  return error instanceof Error ? ['other', error.name, error.message] : ['other', 'Error', String(error)]
}

/** Rebuilds the error, in the same class. */
export function errorOf(message: ErrorMessage): Error {
  switch (message[0]) {
    case 'balance':
      return new BalanceInsufficientError(message[1], message[2], message[3])
    case 'budget':
      return new KeyBudgetExceededError(message[1], message[2], message[3], message[4])
    case 'resolved':
      return new HoldResolvedError(message[1], message[2])
    case 'unavailable':
      return new LedgerUnavailableError(message[1])
    case 'account':
      return new AccountError(message[1], message[2])
    case 'gateway':
      return new GatewayError(message[1], message[2], message[3])
    case 'range':
      return new RangeError(message[1])
    case 'other':
      return Object.assign(new Error(message[2]), { name: message[1] })
  }
}

/** The operations that another process can call, by name. */
export type Operations = Readonly<Record<string, (...values: never[]) => unknown>>

type Answers<T> = Promise<Awaited<T>>

const ask = 0
const tell = 1
const answer = 2
const failure = 3

type Message =
  | readonly [typeof ask, number, string, ...unknown[]]
  | readonly [typeof tell, 0, string, ...unknown[]]
  | readonly [typeof answer, number, unknown]
  | readonly [typeof failure, number, ErrorMessage]

/**
 * One end of a connection between two processes that call each other. Messages of one iteration of the event loop are
 * sent together. They are received in the order in which they were sent, and each call starts as soon as it is
 * received, so that later messages can rely on it.
 */
export class Peer<Theirs extends Operations, Ours extends Operations> {
  readonly #channel: Channel
  readonly #ours: Ours
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #said: Message[] = []
  #nextId = 1
  #isClosed = false

  constructor(channel: Channel, ours: Ours) {
    this.#channel = channel
    this.#ours = ours
    channel.onMessage(messages => {
      // Messages after the close are ignored: what was open has been released by then.
      if (this.#isClosed) return
      for (const message of messages as readonly Message[]) this.#hear(message)
    })
    channel.onClose(() => this.#close())
  }

  /** @throws LedgerUnavailableError when the other process is gone, and what the other process throws */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    ...values: Parameters<Theirs[Name]>
  ): Answers<ReturnType<Theirs[Name]>> {
    if (this.#isClosed) return Promise.reject(gone())
    const id = this.#nextId++
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#say([ask, id, name, ...values])
    return waiting.promise as Answers<ReturnType<Theirs[Name]>>
  }

  /** Calls an operation without waiting for a result. */
  tell<Name extends keyof Theirs & string>(name: Name, ...values: Parameters<Theirs[Name]>): void {
    if (!this.#isClosed) this.#say([tell, 0, name, ...values])
  }

  /** The number of calls without a result so far. */
  get waiting(): number {
    return this.#waiting.size
  }

  #say(message: Message): void {
    // After the callbacks of this iteration, whose messages are to be sent together.
    if (this.#said.push(message) === 1) setImmediate(() => this.flush())
  }

  /** Sends the messages gathered so far in this iteration. */
  flush(): void {
    const said = this.#said
    if (said.length === 0) return
    this.#said = []
    this.#channel.send(said)
  }

  #hear(message: Message): void {
    const [kind, id, third] = message
    if (kind === answer) this.#take(id)?.resolve(third)
    else if (kind === failure) this.#take(id)?.reject(errorOf(third))
    else void this.#do(kind === ask ? id : undefined, third, message.slice(3) as never[])
  }

  #take(id: number): PromiseWithResolvers<unknown> | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  async #do(id: number | undefined, name: string, values: never[]): Promise<void> {
    const operation = this.#ours[name]
    try {
      if (operation === undefined) throw new TypeError(`there is no operation ${name}`)
      const value = operation(...values)
      const result = value instanceof Promise ? await value : value
      if (id !== undefined && !this.#isClosed) this.#say([answer, id, result])
    } catch (error) {
      // No caller waits for a one-way message: its failure is a failure of this process.
      if (id === undefined) throw error
      if (!this.#isClosed) this.#say([failure, id, errorMessage(error)])
    }
  }

  #close(): void {
    this.#isClosed = true
    for (const { reject } of this.#waiting.values()) reject(gone())
    this.#waiting.clear()
  }
}

function gone(): LedgerUnavailableError {
  return new LedgerUnavailableError('the process that was asked has ended')
}
