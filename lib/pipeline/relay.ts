import { cutOff } from './cut-off.ts'
import { writeAnswerHead } from './answer-head.ts'
import type { Exchange } from './exchange.ts'
import type { Outcome } from './outcome.ts'
import type { AnswerSink, ResponseHead, Tap, UpstreamControls } from './plugin.ts'

/** What the relay asks of the pipeline at each step of an exchange. */
export interface RelaySteps {
  /** The head is here: attach the taps. */
  respond(exchange: Exchange, head: ResponseHead): readonly Tap[]
  tapFailed(exchange: Exchange, tap: Tap, error: unknown): void
  /** Decide what is owed. Returns undefined when nothing needs to be waited for. */
  settle(exchange: Exchange, outcome: Outcome): Promise<void> | undefined
  /** Answers with an error in the caller's dialect; no byte has been sent. */
  refuse(exchange: Exchange, error: Error): void
  end(exchange: Exchange, outcome: Outcome): void
}

/** Bounds on reading on for an answer's usage after its client has left. */
export interface DrainLimits {
  readonly timeMs: number
  readonly bytesMax: number
}

type Phase = 'gates' | 'forwarding' | 'relaying' | 'settling' | 'closing' | 'ended'

const noTaps: readonly Tap[] = []

/**
 * The one place that writes an answer to the client and feeds the taps. It sees to it that an exchange ends
 * exactly once, that the end of an answer waits until it is settled, and that a cut answer cannot pass for
 * a whole one.
 */
export class Relay implements AnswerSink {
  readonly #exchange: Exchange
  readonly #steps: RelaySteps
  readonly #drainLimits: DrainLimits
  #phase: Phase = 'gates'
  #outcome: Outcome | undefined
  #head: ResponseHead | undefined
  #controls: UpstreamControls | undefined
  #taps: readonly Tap[] = noTaps
  /** Bytes the client may not have yet: they wait for the exchange's barrier. */
  #queue: Buffer[] = []
  #isHeldBack = false
  #isClientFull = false
  #hasUpstreamEnded = false
  /** Bytes left until the announced length is complete. */
  #remaining = Number.POSITIVE_INFINITY
  /** The chunk that completes the length: it leaves when the exchange is settled. */
  #withheld: Buffer | undefined
  #lastBytes: Buffer | undefined
  #drainTimer: NodeJS.Timeout | undefined
  #drainedBytes = 0

