import type { LookupFunction } from 'node:net'
import type { Clock } from '../platform/clock.ts'
import { openTunnel, type Proxy, type TunnelEnd } from './open-tunnel.ts'
import { errorWords } from '../platform/log.ts'
import { EgressError } from './egress-error.ts'
import type { RouteHealth } from './provider-health.ts'

const downMsMin = 1_000
const downMsMax = 60_000
/** A provider that does not serve a country will not serve it a minute later either. */
const barredMs = 600_000
/** How often a proxy that is in use is checked. */
const checkMs = 30_000

export interface EgressRouteOptions {
  readonly name: string
  readonly weight: number
  /** Absent for `direct`. */
  readonly proxy: Proxy | undefined
  /** Resolves the provider's address for the direct route; absent: the system resolver. */
  readonly lookup?: LookupFunction | undefined
  /** The provider's address, for which the active check requests a tunnel. */
  readonly end: TunnelEnd
  readonly connectMs: number
  readonly clock: Clock
  /** Aborted: its proxy is no longer checked. */
  readonly checks: AbortSignal
  /** Called when the route becomes unusable, and when it is usable again. */
  readonly onChange: (route: EgressRoute, isUp: boolean, reason: string) => void
}

/**
 * One egress route to one provider, and whether it works. Connection failures take it out of use. A proxy that opened
 * no tunnel is usable again once a check opens one; the check closes the tunnel at once and sends no byte to the
 * provider. A check shows nothing where the failure is behind the tunnel, or for `direct`: after a pause, one request
 * finds out.
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
  /** Until when a request is finding out whether it works; the other requests wait no longer than that. */
  #triedUntil = 0
  /** The proxy opened the tunnel and the failure is behind it, so another tunnel would show nothing. */
  #failsBehind = false
  /** An alarm says that it does not work, perhaps raised under an earlier config, and has not been cleared yet. */
  isAlarmed = false
  #timer: NodeJS.Timeout | undefined
  /** For the weighted round robin: the longer the route has been passed over, the higher. */
  credit = 0

  constructor(options: EgressRouteOptions) {
    this.name = options.name
    this.weight = options.weight
    this.proxy = options.proxy
    this.lookup = options.lookup
    this.#options = options
  }

  /** According to the last connection or the last check of its proxy. */
  isUp(now: number): boolean {
    return this.#downMs === 0 && now >= this.#barredUntil
  }

  /** 0: usable. 1: fails. 2: the provider does not serve its country. */
  score(now: number): 0 | 1 | 2 {
    if (now < this.#barredUntil) return 2
    if (this.#downMs === 0) return 0
    const isChecked = this.proxy !== undefined && !this.#failsBehind
    return isChecked || now < this.#downUntil || now < this.#triedUntil ? 1 : 0
  }

  /** A request uses the route. */
  take(now: number): void {
    if (this.#downMs === 0 || now < this.#downUntil || now < this.#triedUntil) return
    // For each of the two steps of a connection.
    this.#triedUntil = now + 2 * this.#options.connectMs
  }

  /** The route is in use from now on, so its proxy is checked at intervals. */
  watch(): void {
    if (this.proxy !== undefined && this.#timer === undefined) this.#checkIn(checkMs)
  }

  /** It works although an alarm says that it does not. */
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
    // When several requests fail together, only the first counts: the others do not extend the pause.
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

  /** Ends the pause: a proxy is checked at once, and the direct route is used again. */
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

  /** Carries over an open alarm from an earlier config; everything else starts fresh. */
  inherit(route: EgressRoute): void {
    if (!route.isAlarmed || this.isAlarmed) return
    this.isAlarmed = true
    this.#failsBehind = route.#failsBehind
    if (this.proxy !== undefined && !this.#failsBehind) this.#checkIn(0)
  }

  #checkIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#options.checks.aborted) return
    this.#timer = setTimeout(() => void this.#check(), ms)
    this.#timer.unref()
  }

  async #check(): Promise<void> {
    if (this.proxy === undefined || this.#options.checks.aborted) return
    try {
      const socket = await openTunnel(this.proxy, this.#options.end, this.#options.connectMs)
      socket.on('error', () => undefined) // It has served its purpose.
      socket.destroy()
      this.#timer = undefined
      if (this.isAlarmed && !this.#failsBehind) this.succeed()
      this.watch()
    } catch (error) {
      if (this.#options.checks.aborted) return
      // The pause is over, even if the timer fired a millisecond before the clock says so.
      this.#downUntil = 0
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
