import type { PipelineBus } from './events.ts'
import type { Exchange, Fact, Outcome } from './exchange.ts'
import { OpenList } from './open-list.ts'
import type { Plugin, ResponseHead, SessionTap, Tap } from './plugin.ts'
import { Relay, type RelaySteps } from './relay.ts'
import type { RelayLimits } from './relay-limits.ts'
import { SessionRelay, type SessionSteps } from './session-relay.ts'
import { TurnRelay, type TurnSteps } from './turn-relay.ts'

/** The plugins cannot work in this order or without a missing one. Thrown at boot, never for a request. */
export class PipelineOrderError extends Error {
  readonly code = 'PIPELINE_ORDER'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PipelineOrderError'
  }
}

/**
 * Checks that every fact a plugin needs is provided by an earlier one, and that exactly one plugin forwards.
 * @param given facts that are set before the first gate
 * @throws PipelineOrderError
 */
export function checkOrder(plugins: readonly Plugin[], given: readonly Fact[]): void {
  const known = new Set<Fact>(given)
  for (const plugin of plugins) {
    for (const fact of [...(plugin.needs ?? []), ...(plugin.needsToForward ?? [])]) {
      if (known.has(fact)) continue
      const provider = plugins.find(other => other.provides?.includes(fact))
      throw new PipelineOrderError(
        provider === undefined
          ? `Plugin "${plugin.name}" needs "${fact}", and no enabled plugin provides it. Enable the one that does.`
          : `Plugin "${plugin.name}" needs "${fact}", which "${provider.name}" provides: list "${provider.name}" before it.`,
      )
    }
    for (const fact of plugin.provides ?? []) known.add(fact)
  }
  const forwarding = plugins.filter(plugin => plugin.forward !== undefined).map(plugin => plugin.name)
  if (forwarding.length !== 1) {
    throw new PipelineOrderError(
      forwarding.length === 0
        ? 'No enabled plugin forwards requests. Enable "upstream-proxy".'
        : `Exactly one plugin may forward requests, and these do: ${forwarding.join(', ')}.`,
    )
  }
}

type ForwardingPlugin = Plugin & Required<Pick<Plugin, 'forward'>>

interface PipelineOptions {
  /** Facts that are set before the first gate. */
  readonly given: readonly Fact[]
  readonly bus: PipelineBus
  /** Responds with an error in the caller's dialect. */
  readonly writeError: (exchange: Exchange, error: Error) => void
  readonly limits: RelayLimits
}

/**
 * Runs exchanges through the plugins: onRequest, forward, onResponse, Tap.onData, onSettle, onEnd. The steps are in the
 * order of the drawing in ARCHITECTURE.md.
 */
export class Pipeline implements RelaySteps, SessionSteps, TurnSteps {
  readonly #options: PipelineOptions
  readonly #plugins: readonly Plugin[]
  readonly #forwarding: ForwardingPlugin
  readonly #open = new OpenList<Relay | SessionRelay>()
  #onIdle: (() => void) | undefined
  #stopped: Promise<void> | undefined

  /** @throws PipelineOrderError when a plugin is missing or in the wrong place */
  constructor(plugins: readonly Plugin[], options: PipelineOptions) {
    checkOrder(plugins, options.given)
    this.#plugins = plugins
    this.#options = options
    this.#forwarding = plugins.find(plugin => plugin.forward !== undefined) as ForwardingPlugin
  }

  get openExchangeCount(): number {
    return this.#open.size
  }

