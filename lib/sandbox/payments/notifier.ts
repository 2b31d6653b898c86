import { setTimeout as delay } from 'node:timers/promises'

/** How notifications go out from now on. */
export interface NotifierTemper {
  /** How often each is sent. */
  copies: number
  delayMs: number
}

/** Waits before a notification that was not answered by 200 is sent again. */
const retriesMs = [500, 2000, 10_000, 60_000, 300_000]

/** Sends notifications to the shop's address, until they are answered. */
export class Notifier {
  readonly temper: NotifierTemper = { copies: 1, delayMs: 0 }
  readonly #stop = new AbortController()
  #url: string | undefined

  /** From now on notifications go there; before, there are none. */
  notifyTo(url: string | undefined): void {
    this.#url = url
  }

  send(event: string, object: object): void {
    const body = JSON.stringify({ type: 'notification', event, object })
    for (let copy = 0; copy < this.temper.copies; copy += 1) void this.#deliver(body)
  }

  close(): void {
    this.#stop.abort()
  }

  async #deliver(body: string): Promise<void> {
    const { signal } = this.#stop
    try {
      await delay(this.temper.delayMs, undefined, { signal, ref: false })
      for (const retryMs of retriesMs) {
        if (this.#url === undefined || (await this.#post(this.#url, body))) return
        await delay(retryMs, undefined, { signal, ref: false })
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #post(url: string, body: string): Promise<boolean> {
    const headers = { 'content-type': 'application/json' }
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(10_000)])
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal })
      await response.arrayBuffer()
      return response.status === 200
    } catch (error) {
      // Whoever is to be told is not there: told again later.
      if (error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError'))
        return false
      throw error
    }
  }
}
