/** Failures in a row after which nothing is sent for a while. */
const failuresMax = 5
const openMsMin = 2_000
const openMsMax = 60_000

/**
 * Keeps requests from a provider that cannot be reached. When its time is over one real request is let
 * through: it closes the breaker or opens it for longer.
 */
export class Breaker {
  #failures = 0
  #openMs = 0
  #openUntil = 0
  #isProbing = false
  #lastAccountId: string | undefined

  /** Whether a request may go now; `enter` must follow when it does. */
  allows(now: number): boolean {
    return this.#openMs === 0 || (!this.#isProbing && now >= this.#openUntil)
  }

  enter(): void {
    if (this.#openMs > 0) this.#isProbing = true
  }

  /** The last requests did not reach the provider, and none has since. */
  get isOpen(): boolean {
    return this.#openMs > 0
  }

  /** How long nothing is sent yet. */
  restMs(now: number): number {
    return Math.max(0, this.#openUntil - now)
  }

  /** The next request may find out whether it can be reached. */
  tryNow(): void {
    this.#openUntil = 0
  }

  /** It answered, whatever it said. */
  succeed(): void {
    this.#failures = 0
    this.#openMs = 0
    this.#isProbing = false
    this.#lastAccountId = undefined
  }

  /** The request ended without telling anything of the provider, as when its client left. */
  leave(): void {
    this.#isProbing = false
  }

  /** It could not be reached; no client has a part in that. */
  fail(now: number): void {
    this.#failures += 1
    const wasOpen = this.#openMs > 0
    if (!wasOpen && this.#failures < failuresMax) return
    this.#isProbing = false
    this.#openMs = Math.min(openMsMax, Math.max(openMsMin, this.#openMs * 2))
    this.#openUntil = now + this.#openMs
  }

  /**
   * It has the request and did not answer. A request can be made such that a provider does that, so the
   * failures of one account in a row count once: nobody switches a provider off for the others.
   */
  failAfterSending(now: number, accountId: string | undefined): void {
    if (this.#openMs === 0 && this.#failures > 0 && accountId === this.#lastAccountId) return
    this.#lastAccountId = accountId
    this.fail(now)
  }
}
