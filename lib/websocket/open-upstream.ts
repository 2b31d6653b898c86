import type { Duplex } from 'node:stream'
import { GatewayError } from '../errors.ts'
import type { Target } from '../exchange-facts.ts'
import { Itinerary, type Stop } from '../upstream/itinerary.ts'
import { isJudged, judgeRefusal, type Verdict } from '../upstream/judge-refusal.ts'
import { openConnection } from '../upstream/open-connection.ts'
import { exhausted, overloaded } from '../upstream/provider-state.ts'
import { upstreamError } from '../upstream/upstream-error.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { readAnswer, type UpgradeAnswer } from './read-answer.ts'
import { proxyWebSocket, type UpgradeRequest } from './web-socket-proxy.ts'

/** A provider's answer, and the stream behind it. */
export interface UpstreamSession {
  readonly answer: UpgradeAnswer
  readonly stream: Duplex
  readonly egressName: string
  /** Gives the credential's place free; called once, at the end. */
  readonly leave: () => void
}

/** What is sent to a target. */
export type UpgradeFor = (exchange: Exchange, target: Target) => UpgradeRequest

/**
 * Finds a provider for a session: tries the next way out, credential or provider where the one before said no.
 * A request to upgrade asks for no work, so it may be repeated.
 */
export class OpenUpstream {
  readonly #exchange: Exchange
  readonly #upstreams: Upstreams
  readonly #upgradeFor: UpgradeFor
  readonly #itinerary: Itinerary
  #stream: Duplex | undefined
  attemptCount = 0

  constructor(exchange: Exchange, upstreams: Upstreams, upgradeFor: UpgradeFor) {
    this.#exchange = exchange
    this.#upstreams = upstreams
    this.#upgradeFor = upgradeFor
    this.#itinerary = new Itinerary(exchange, upstreams)
  }

  /** @throws GatewayError when no provider can be reached, or none has a credential that is good */
  async open(): Promise<UpstreamSession> {
    let stop = this.#itinerary.first()
    for (;;) {
      if (stop instanceof GatewayError) throw stop
      const result: UpstreamSession | Stop | GatewayError = await this.#tryAt(stop)
      if (result instanceof GatewayError || !('provider' in result)) {
        if (result instanceof GatewayError) throw result
        return result
      }
      stop = result
    }
  }

  /** The client has left. */
  abort(): void {
    this.#stream?.destroy()
  }

