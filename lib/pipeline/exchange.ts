import type { IncomingMessage, ServerResponse } from 'node:http'

/** How an exchange ended. Every exchange ends exactly once, in exactly one of these ways. */
export type Outcome =
  /** The last byte, or the dialect's last event, reached the client. */
  | { readonly kind: 'completed' }
  /** The gateway said no before a byte of an answer was sent. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** The client left. */
  | { readonly kind: 'aborted' }
  /** The upstream died after its head was relayed. */
  | { readonly kind: 'broken'; readonly error: Error }

/**
 * What is known of an exchange, by name. Each fact is declared by whoever owns its type, beside it, by declaration
 * merging; so nobody has to know them all.
 */
// oxlint-disable-next-line typescript/no-empty-interface -- filled by declaration merging
export interface Facts {}

/** The name of something known of an exchange. */
export type Fact = keyof Facts

/** An answer the gateway gives itself instead of forwarding, such as the list of models. */
export interface LocalResponse {
  readonly status: number
  /** Flat: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Changes answer bytes on their way to the client, behind the taps. Used in two places only. */
interface ResponseRewriter {
  push(chunk: Buffer): Buffer
  end(): Buffer
}

/** Ends an answer that may not go on, and says so where its format can. */
interface ResponseEnd {
  cutAtEvent(reason: Error): void
}

/** The event that says that a stream was cut, and where it may be put. */
interface CutNotice {
  event(reason: Error | undefined): Buffer
  /** Follows what is written of the stream. */
  readonly events: { follow(bytes: Buffer): void; readonly isBetweenEvents: boolean }
}

/** Follows an answer's bytes. Not a function: one in a field of each exchange kept them all in memory. */
interface TerminalState {
  readonly isTerminal: boolean
}

/** When an exchange came how far, by `performance.now()`; undefined for what has not happened. */
interface Moments {
  readonly begunMs: number
  /** The gates let it through: its body was read, its hold admitted. */
  admittedMs: number | undefined
  /** What its answer's bytes wait for is durable: the hold. */
  heldMs: number | undefined
  /** A connection to the provider took it. */
  connectedMs: number | undefined
  /** The head of the provider's answer came. */
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
   * It is a connection whose messages are exchanges of their own: the gates decide whether it may be opened, and those
   * that need to know what is asked for decide about each message.
   */
  isConnection = false
  /** The client closed its connection before the answer ended. */
  hasClientLeft = false
  /** The request was handed to the upstream, which may have begun to work on it. */
  wasSent = false
  /** The status of the upstream's answer, from its head on; the client may not have seen it yet. */
  responseStatus: number | undefined
  /** How a plugin cuts the answer while it is relayed; there before the first gate. */
  responseEnd: ResponseEnd | undefined
  /** Set by a gate to answer without an upstream. */
  localResponse: LocalResponse | undefined
  rewriter: ResponseRewriter | undefined
  /** Headers of ours that the answer carries beside the upstream's; flat. */
  readonly extraHeaders: string[] = []
  /** Headers, by their names in lower case, that the provider gets in place of the client's, or does not get at all. */
  upstreamHeaders: Map<string, string | undefined> | undefined
  /** Whether to stop or to read on to the usage when the client leaves; set with the upstream. */
  onClientLeft: 'abort' | 'drain' = 'abort'
  /**
   * How reading on for the usage went: `limited` when the answer was too long for it, `refused` when too many
   * others were read on at the time.
   */
  drain: 'none' | 'reading' | 'limited' | 'refused' = 'none'
  /** Says when the answer's last event was seen: a client that leaves then has it all. */
  responseReader: TerminalState | undefined
  /** The event that tells the client's SDK that a stream was cut; absent where none can be sent. */
  cutNotice: CutNotice | undefined

  readonly #facts: Partial<Facts> = {}
  /** What the answer's bytes wait for: undefined when they may go. */
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

  /** Keeps every byte of the answer that has not left yet back until the promise is fulfilled. */
  holdBack(until: Promise<unknown>): void {
    const barrier = this.barrier === undefined ? until : Promise.all([this.barrier, until])
    this.barrier = barrier
    barrier.then(
      () => {
        if (this.barrier !== barrier) return
        this.barrier = undefined
        this.moments.heldMs = performance.now()
      },
      () => undefined, // The barrier stays; the relay meets the rejection when it waits for it.
    )
  }
}
