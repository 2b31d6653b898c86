import type { Duplex } from 'node:stream'
import type { AttemptWay, TransportAttempt } from '../upstream/attempt-loop.ts'
import type { EgressRoute } from '../upstream/egress-route.ts'
import type { Stop } from '../upstream/itinerary.ts'
import { openConnection } from '../upstream/open-connection.ts'
import { readAnswer, type UpgradeAnswer } from './read-answer.ts'
import { proxyWebSocket, type UpgradeRequest } from './web-socket-proxy.ts'

/** One request to upgrade, on its way to one provider. */
export class UpgradeAttempt implements TransportAttempt {
  readonly stop: Stop
  readonly route: EgressRoute
  readonly startedAt: number
  wasStarted = false
  #answer: UpgradeAnswer | undefined
  #stream: Duplex | undefined
  #abortReason: Error | undefined

  constructor({ stop, route, startedAt }: AttemptWay) {
    this.stop = stop
    this.route = route
    this.startedAt = startedAt
  }

  get head(): UpgradeAnswer['head'] | undefined {
    return this.#answer?.head
  }

  body(): Buffer {
    return this.#answer?.body ?? Buffer.alloc(0)
  }

  /** What the provider says after its head; there is one when the attempt was answered. */
  get stream(): Duplex {
    if (this.#stream === undefined) throw new Error('The provider has not answered.')
    return this.#stream
  }

  /**
   * @param onStarted a connection takes the request
   * @throws Error when none does, or no response comes
   */
  async run(request: () => UpgradeRequest, onStarted: () => void): Promise<UpgradeAnswer> {
    const { target } = this.stop
    const { connectMs, firstByteMs } = target.credential.timeouts ?? target.provider.timeouts
    const connection = await openConnection(new URL(target.baseUrl.origin), this.route, connectMs)
    if (this.#abortReason !== undefined) {
      connection.destroy()
      throw this.#abortReason
    }
    this.wasStarted = true
    onStarted()
    let failure: Error | undefined
    const stream = proxyWebSocket(connection, request(), error => {
      failure = error
    })
    this.#stream = stream
    stream.on('error', () => undefined) // It shows as an end that came too early.
    const timer = setTimeout(() => {
      failure = Object.assign(new Error('no answer in time'), { code: 'UND_ERR_HEADERS_TIMEOUT' })
      stream.destroy()
    }, firstByteMs)
    try {
      this.#answer = await readAnswer(stream)
      return this.#answer
    } catch (error) {
      stream.destroy()
      throw this.#abortReason ?? failure ?? error
    } finally {
      clearTimeout(timer)
    }
  }

  abort(reason: Error): void {
    this.#abortReason ??= reason
    this.#stream?.destroy()
  }
}