  async #tryAt(stop: Stop): Promise<UpstreamSession | Stop | GatewayError> {
    const { credential, target } = stop
    await enter(stop, this, this.#exchange.find('key')?.accountId)
    const leave = (): void => {
      credential.admission.leave()
      credential.leave(this)
    }
    this.#exchange.set('target', target)
    this.#exchange.onClientLeft = target.provider.onClientLeft
    try {
      const session = await this.#connect(stop, leave)
      const verdict = judged(stop, session.answer)
      credential.breaker.succeed()
      if (verdict === undefined) {
        credential.serve(this)
        return session
      }
      return this.#afterRefusal(stop, verdict, session)
    } catch (error) {
      leave()
      if (!(error instanceof GatewayError)) throw error
      credential.breaker.fail(this.#upstreams.now())
      return this.#mayGoOn(stop) ? (this.#itinerary.afterNoConnection(stop) ?? error) : error
    }
  }

  /** @throws GatewayError when no way leads there */
  async #connect(stop: Stop, leave: () => void): Promise<UpstreamSession> {
    const { target } = stop
    const { provider, baseUrl } = target
    const { connectMs } = timeoutsOf(target)
    for (;;) {
      const route = this.#itinerary.route(stop)
      this.attemptCount += 1
      let wasStarted = false
      try {
        const connection = await openConnection(new URL(baseUrl.origin), route, connectMs)
        this.#exchange.moments.connectedMs = performance.now()
        route.succeed()
        wasStarted = true
        const answer = await this.#ask(connection, target)
        return { ...answer, egressName: route.name, leave }
      } catch (cause) {
        const error = cause instanceof Error ? cause : new Error(String(cause))
        const failure = upstreamError(error, wasStarted, provider.name)
        if (!wasStarted) route.fail(error)
        this.#report(stop, route.name, failure.code)
        if (wasStarted || !this.#mayGoOn(stop) || !this.#itinerary.hasOtherRoute(stop, route, 2))
          throw failure
      }
    }
  }

  async #ask(connection: Duplex, target: Target): Promise<{ answer: UpgradeAnswer; stream: Duplex }> {
    let failure: Error | undefined
    const stream = proxyWebSocket(connection, this.#upgradeFor(this.#exchange, target), error => {
      failure = error
    })
    this.#stream = stream
    stream.on('error', () => undefined) // It shows as an end that came too early.
    const timer = setTimeout(() => {
      failure = Object.assign(new Error('no answer in time'), { code: 'UND_ERR_HEADERS_TIMEOUT' })
      stream.destroy()
    }, timeoutsOf(target).firstByteMs)
    try {
      return { answer: await readAnswer(stream), stream }
    } catch (error) {
      stream.destroy()
      throw failure ?? error
    } finally {
      clearTimeout(timer)
    }
  }

  #afterRefusal(
    stop: Stop,
    verdict: Verdict,
    session: UpstreamSession,
  ): UpstreamSession | Stop | GatewayError {
    const { credential, provider, target } = stop
    const now = this.#upstreams.now()
    const code = 'code' in verdict ? verdict.code : 'refused'
    this.#report(stop, session.egressName, code, session.answer.head.status)
    if (verdict.about === 'credential') {
      credential.suspend(now)
      const { name } = credential.credential
      const details = { provider: target.provider.name, credentialName: name, reason: code }
      this.#upstreams.bus.emit('alarm', 'credential_suspended', { ...details, requestId: this.#exchange.id })
    } else if (verdict.about === 'rate' && provider.hasOther(credential, target.upstreamModelName, now)) {
      credential.cool(target.upstreamModelName, now + verdict.waitMs)
    }
    const mayMove =
      verdict.about === 'credential' || target.provider.failover.on.includes(session.answer.head.status)
    const next = mayMove && this.#mayGoOn(stop) ? this.#itinerary.afterRefusal(stop) : undefined
    if (next !== undefined && !(next instanceof GatewayError)) {
      session.stream.destroy()
      session.leave()
      return next
    }
    if (verdict.about !== 'credential') return session
    session.stream.destroy()
    session.leave()
    return exhausted(target.provider.name)
  }

  #mayGoOn({ target }: Stop): boolean {
    return !this.#exchange.hasClientLeft && this.attemptCount < target.provider.failover.attemptsMax
  }

  #report({ target, credential }: Stop, egress: string, result: string, status?: number): void {
    this.#upstreams.bus.emit('upstream-attempt', this.#exchange, {
      provider: target.provider.name,
      credentialName: credential.credential.name,
      egress,
      status,
      result,
    })
  }
}

/** A credential may have times of its own. */
function timeoutsOf({ credential, provider }: Target): Target['provider']['timeouts'] {
  return credential.timeouts ?? provider.timeouts
}

/** Waits for a place with the credential. @throws GatewayError overloaded */
async function enter(
  { credential, target }: Stop,
  request: object,
  accountId: string | undefined,
): Promise<void> {
  credential.enter(request)
  await new Promise<void>((resolve, reject) => {
    const tooLong = (): void => {
      credential.breaker.leave()
      credential.leave(request)
      reject(overloaded(target.provider.name))
    }
    const place = credential.admission.enter({ onAdmitted: resolve, onWaitedTooLong: tooLong }, accountId)
    if (place === 'now') resolve()
    else if (place === 'no') tooLong()
  })
}

/** What a refusal is about; undefined for an agreement and for what only the client can mend. */
function judged({ target }: Stop, { head, body }: UpgradeAnswer): Verdict | undefined {
  if (head.status < 400) return undefined
  const { failover, kind } = target.provider
  if (!isJudged(head.status) && !failover.on.includes(head.status)) return undefined
  return judgeRefusal(kind, head, body)
}
