import type { IncomingMessage, ServerResponse } from 'node:http'

/** How an exchange ended. Every exchange ends exactly once, in exactly one of these ways. */
export type Outcome =
  /** The last byte, or the dialect's last event, reached the client. */
  | { readonly kind: 'completed' }
  /** The gateway refused the request before a byte of a response was sent. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** The client left. */
  | { readonly kind: 'aborted' }
  /** The upstream died after its head was relayed. */
  | { readonly kind: 'broken'; readonly error: Error }

/**
 * The facts of an exchange, by name. The module that owns a fact's type declares it there, by declaration merging, so
 * that no module has to know them all.
 */
// oxlint-disable-next-line typescript/no-empty-interface -- filled by declaration merging
export interface Facts {}

/** The name of a fact. */
export type Fact = keyof Facts

/** A response that the gateway gives itself instead of forwarding, such as the list of models. */
export interface LocalResponse {
  readonly status: number
  /** Flat: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Changes response bytes on their way to the client, after the taps. Used in two places only. */
interface ResponseRewriter {
  push(chunk: Buffer): Buffer
  end(): Buffer
}

/** Ends a response that must not continue, and tells the client why where the format allows it. */
interface ResponseEnd {
  cutAtEvent(reason: Error): void
}

/** The event that says that a stream was cut, and where it may be inserted. */
interface CutNotice {
  event(reason: Error | undefined): Buffer
  /** Follows the bytes of the stream as they are written. */
  readonly events: { follow(bytes: Buffer): void; readonly isBetweenEvents: boolean }
}

/**
 * Follows a response's bytes. An object, because a closure in a field of each exchange kept all exchanges in memory.
 */
interface TerminalState {
  readonly isTerminal: boolean
}

/** When an exchange reached each step, by `performance.now()`; undefined until it does. */
interface Moments {
  readonly begunMs: number
  /** The gates let it through: its body was read, its hold admitted. */
  admittedMs: number | undefined
  /** The hold, for which the response's bytes wait, is durable. */
  heldMs: number | undefined
  /** A connection to the provider was assigned. */
  connectedMs: number | undefined
  /** The head of the provider's response came. */
  firstByteMs: number | undefined
  endedMs: number | undefined
}

/** One request and its response, and what the plugins know about it. */
export class Exchange {
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly moments: Moments = {
    begunMs: performance.now(),
    admittedMs: undefined,
    heldMs: undefined,
    connectedMs: undefined,
    firstByteMs: undefined,
    endedMs: undefined,
  }

  /**
   * Whether it is a connection whose messages are exchanges of their own: the gates decide whether it may be opened,
   * and those that need to know what is requested decide about each message.
   */
  isConnection = false
  /** The client closed its connection before the response ended. */
  hasClientLeft = false
  /** The request was passed to the upstream, which may have started work on it. */
  wasSent = false
  /** The status of the upstream's response, once its head has arrived; the client may not have seen it yet. */
  responseStatus: number | undefined
  /** How a plugin cuts the response while it is relayed; set before the first gate. */
  responseEnd: ResponseEnd | undefined
  /** Set by a gate to respond without an upstream. */
  localResponse: LocalResponse | undefined
  rewriter: ResponseRewriter | undefined
  /** The gateway's own response headers, sent after the upstream's; flat. */
  readonly extraHeaders: string[] = []
  /** Headers, by lower-case name, that replace the client's at the provider; undefined removes one. */
  upstreamHeaders: Map<string, string | undefined> | undefined
  /** Whether to stop the upstream or read to the usage when the client leaves; set with the upstream. */
  onClientLeft: 'abort' | 'drain' = 'abort'
  /**
   * Reading to the usage after the client has left: `limited` when the response was too long, `refused` when too many
   * other responses were being read at the time.
   */
  drain: 'none' | 'reading' | 'limited' | 'refused' = 'none'
  /** Knows when the response's last event was seen: a client that leaves after it has the whole response. */
  responseReader: TerminalState | undefined
  /** The event that tells the client's SDK that a stream was cut; absent where the format has none. */
  cutNotice: CutNotice | undefined

  readonly #facts: Partial<Facts> = {}
  /** The promise for which the response's bytes wait; undefined when they may be sent. */
  barrier: Promise<unknown> | undefined

  constructor(id: string, request: IncomingMessage, response: ServerResponse, startedAt: number) {
    this.id = id
    this.request = request
    this.response = response
    this.startedAt = startedAt
  }

  /** @throws Error when no plugin has set the fact; the boot check makes that a bug, not an input. */
  get<F extends Fact>(fact: F): Facts[F] {
    const value = this.#facts[fact]
    if (value === undefined) throw new Error(`The fact "${fact}" was read before a plugin set it.`)
    return value
  }

  find<F extends Fact>(fact: F): Facts[F] | undefined {
    return this.#facts[fact]
  }

  set<F extends Fact>(fact: F, value: Facts[F]): void {
    this.#facts[fact] = value
  }

  /** Keeps all unsent bytes of the response until the promise is fulfilled. */
  holdBack(until: Promise<unknown>): void {
    const barrier = this.barrier === undefined ? until : Promise.all([this.barrier, until])
    this.barrier = barrier
    barrier.then(
      () => {
        if (this.barrier !== barrier) return
        this.barrier = undefined
        this.moments.heldMs = performance.now()
      },
      () => undefined, // The barrier stays; the relay handles the rejection when it awaits it.
    )
  }
}