  /** If a plugin does not start, all of them are stopped. */
  async start(): Promise<void> {
    try {
      for (const plugin of this.#plugins) await plugin.start?.()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /**
   * Starts no work of its own any more: after a reload, that is for the next pipeline to do. Resolves when the last
   * exchange has ended and the plugins have stopped. May be called twice.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    for (const plugin of this.#plugins) plugin.drain?.()
    if (this.#open.size > 0) await new Promise<void>(resolve => (this.#onIdle = resolve))
    for (const plugin of this.#plugins) await plugin.stop?.()
  }

  /** Cuts every exchange that is still open, for example at the deadline of a drain. */
  cutAll(reason: (exchange: Exchange) => Error): void {
    for (const relay of this.#open.all()) relay.cut(reason(relay.exchange))
  }

  /** Starts a drain: sessions end after the turns in progress, and plugins start nothing new. */
  drain(reason: (exchange: Exchange) => Error): void {
    for (const plugin of this.#plugins) plugin.drain?.()
    for (const relay of this.#open.all()) {
      if (relay instanceof SessionRelay) relay.endAfterTurn(reason(relay.exchange))
    }
  }

  /** Takes an exchange from its first gate to its end. Never rejects. */
  run(exchange: Exchange): Promise<void> {
    const relay = new Relay(exchange, this, this.#options.limits)
    return this.#runGates(exchange, relay, () => {
      if (exchange.localResponse !== undefined) return answerLocally(exchange, relay)
      relay.attach(this.#forwarding.forward(exchange, relay))
    })
  }

  /** The same for a request to upgrade to a WebSocket: the exchange ends with the session. */
  runSession(exchange: Exchange): Promise<void> {
    const relay = new SessionRelay(exchange, this)
    return this.#runGates(exchange, relay, () => {
      const controls = this.#forwarding.forwardSession?.(exchange, relay)
      if (controls === undefined) throw new Error(`${this.#forwarding.name} forwards no sessions.`)
      relay.attach(controls)
    })
  }

  /** The same for a request that arrives as a message; after its gates, the relay receives its response. */
  async beginTurn(exchange: Exchange): Promise<TurnRelay> {
    const relay = new TurnRelay(exchange, this, this.#options.limits.answer)
    try {
      for (const plugin of this.#plugins) await plugin.onRequest?.(exchange)
      exchange.moments.admittedMs = performance.now()
      for (const plugin of this.#plugins) plugin.onUpstreamRequest?.(exchange)
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      await relay.end({ kind: 'refused', error })
      throw error
    }
    return relay
  }

  async #runGates(exchange: Exchange, relay: Relay | SessionRelay, forward: () => void): Promise<void> {
    this.#open.add(relay)
    try {
      for (const plugin of this.#plugins) {
        const isPartial = exchange.localResponse !== undefined || exchange.isConnection
        if (isPartial && !hasNeeds(plugin, exchange)) continue
        const pending = plugin.onRequest?.(exchange)
        if (pending !== undefined) await pending
        if (exchange.hasClientLeft) return relay.abandon()
        if (relay.cutReason !== undefined) throw relay.cutReason
      }
      relay.open()
      if (exchange.localResponse === undefined && !exchange.isConnection) {
        for (const plugin of this.#plugins) plugin.onUpstreamRequest?.(exchange)
      }
      forward()
    } catch (error) {
      if (exchange.hasClientLeft) relay.abandon()
      else relay.onError(error instanceof Error ? error : new Error(String(error)))
    }
  }

  openTaps(exchange: Exchange): readonly SessionTap[] {
    if (exchange.isConnection) return []
    return this.#plugins.map(plugin => plugin.onSession?.(exchange)).filter(tap => tap !== undefined)
  }

  respond(exchange: Exchange, head: ResponseHead): readonly Tap[] {
    this.#options.bus.emit('response-start', exchange, head)
    const taps: Tap[] = []
    for (const plugin of this.#plugins) {
      try {
        const tap = plugin.onResponse?.(exchange, head)
        if (tap !== undefined) taps.push(tap)
      } catch (error) {
        this.#options.bus.emit('plugin-error', plugin.name, 'onResponse', error, exchange)
      }
    }
    return taps
  }

  tapFailed(exchange: Exchange, error: unknown): void {
    this.#options.bus.emit('plugin-error', 'tap', 'onData', error, exchange)
  }

  settle(exchange: Exchange, outcome: Outcome): Promise<void> | undefined {
    let pending: Promise<void> | undefined
    for (const plugin of this.#plugins) {
      if (plugin.onSettle === undefined) continue
      pending =
        pending === undefined
          ? this.#call(plugin, 'onSettle', exchange, outcome)
          : pending.then(() => this.#call(plugin, 'onSettle', exchange, outcome))
    }
    return pending
  }

  refuse(exchange: Exchange, error: Error): void {
    this.#options.writeError(exchange, error)
  }

  end(relay: Relay | SessionRelay, outcome: Outcome): void {
    this.#open.delete(relay)
    this.endExchange(relay.exchange, outcome)
    if (this.#open.size === 0) this.#onIdle?.()
  }

  endExchange(exchange: Exchange, outcome: Outcome): void {
    exchange.moments.endedMs = performance.now()
    for (const plugin of this.#plugins) {
      // The call itself reports the failure; nothing waits for a plugin's work at the end.
      this.#call(plugin, 'onEnd', exchange, outcome)?.catch(() => undefined)
    }
    this.#options.bus.emit('exchange-end', exchange, outcome)
  }

  /** Calls a hook; a failure is reported on the bus and returned as a rejection. */
  #call(
    plugin: Plugin,
    hook: 'onSettle' | 'onEnd',
    exchange: Exchange,
    outcome: Outcome,
  ): Promise<void> | undefined {
    const report = (error: unknown): never => {
      this.#options.bus.emit('plugin-error', plugin.name, hook, error, exchange)
      throw error
    }
    try {
      return plugin[hook]?.(exchange, outcome)?.catch(report)
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error))).catch(report)
    }
  }
}

function hasNeeds(plugin: Plugin, exchange: Exchange): boolean {
  return (plugin.needs ?? []).every(fact => exchange.find(fact) !== undefined)
}

const noControls = { pause() {}, resume() {}, abort() {} }

/** Pushes a response that a gate prepared through the same relay as any other. */
function answerLocally(exchange: Exchange, relay: Relay): void {
  const response = exchange.localResponse
  if (response === undefined) return
  const { status, headers, body } = response
  relay.onHead({ status, headers, contentLength: body.length }, noControls)
  if (body.length > 0 && exchange.request.method !== 'HEAD') relay.onData(body)
  relay.onEnd()
}
