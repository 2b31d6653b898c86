import type { Outcome } from '../pipeline/exchange.ts'
import type { SessionControls, SessionTap } from '../pipeline/plugin.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { closeCodeOf, closeReasonOf, endsSession, SessionError } from './close-codes.ts'
import type { Message } from './message-reader.ts'
import type { Peer } from './peer.ts'

export interface SessionOptions {
  readonly client: Peer
  readonly provider: Peer
  readonly taps: readonly SessionTap[]
  /** Times in milliseconds. */
  readonly limits: {
    readonly sessionMs: number
    readonly idleMs: number
    readonly drainMs: number
    /** How long a turn in progress may take when the session is to end after it. */
    readonly lastTurnMs: number
  }
  /** Called when the client has left; returns whether a turn in progress is read to its end. */
  readonly onClientLeft: () => 'abort' | 'drain'
  /** An error as a message of the protocol; undefined where only the close frame can report it. */
  readonly errorText: (error: Error) => string | undefined
  readonly onEnd: (outcome: Outcome) => void
}

/** How long a peer may take to return a close frame, and to read its last bytes. */
const lingerMs = 2_000

/**
 * Relays messages between a client and a provider, in order, each whole and unchanged. A slow reader slows down the
 * other side.
 */
export class Session implements SessionControls {
  readonly #options: SessionOptions
  readonly #idleTimer: NodeJS.Timeout
  readonly #timers = new Set<NodeJS.Timeout>()
  #endReason: Error | undefined
  /** Nothing more is relayed. */
  #isOver = false
  #isDraining = false
  #hasClientClosed = false
  #hasProviderClosed = false
  #outcome: Outcome = { kind: 'completed' }

