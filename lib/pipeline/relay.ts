import { ResponseWriter, type ResponseFlow } from './response-writer.ts'
import { cutOff } from './end-response.ts'
import type { Exchange, Outcome } from './exchange.ts'
import type { ResponseSink, ResponseHead, Tap, UpstreamControls } from './plugin.ts'
import { beyondLimit, partingLimits, type ReadLimits, type RelayLimits } from './relay-limits.ts'

/** The pipeline's part of each step of an exchange. */
export interface RelaySteps {
  /** The head has arrived: attaches the taps. */
  respond(exchange: Exchange, head: ResponseHead): readonly Tap[]
  tapFailed(exchange: Exchange, error: unknown): void
  /** Decides what is owed. Returns undefined when there is nothing to wait for. */
  settle(exchange: Exchange, outcome: Outcome): Promise<void> | undefined
  /** Responds with an error in the caller's dialect; no byte has been sent. */
  refuse(exchange: Exchange, error: Error): void
  end(relay: Relay, outcome: Outcome): void
}

type Phase = 'gates' | 'forwarding' | 'relaying' | 'settling' | 'closing' | 'ended'

/**
 * The course of one exchange after its gates: feeds the taps, passes the response to the writer, and makes sure that
 * the exchange is settled before its response ends, and ends exactly once.
 */
export class Relay implements ResponseSink, ResponseFlow {
  readonly exchange: Exchange
  slot = -1
  readonly #steps: RelaySteps
  readonly #limits: RelayLimits
  readonly #writer: ResponseWriter
  #phase: Phase = 'gates'
  #outcome: Outcome | undefined
  #controls: UpstreamControls | undefined
  #taps: readonly Tap[] = []
  #hasUpstreamEnded = false
  #isDraining = false
  #readTimer: NodeJS.Timeout | undefined
  /** Limits on reading; undefined for a response of known length whose client is connected. */
  #readLimits: ReadLimits | undefined
  /** Bytes read since the limits were set. */
  #readBytes = 0
  /** Why the response is to be cut at the end of its next event. */
  #partingReason: Error | undefined
  #isFeeding = false
  /** Why a tap requested the cut while the taps were being fed. */
  #tapReason: Error | undefined
  /** Why the exchange is to end as soon as the current gate is done. */
  cutReason: Error | undefined