  constructor(exchange: Exchange, steps: RelaySteps, drainLimits: DrainLimits) {
    this.#exchange = exchange
    this.#steps = steps
    this.#drainLimits = drainLimits
    exchange.response.once('close', () => this.#onClose())
  }

  /** The gates are through; the answer may be pushed. */
  open(): void {
    this.#phase = 'forwarding'
  }

  attach(controls: UpstreamControls): void {
    this.#controls = controls
    if (this.#phase !== 'forwarding' && this.#phase !== 'relaying')
      controls.abort(new Error('The exchange is over.'))
  }

  onHead(head: ResponseHead, controls: UpstreamControls): void {
    if (this.#phase !== 'forwarding') return
    this.#phase = 'relaying'
    this.#head = head
    this.#controls = controls
    this.#taps = this.#steps.respond(this.#exchange, head)
    if (head.contentLength !== undefined && this.#exchange.rewriter === undefined)
      this.#remaining = head.contentLength
    // A stream's head leaves in one write with its first bytes, or after this turn when they take longer.
    if (head.contentLength === undefined) setImmediate(() => this.#flushHead())
  }

  onData(chunk: Buffer): void {
    if (this.#phase !== 'relaying') return
    for (const tap of this.#taps) this.#feed(tap, chunk)
    if (this.#exchange.hasClientLeft) return this.#drain(chunk.length)
    const bytes = this.#exchange.rewriter === undefined ? chunk : this.#exchange.rewriter.push(chunk)
    if (bytes.length > 0) this.#deliver(bytes)
  }

  onEnd(): void {
    if (this.#phase !== 'relaying') return
    this.#hasUpstreamEnded = true
    if (!this.#exchange.hasClientLeft) {
      const rest = this.#exchange.rewriter?.end()
      if (rest !== undefined && rest.length > 0) this.#deliver(rest)
    }
    if (this.#queue.length === 0 && this.#exchange.barrier === undefined) this.#settleEnd()
    else this.#holdBack()
  }

  /** Before the head: the exchange is refused with the error. After it: the answer was cut. */
  onError(error: Error): void {
    if (this.#phase === 'gates' || this.#phase === 'forwarding') this.#settle({ kind: 'refused', error })
    else if (this.#phase === 'relaying') {
      if (this.#exchange.hasClientLeft) this.#settle({ kind: 'aborted' })
      else this.#settle({ kind: 'broken', error })
    }
  }

  /** The client left while a gate was at work; nothing was sent anywhere. */
  abandon(): void {
    if (this.#phase === 'gates') this.#settle({ kind: 'aborted' })
  }

  /** Cuts the answer at once, as at the end of a drain. */
  cut(error: Error): void {
    this.#controls?.abort(error)
    this.onError(error)
  }

  #feed(tap: Tap, chunk: Buffer): void {
    try {
      tap.onData(chunk)
    } catch (error) {
      this.#taps = this.#taps.filter(other => other !== tap)
      this.#steps.tapFailed(this.#exchange, tap, error)
    }
  }

  #deliver(bytes: Buffer): void {
    if (this.#isHeldBack || this.#exchange.barrier !== undefined) {
      this.#queue.push(bytes)
      this.#holdBack()
      return
    }
    this.#remaining -= bytes.length
    if (this.#remaining <= 0) {
      this.#withheld = this.#withheld === undefined ? bytes : Buffer.concat([this.#withheld, bytes])
      return
    }
    this.#writeHead()
    this.#lastBytes = bytes
    if (!this.#exchange.response.write(bytes) && !this.#isClientFull) {
      this.#isClientFull = true
      this.#controls?.pause()
      this.#exchange.response.once('drain', () => {
        this.#isClientFull = false
        this.#resume()
      })
    }
  }

  #holdBack(): void {
    if (this.#isHeldBack) return
    this.#isHeldBack = true
    this.#controls?.pause()
    Promise.resolve(this.#exchange.barrier).then(
      () => this.#letGo(),
      (error: unknown) => {
        this.#isHeldBack = false
        this.cut(new Error('What the answer waited for could not be made durable.', { cause: error }))
      },
    )
  }

  #letGo(): void {
    this.#isHeldBack = false
    if (this.#phase !== 'relaying') return
    const queue = this.#queue
    this.#queue = []
    if (!this.#exchange.hasClientLeft) for (const bytes of queue) this.#deliver(bytes)
    if (this.#isHeldBack) return
    if (this.#exchange.barrier !== undefined) this.#holdBack()
    else if (this.#hasUpstreamEnded) this.#settleEnd()
    else this.#resume()
  }

  #resume(): void {
    if (!this.#isHeldBack && !this.#isClientFull) this.#controls?.resume()
  }

  #flushHead(): void {
    if (this.#phase !== 'relaying' || this.#exchange.hasClientLeft || this.#exchange.response.headersSent)
      return
    if (this.#exchange.barrier === undefined) {
      this.#writeHead()
      this.#exchange.response.flushHeaders()
      return
    }
    const flushLater = (): void => this.#flushHead()
    this.#exchange.barrier.then(flushLater, (error: unknown) =>
      this.cut(error instanceof Error ? error : new Error(String(error))),
    )
  }

  #writeHead(): void {
    if (!this.#exchange.response.headersSent && this.#head !== undefined)
      writeAnswerHead(this.#exchange, this.#head)
  }

  #settleEnd(): void {
    this.#settle(this.#exchange.hasClientLeft ? { kind: 'aborted' } : { kind: 'completed' })
  }

  #settle(outcome: Outcome): void {
    this.#phase = 'settling'
    this.#outcome = outcome
    if (this.#drainTimer !== undefined) clearTimeout(this.#drainTimer)
    const pending = this.#steps.settle(this.#exchange, outcome)
    if (pending === undefined) this.#close(outcome)
    else {
      pending.then(
        () => this.#close(outcome),
        (error: unknown) => this.#settleFailed(outcome, error),
      )
    }
  }

  /** The charge is not durable, so the answer may not end as if it were: it is cut or refused instead. */
  #settleFailed(outcome: Outcome, cause: unknown): void {
    if (outcome.kind !== 'completed') return this.#close(outcome)
    this.#close({ kind: 'broken', error: new Error('The exchange could not be settled.', { cause }) })
  }

  #close(outcome: Outcome): void {
    this.#phase = 'closing'
    this.#outcome = outcome
    const { response } = this.#exchange
    if (response.destroyed || this.#exchange.hasClientLeft) return this.#finish()
    if (outcome.kind === 'completed') {
      this.#writeHead()
      if (this.#withheld === undefined) response.end()
      else response.end(this.#withheld)
    } else if (outcome.kind === 'refused') {
      this.#steps.refuse(this.#exchange, outcome.error)
    } else {
      this.#writeHead()
      cutOff(response, this.#isAtEventBoundary() ? this.#exchange.cutNotice?.() : undefined)
    }
  }

  /** An error event may only follow a whole event, or the client would read both as one. */
  #isAtEventBoundary(): boolean {
    const last = this.#lastBytes
    return last === undefined || last.subarray(-2).equals(lineFeeds) || last.subarray(-4).equals(crlfs)
  }

  #onClose(): void {
    switch (this.#phase) {
      case 'closing':
        return this.#finish()
      case 'ended':
        return
      case 'gates':
      case 'settling':
        this.#exchange.hasClientLeft = true
        return
      default:
        this.#exchange.hasClientLeft = true
        this.#leave()
    }
  }

  #leave(): void {
    if (this.#exchange.isAnswerTerminal?.() === true && this.#queue.length === 0) {
      this.#controls?.abort(new Error('The answer was complete.'))
      return this.#settle({ kind: 'completed' })
    }
    if (this.#exchange.onClientLeft === 'drain' && this.#exchange.wasSent && !this.#hasUpstreamEnded) {
      this.#queue = []
      this.#drainTimer = setTimeout(
        () => this.cut(new Error('The drain took too long.')),
        this.#drainLimits.timeMs,
      )
      this.#isClientFull = false
      return this.#resume()
    }
    this.#controls?.abort(new Error('The client left.'))
    this.#settle({ kind: 'aborted' })
  }

  #drain(byteCount: number): void {
    this.#drainedBytes += byteCount
    if (this.#drainedBytes > this.#drainLimits.bytesMax) this.cut(new Error('The drain was too long.'))
  }

  #finish(): void {
    if (this.#phase === 'ended' || this.#outcome === undefined) return
    this.#phase = 'ended'
    this.#steps.end(this.#exchange, this.#outcome)
  }
}

const lineFeeds = Buffer.from('\n\n')
const crlfs = Buffer.from('\r\n\r\n')