  constructor(options: SessionOptions) {
    this.#options = options
    const { idleMs, sessionMs } = options.limits
    this.#idleTimer = this.#after(idleMs, () => this.#endIdle(idleMs))
    this.#after(sessionMs, () =>
      this.endAfterTurn(
        new GatewayError(
          'request_timeout',
          `The session has lasted ${sessionMs / 1000} s, as long as it may.`,
        ),
      ),
    )
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const { client, provider, onEnd } = this.#options
    await Promise.all([this.#fromClient(), this.#fromProvider()])
    this.#linger()
    await Promise.all([client.closed, provider.closed])
    for (const timer of this.#timers) clearTimeout(timer)
    onEnd(this.#outcome)
  }

  endAfterTurn(reason: Error): void {
    if (this.#isOver || this.#endReason !== undefined) return
    this.#endReason = reason
    for (const tap of this.#options.taps) tap.endAfterTurn(reason)
    if (this.#isBusy) this.#after(this.#options.limits.lastTurnMs, () => this.cut(reason))
    else this.#finish(reason, { kind: 'completed' })
  }

  cut(reason: Error): void {
    if (!this.#isOver)
      this.#finish(reason, this.#isBusy ? { kind: 'broken', error: reason } : { kind: 'completed' })
    this.#linger()
  }

  get #isBusy(): boolean {
    return this.#options.taps.some(tap => tap.isBusy)
  }

  async #fromClient(): Promise<void> {
    const { client, provider } = this.#options
    try {
      for await (const message of client.messages) {
        if (this.#isOver) continue
        if (message.kind === 'close' && this.#drain()) {
          // If it were relayed, the provider would stop the turn and never report its usage.
          client.close(1000, '')
          this.#after(lingerMs, () => client.destroy())
          continue
        }
        if (message.kind === 'close') this.#hasClientClosed = true
        if (message.kind === 'data') await this.#takeFromClient(message)
        else await provider.write(message.frames)
      }
    } catch (error) {
      if (error instanceof SessionError) this.#finish(error, { kind: 'aborted' })
    }
    client.discard()
    this.#onClientGone()
  }

  async #takeFromClient(message: Message): Promise<void> {
    this.#idleTimer.refresh()
    const { provider, taps } = this.#options
    let changed: Buffer | undefined
    try {
      for (const tap of taps) {
        const result = tap.onClientMessage(changed ?? message.data)
        changed = (result instanceof Promise ? await result : result) ?? changed
      }
    } catch (error) {
      await this.#refuse(error instanceof Error ? error : new Error(String(error)))
      return
    }
    if (this.#isOver) return
    for (const tap of taps) tap.onSent?.()
    if (changed === undefined) await provider.write(message.frames)
    else await provider.writeText(changed)
  }

  /** Refuses a message. Where the protocol can report it, the session continues. */
  async #refuse(error: Error): Promise<void> {
    const text = this.#options.errorText(error)
    if (text !== undefined && !endsSession(error)) await this.#options.client.writeText(Buffer.from(text))
    else if (endsSession(error)) this.endAfterTurn(error)
    else this.#finish(error, { kind: 'completed' })
  }

  async #fromProvider(): Promise<void> {
    const { client, provider } = this.#options
    try {
      for await (const message of provider.messages) {
        if (this.#isOver) continue
        if (message.kind === 'data') await this.#takeFromProvider(message)
        else {
          if (message.kind === 'close') this.#hasProviderClosed = true
          await client.write(message.frames)
        }
      }
    } catch (error) {
      this.#providerFailed(error)
    }
    provider.discard()
    this.#onProviderGone()
  }

  async #takeFromProvider(message: Message): Promise<void> {
    this.#idleTimer.refresh()
    for (const tap of this.#options.taps) {
      const pending = tap.onProviderMessage(message.data)
      if (pending !== undefined) await pending
    }
    if (this.#isOver) return
    if (!this.#isDraining) await this.#options.client.write(message.frames)
    const reason = this.#endReason ?? this.#options.taps.find(tap => tap.endReason !== undefined)?.endReason
    if (this.#isBusy) {
      if (reason !== undefined) this.endAfterTurn(reason)
      return
    }
    if (this.#isDraining) this.#leaveProvider()
    else if (reason !== undefined) this.#finish(reason, { kind: 'completed' })
  }

  #providerFailed(error: unknown): void {
    if (this.#isOver) return
    // Whether the ledger or the provider failed, the turn cannot be relayed to its end.
    const failure =
      error instanceof SessionError || !(error instanceof Error)
        ? new GatewayError('upstream_failed', 'The provider broke the WebSocket protocol.', {
            cause: error,
          })
        : error
    this.#finish(failure, { kind: 'broken', error: failure })
  }

  #onClientGone(): void {
    if (this.#isOver) {
      this.#options.client.end()
      return
    }
    if (this.#isDraining) return
    if (this.#hasClientClosed) {
      this.#linger()
      return
    }
    this.#outcome = { kind: 'aborted' }
    if (this.#drain()) return
    this.#options.onClientLeft()
    this.#leaveProvider()
  }

  /** Reads the turn in progress to its end; false where there is none or the provider's connection should be closed. */
  #drain(): boolean {
    if (this.#isDraining) return true
    // A provider that has closed sends nothing more; the client only returns the close frame.
    if (this.#hasProviderClosed || !this.#isBusy || this.#options.onClientLeft() !== 'drain') return false
    this.#isDraining = true
    this.#outcome = { kind: 'aborted' }
    this.#after(this.#options.limits.drainMs, () => this.#leaveProvider())
    return true
  }

  #leaveProvider(): void {
    this.#isOver = true
    this.#options.provider.close(1001, 'the client left')
    this.#options.client.end()
    this.#linger()
  }

  #onProviderGone(): void {
    // Bytes for it can no longer be delivered.
    this.#options.provider.destroy()
    if (this.#isOver) return
    if (this.#hasProviderClosed || this.#hasClientClosed || this.#isDraining) {
      this.#isOver = true
      this.#options.client.end()
      this.#linger()
      return
    }
    const error = new GatewayError('upstream_failed', 'The provider broke off in the middle of the session.')
    this.#finish(error, { kind: 'broken', error })
  }

  /** Sends close frames to both. */
  #finish(error: Error, outcome: Outcome): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#outcome = outcome
    const { client, provider, errorText } = this.#options
    const text = errorText(error)
    // Nothing waits for this write: the close follows.
    if (text !== undefined) void client.writeText(Buffer.from(text))
    client.close(closeCodeOf(error), closeReasonOf(error))
    provider.close(1000, '')
    this.#linger()
  }

  #linger(): void {
    const { client, provider } = this.#options
    this.#after(lingerMs, () => {
      client.destroy()
      provider.destroy()
    })
  }

  #endIdle(idleMs: number): void {
    this.cut(
      new GatewayError('request_timeout', `Nothing was said for ${idleMs / 1000} s, so the session ends.`),
    )
  }

  #after(ms: number, act: () => void): NodeJS.Timeout {
    const timer = setTimeout(act, ms)
    timer.unref()
    this.#timers.add(timer)
    return timer
  }
}
