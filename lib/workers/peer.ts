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

/** Takes messages to another process and brings its own, in order, until it is closed. */
export interface Channel {
  send(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  /** The other end is gone, and what it had sent has been heard. */
  onClose(listener: () => void): void
}

/** What a channel needs of a process: this one, or one that it has forked. */
interface LinkedProcess {
  readonly connected: boolean
  readonly pid?: number | undefined
  send?(message: object, done: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect' | 'exit' | 'error', listener: () => void): unknown
  disconnect?(): void
}

/** How long a process that has exited may be read from. */
const restMs = 1000

/** The channel that Node opens between a process and those it forks. */
export function processChannel(linked: LinkedProcess): Channel {
  return {
    send(message) {
      // What can no longer be sent is told of by the close.
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
        // One that could not be started has no end to be told of.
        if (linked.pid === undefined) close()
      })
      // A process killed while a connection is handed to it may never be said to have disconnected; as long as
      // it is not, connections would be handed to it.
      linked.once('exit', () => {
        setTimeout(() => {
          if (linked.connected) linked.disconnect?.()
          close()
        }, restMs)
      })
    },
  }
}

/** An error on its way to another process: its kind, and what its kind is made of. */
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

/** Takes an error apart; what callers act by is kept, where it was thrown is not. */
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

/** The error again, of the same class. */
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

/** What one process can be asked by another, by name. */
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
 * One end of a conversation between two processes that ask each other. What is said in one turn of the event
 * loop goes as one message. It is heard in the order in which it was said, and each asking is begun at once
 * when it is heard, so that what follows it may count on it.
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
      // What comes after the end is of nobody: what was left open has been given back by then.
      if (this.#isClosed) return
      for (const message of messages as readonly Message[]) this.#hear(message)
    })
    channel.onClose(() => this.#close())
  }

  /** @throws LedgerUnavailableError when the other process is gone, and what it throws */
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

  /** Says something that needs no answer. */
  tell<Name extends keyof Theirs & string>(name: Name, ...values: Parameters<Theirs[Name]>): void {
    if (!this.#isClosed) this.#say([tell, 0, name, ...values])
  }

  /** Askings that have not been answered. */
  get waiting(): number {
    return this.#waiting.size
  }

  #say(message: Message): void {
    // After the callbacks of this turn: they are what there is to be gathered.
    if (this.#said.push(message) === 1) setImmediate(() => this.flush())
  }

  /** Sends what was said in this turn by now. */
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
      // A telling has nobody who waits for it: what fails in it is a failure of this process.
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
