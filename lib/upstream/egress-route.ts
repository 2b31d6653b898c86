import type { LookupFunction } from 'node:net'
import type { Clock } from '../platform/clock.ts'
import { openTunnel, type Proxy, type TunnelEnd } from './open-tunnel.ts'
import { errorWords } from '../platform/log.ts'
import { EgressError } from './egress-error.ts'
import type { RouteHealth } from './provider-health.ts'

const downMsMin = 1_000
const downMsMax = 60_000
/** A country that a provider does not serve is not served a minute later either. */
const barredMs = 600_000
/** How often a proxy that is in use is looked at. */
const checkMs = 30_000

export interface EgressRouteOptions {
  readonly name: string
  readonly weight: number
  /** Absent for `direct`. */
  readonly proxy: Proxy | undefined
  /** Finds the provider's address on the way without a proxy; absent: the system. */
  readonly lookup?: LookupFunction | undefined
  /** The provider, as the active check asks the proxy for it. */
  readonly end: TunnelEnd
  readonly connectMs: number
  readonly clock: Clock
  /** Told when the way becomes unusable, and when it is usable again. */
  readonly onChange: (route: EgressRoute, isUp: boolean, reason: string) => void
}

/**
 * One way to one provider, and whether it works. Failures of connections take it out of use. A proxy that opened no tunnel
 * comes back when it opens one again, which is closed at once: no check sends a byte to the provider. So where the tunnel
 * was opened and nothing came of it, and for `direct`, one request finds out after a time.
 */
export class EgressRoute {
  readonly name: string
  readonly weight: number
  readonly proxy: Proxy | undefined
  readonly lookup: LookupFunction | undefined
  readonly #options: EgressRouteOptions
  #downMs = 0
  #downUntil = 0
  #barredUntil = 0
  /** A request is finding out whether it works; the others do not wait for it longer than that. */
  #triedUntil = 0
  /** Its proxy opened the tunnel, so that another tunnel would show nothing. */
  #failsBehind = false
  /** Somebody was told that it does not work, perhaps under the config before, and not yet that it does. */
  isAlarmed = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** For the choice by turns: the more it has been passed over the higher. */
  credit = 0

  constructor(options: EgressRouteOptions) {
    this.name = options.name
    this.weight = options.weight
    this.proxy = options.proxy
    this.lookup = options.lookup
    this.#options = options
  }

  /** As the last connection, or the check of its proxy, found it. */
  isUp(now: number): boolean {
    return this.#downMs === 0 && now >= this.#barredUntil
  }

  /** 0: usable. 1: fails. 2: the provider does not serve its country. */
  score(now: number): 0 | 1 | 2 {
    if (now < this.#barredUntil) return 2
    if (this.#downMs === 0) return 0
    const isTold = this.proxy !== undefined && !this.#failsBehind
    return isTold || now < this.#downUntil || now < this.#triedUntil ? 1 : 0
  }

  /** A request goes out by it. */
  take(now: number): void {
    if (this.#downMs === 0 || now < this.#downUntil || now < this.#triedUntil) return
    // For each of the two steps of a connection.
    this.#triedUntil = now + 2 * this.#options.connectMs
  }

  /** It is in use from now on, so its proxy is looked at from time to time. */
  watch(): void {
    if (this.proxy !== undefined && this.#timer === undefined) this.#checkIn(checkMs)
  }

  /** It works, though somebody was told that it does not. */
  succeed(): void {
    this.isAlarmed = false
    this.#downMs = 0
    this.#triedUntil = 0
    this.#failsBehind = false
    this.#options.onChange(this, true, 'it works again')
    this.watch()
  }

  fail(error: Error): void {
    const wasUp = this.#downMs === 0
    this.#failsBehind = this.proxy !== undefined && !(error instanceof EgressError)
    this.isAlarmed = true
    const now = this.#options.clock.now()
    // Of requests that fail together the first says all: the others do not make its rest longer.
    if (wasUp || now >= this.#downUntil) this.#rest(now)
    if (wasUp) this.#options.onChange(this, false, errorWords(error))
  }

  #rest(now: number): void {
    this.#downMs = Math.min(downMsMax, Math.max(downMsMin, this.#downMs * 2))
    this.#downUntil = now + this.#downMs
    this.#triedUntil = 0
    if (this.#failsBehind) this.watch()
    else if (this.proxy !== undefined) this.#checkIn(this.#downMs)
  }

  bar(reason: string): void {
    this.#barredUntil = this.#options.clock.now() + barredMs
    this.#options.onChange(this, false, reason)
  }

  /** Ends its rest: a proxy is checked at once, and what is direct is used again. */
  tryNow(): void {
    this.#barredUntil = 0
    this.#downUntil = 0
    this.#triedUntil = 0
    if (this.proxy !== undefined && this.#downMs > 0 && !this.#failsBehind) this.#checkIn(0)
  }

  health(now: number): Omit<RouteHealth, 'origin'> {
    const isBarred = now < this.#barredUntil
    return {
      egress: this.name,
      state: isBarred ? 'barred' : this.#downMs > 0 ? 'fails' : 'works',
      restMs: Math.max(0, (isBarred ? this.#barredUntil : this.#downMs > 0 ? this.#downUntil : 0) - now),
    }
  }

  /** It begins anew under another config, but for the alarm that is open. */
  inherit(route: EgressRoute): void {
    if (!route.isAlarmed || this.isAlarmed) return
    this.isAlarmed = true
    this.#failsBehind = route.#failsBehind
    if (this.proxy !== undefined && !this.#failsBehind) this.#checkIn(0)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #checkIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#check(), ms)
    this.#timer.unref()
  }

  async #check(): Promise<void> {
    if (this.proxy === undefined) return
    try {
      const socket = await openTunnel(this.proxy, this.#options.end, this.#options.connectMs)
      socket.on('error', () => undefined) // It has served its purpose.
      socket.destroy()
      this.#timer = undefined
      if (this.isAlarmed && !this.#failsBehind) this.succeed()
      this.watch()
    } catch (error) {
      // Its rest is over, whatever the clock says of the last millisecond.
      this.#downUntil = 0
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
