import type { Duplex } from 'node:stream'
import type { GatewayError } from '../pipeline/errors.ts'
import type { Target } from '../models/target.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { AttemptLoop, type AttemptWay } from '../upstream/attempt-loop.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { UpgradeAnswer } from './read-answer.ts'
import { UpgradeAttempt } from './upgrade-attempt.ts'
import type { UpgradeRequest } from './web-socket-proxy.ts'

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

/** Finds a provider for a session. */
export class OpenUpstream extends AttemptLoop<UpgradeAttempt> {
  readonly #exchange: Exchange
  readonly #upgradeFor: UpgradeFor
  readonly #opened = Promise.withResolvers<UpstreamSession>()
  protected readonly isIdempotent = true

  constructor(exchange: Exchange, upstreams: Upstreams, upgradeFor: UpgradeFor) {
    super(exchange, upstreams)
    this.#exchange = exchange
    this.#upgradeFor = upgradeFor
  }

  /** @throws GatewayError when no provider can be reached, or none has a credential that is good */
  async open(): Promise<UpstreamSession> {
    this.begin(this.#exchange.get('target'))
    return await this.#opened.promise
  }

  protected attemptAt(way: AttemptWay): UpgradeAttempt {
    return new UpgradeAttempt(way)
  }

  protected send(attempt: UpgradeAttempt): void {
    const { target } = attempt.stop
    this.#exchange.onClientLeft = target.provider.onClientLeft
    attempt
      .run(
        () => this.#upgradeFor(this.#exchange, target),
        () => this.onStarted(),
      )
      .then(
        ({ head }) => {
          if (this.onHead(attempt, head) === 'relay') return
          attempt.stream.destroy()
          this.onCollected(attempt, true)
        },
        (error: unknown) =>
          this.failAttempt(attempt, error instanceof Error ? error : new Error(String(error))),
      )
      .catch((error: unknown) => this.#opened.reject(error))
  }

  protected isRepeatable(): boolean {
    return true
  }

  /** Nobody waits for a session any more. */
  override abort(reason: Error): void {
    super.abort(reason)
    this.#opened.reject(reason)
  }

  protected pass(attempt: UpgradeAttempt): void {
    const { stream, route } = attempt
    const answer = { head: attempt.head as UpgradeAnswer['head'], body: attempt.body() }
    this.#opened.resolve({ answer, stream, egressName: route.name, leave: () => this.release() })
  }

  protected refuse(error: GatewayError): void {
    this.#opened.reject(error)
  }
}
