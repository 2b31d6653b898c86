import { LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Channel } from './channel.ts'
import { errorMessage, errorOf } from './error-message.ts'
import type { ErrorMessage } from './error-message.ts'

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