  constructor(exchange: Exchange, steps: RelaySteps, limits: RelayLimits) {
    this.exchange = exchange
    this.#steps = steps
    this.#limits = limits
    this.#writer = new ResponseWriter(exchange, this, limits.stallMs)
    exchange.responseEnd = this
    exchange.response.once('close', () => this.#onClose())
  }

  /** All gates have passed; the response may be pushed. */
  open(): void {
    this.#phase = 'forwarding'
    this.exchange.moments.admittedMs = performance.now()
  }

  attach(controls: UpstreamControls): void {
    this.#controls = controls
    if (this.#phase !== 'forwarding' && this.#phase !== 'relaying')
      controls.abort(new Error('The exchange is over.'))
  }

  onInformation(status: number, headers: readonly string[]): void {
    if (this.#phase === 'forwarding') this.#writer.inform(status, headers)
  }

  onHead(head: ResponseHead, controls: UpstreamControls): void {
    if (this.#phase !== 'forwarding') return
    this.#phase = 'relaying'
    this.#controls = controls
    this.exchange.responseStatus = head.status
    this.exchange.moments.firstByteMs = performance.now()
    this.#taps = this.#steps.respond(this.exchange, head)
    if (this.exchange.hasClientLeft) return
    if (head.contentLength === undefined) this.#limit(this.#limits.answer)
    this.#writer.begin(head)
  }

  onData(chunk: Buffer, isLast = false, framed?: Buffer): void {
    if (this.#phase !== 'relaying') return
    this.#isFeeding = true
    // A tap that fails is removed by replacing the list, so this one stays as it is.
    const taps = this.#taps
    for (let index = 0; index < taps.length; index += 1) this.#feed(taps[index] as Tap, chunk)
    this.#isFeeding = false
    if (this.#tapReason !== undefined) this.cutAtEvent(this.#tapReason)
    this.#readBytes += chunk.length
    if (this.#readLimits !== undefined && this.#readBytes > this.#readLimits.bytesMax)
      this.#endReading('size')
    if (this.#phase !== 'relaying') return
    if (this.exchange.hasClientLeft) return
    const bytes = this.exchange.rewriter === undefined ? chunk : this.exchange.rewriter.push(chunk)
    if (bytes.length > 0) this.#writer.write(bytes, isLast, bytes === chunk ? framed : undefined)
    if (this.#partingReason !== undefined && this.#writer.isAtEventBoundary) this.cut(this.#partingReason)
  }

  onEnd(trailers?: readonly string[]): void {
    if (this.#phase !== 'relaying') return
    // A trailer may be a checksum of the original bytes, which a rewriter has changed.
    if (trailers !== undefined && this.exchange.rewriter === undefined) this.#writer.trailers = trailers
    this.#hasUpstreamEnded = true
    const rest = this.exchange.rewriter?.end()
    if (rest !== undefined && rest.length > 0) this.#writer.write(rest)
    if (this.#writer.catchUp()) this.caughtUp()
  }

  /** Before anything was sent, the error refuses the exchange; after that, the response is broken. */
  onError(error: Error): void {
    if (this.#phase === 'gates' || this.#phase === 'forwarding') {
      this.#settle(this.exchange.hasClientLeft ? { kind: 'aborted' } : { kind: 'refused', error })
    } else if (this.#phase === 'relaying') {
      this.#settle(this.exchange.hasClientLeft ? { kind: 'aborted' } : this.#failure(error))
    }
  }

  /** The client left while a gate was running; nothing was sent upstream. */
  abandon(): void {
    if (this.#phase === 'gates') this.#settle({ kind: 'aborted' })
  }

  /** Cuts the response at once, for example at the end of a drain. */
  cut(error: Error): void {
    if (this.#phase === 'gates') this.#cutInGates(error)
    else if (this.#phase === 'closing') cutOff(this.exchange.response, undefined)
    else this.onError(error)
    // After settling: the upstream reports the abort at once as an error, which is then ignored.
    this.#controls?.abort(error)
  }

  /** Cuts the response where the client can be told why: between two events, which are not long. */
  cutAtEvent(reason: Error): void {
    if (this.#phase !== 'relaying' || this.#hasUpstreamEnded) return
    // Every tap sees what the provider has sent, including the one that reads the usage.
    if (this.#isFeeding) {
      this.#tapReason ??= reason
      return
    }
    const canNotify = !this.exchange.hasClientLeft && this.exchange.cutNotice !== undefined
    if (!canNotify || this.#partingReason !== undefined || this.#writer.isAtEventBoundary) this.cut(reason)
    else {
      this.#partingReason = reason
      this.#limit(partingLimits)
    }
  }

  /** A gate cannot be stopped: what it starts, such as a hold, must exist when the exchange is settled. */
  #cutInGates(error: Error): void {
    this.cutReason = error
    // Otherwise the gate would wait for a body that is still being sent.
    if (!this.exchange.request.complete) this.exchange.response.destroy()
  }

  pause(): void {
    this.#controls?.pause()
  }

  resume(): void {
    if (this.#phase === 'relaying') this.#controls?.resume()
  }

  caughtUp(): void {
    if (this.#phase !== 'relaying' || !this.#hasUpstreamEnded) return
    this.#settle(this.exchange.hasClientLeft ? { kind: 'aborted' } : { kind: 'completed' })
  }

  /** What the response waited for is not durable: nothing more is sent, and a response not yet begun is refused. */
  failed(error: Error): void {
    if (this.#phase !== 'relaying') return
    this.#stop({ kind: this.exchange.response.headersSent ? 'broken' : 'refused', error }, error)
  }

  #feed(tap: Tap, chunk: Buffer): void {
    try {
      tap.onData(chunk)
    } catch (error) {
      this.#taps = this.#taps.filter(other => other !== tap)
      this.#steps.tapFailed(this.exchange, error)
    }
  }

  #settle(outcome: Outcome): void {
    this.#phase = 'settling'
    if (this.#isDraining) this.#limits.drainSlots.release()
    if (this.#readTimer !== undefined) clearTimeout(this.#readTimer)
    const pending = this.#steps.settle(this.exchange, outcome)
    if (pending === undefined) {
      this.#close(outcome)
      return
    }
    pending.then(
      () => this.#close(outcome),
      (error: unknown) => this.#close(this.#unsettled(outcome, error)),
    )
  }

  /** Without a durable charge a response must not end as if it had one: a complete one is refused or cut. */
  #unsettled(outcome: Outcome, cause: unknown): Outcome {
    if (outcome.kind !== 'completed') return outcome
    return this.#failure(new Error('The exchange could not be settled.', { cause }))
  }

  /** A client that has received nothing gets an error: official SDKs would retry after a bare reset. */
  #failure(error: Error): Outcome {
    if (this.exchange.response.headersSent) return { kind: 'broken', error }
    this.#writer.stop()
    return { kind: 'refused', error }
  }

  #close(outcome: Outcome): void {
    this.#phase = 'closing'
    this.#outcome = outcome
    const { response } = this.exchange
    if (response.destroyed || this.exchange.hasClientLeft) this.#finish()
    else if (outcome.kind === 'completed') this.#writer.end()
    else if (outcome.kind === 'refused') this.#steps.refuse(this.exchange, outcome.error)
    else this.#writer.cut(outcome.kind === 'broken' ? outcome.error : undefined)
  }

  #onClose(): void {
    if (this.#phase === 'ended') return
    if (this.#phase === 'closing') {
      this.#finish()
      return
    }
    this.exchange.hasClientLeft = true
    if (this.#phase === 'forwarding' || this.#phase === 'relaying') this.#leave()
  }

  #leave(): void {
    const wasHeldBack = this.exchange.barrier !== undefined
    this.#writer.stop()
    if (this.#isWhole() && !wasHeldBack) {
      this.#stop({ kind: 'completed' }, new Error('The response was complete.'))
    } else if (this.#mayDrain()) {
      this.#isDraining = true
      this.exchange.drain = 'reading'
      this.#limit(this.#limits.drain)
      this.#controls?.resume()
    } else {
      this.#stop({ kind: 'aborted' }, new Error('The client left.'))
    }
  }

  /** Whether the last event has arrived, according to the tap that reads the response. */
  #isWhole(): boolean {
    try {
      return this.exchange.responseReader?.isTerminal === true
    } catch (error) {
      this.#steps.tapFailed(this.exchange, error)
      return false
    }
  }

  #mayDrain(): boolean {
    if (this.exchange.onClientLeft !== 'drain' || !this.exchange.wasSent || this.#hasUpstreamEnded)
      return false
    if (this.#limits.drainSlots.acquire()) return true
    this.exchange.drain = 'refused'
    return false
  }

  /** Settles first and then stops the upstream, which reports the abort at once as an error that is then ignored. */
  #stop(outcome: Outcome, reason: Error): void {
    this.#settle(outcome)
    this.#controls?.abort(reason)
  }

  #limit(limits: ReadLimits): void {
    clearTimeout(this.#readTimer)
    this.#readTimer = setTimeout(() => this.#endReading('time'), limits.timeMs)
    this.#readTimer.unref()
    this.#readLimits = limits
    this.#readBytes = 0
  }

  /** Stops reading. Nothing may have arrived yet of a response whose client has left. */
  #endReading(limit: 'time' | 'size'): void {
    // If the event that was to be the last one does not end, the original reason still holds.
    const reason = this.#partingReason ?? beyondLimit(limit, this.#readLimits ?? this.#limits.answer)
    if (this.#isDraining) {
      this.exchange.drain = 'limited'
      this.cut(reason)
    } else this.cutAtEvent(reason)
  }

  #finish(): void {
    if (this.#phase === 'ended' || this.#outcome === undefined) return
    this.#phase = 'ended'
    this.#steps.end(this, this.#outcome)
  }
}
