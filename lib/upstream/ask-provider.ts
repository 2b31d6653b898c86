import type { DialectName } from '../dialects/dialect.ts'
import type { GatewayError } from '../pipeline/errors.ts'
import type { Target, ChosenProvider } from '../models/choose-provider.ts'
import { headerValue } from '../http/headers.ts'
import type { ResponseSink, ResponseHead, UpstreamControls } from '../pipeline/plugin.ts'
import { Attempt, type AttemptOwner } from './attempt.ts'
import { AttemptLoop, type AttemptWay } from './attempt-loop.ts'
import { upstreamError } from './judge-refusal.ts'
import { upstreamHeaders } from './upstream-headers.ts'
import type { Upstreams } from './upstreams.ts'

/** A request of the gateway's own, with no client behind it. */
interface ProviderRequest {
  readonly chosen: ChosenProvider
  readonly dialectName: DialectName
  /** Relative to the base URL. */
  readonly path: string
  /** GET by default. Only idempotent methods, because the request may be repeated. */
  readonly method?: 'GET' | 'DELETE'
  /** Aborts the request when the gateway stops or has waited too long. */
  readonly signal: AbortSignal
}

interface ProviderHead {
  readonly status: number
  /** Lower-case, without parameters; empty when absent. */
  readonly contentType: string
  /** As the provider sent it, although the request accepts only `identity`; empty when absent. */
  readonly contentEncoding: string
}

/** Receives the response to a question. */
interface ResponseReceiver {
  /** Returns whether the body is wanted. */
  onHead(head: ProviderHead): boolean
  onData(chunk: Buffer): void | Promise<void>
}

/** Results of batches are large; a response beyond this limit is rejected. */
const bodyBytesMax = 4 * 1024 ** 3
const redirectsMax = 2
/** An unwanted body is read to its end up to this size, so that the connection can be reused. */
const unwantedBytesMax = 65_536

/**
 * Sends a request of the gateway's own to a provider, with the same attempts as an exchange and the one credential
 * named in `chosen`. The response is passed on as it arrives and never stored.
 * @throws Error when no egress route works, or the response is cut off or too long
 */
export async function askProvider(
  upstreams: Upstreams,
  { chosen, dialectName, path, signal, method = 'GET' }: ProviderRequest,
  receiver: ResponseReceiver,
): Promise<void> {
  const { baseUrl } = chosen
  let upstreamPath = baseUrl.pathname.replace(/\/$/, '') + path
  for (let redirects = 0; ; redirects += 1) {
    const target = targetOf(chosen, dialectName, upstreamPath)
    const sink = new ReceivedResponse(receiver, redirects < redirectsMax)
    const location = await new ProviderCall(upstreams, sink, method).ask(target, signal)
    if (location === undefined) return
    const next = new URL(location, new URL(upstreamPath, baseUrl))
    // The credential goes only to its own provider.
    if (next.origin !== baseUrl.origin) throw new Error(`redirected to another host: ${next.origin}`)
    upstreamPath = next.pathname + next.search
  }
}

function targetOf(chosen: ChosenProvider, dialectName: DialectName, upstreamPath: string): Target {
  return {
    ...chosen,
    dialectName,
    upstreamPath,
    model: undefined,
    modelName: '',
    upstreamModelName: '',
    price: undefined,
    body: undefined,
    isBodyDecoded: false,
    isUsageInjected: false,
    isPinned: true,
  }
}

/** One request. */
class ProviderCall extends AttemptLoop<Attempt> implements AttemptOwner {
  readonly #sink: ReceivedResponse
  readonly #method: 'GET' | 'DELETE'
  protected readonly isIdempotent = true

  constructor(upstreams: Upstreams, sink: ReceivedResponse, method: 'GET' | 'DELETE') {
    super(undefined, upstreams)
    this.#sink = sink
    this.#method = method
  }

  /** @returns the address the provider redirects to; undefined when it responded directly */
  async ask(target: Target, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted()
    const onAbort = (): void => {
      const reason = signal.reason as Error
      this.#sink.onError(reason)
      this.abort(reason)
    }
    signal.addEventListener('abort', onAbort)
    try {
      this.begin(target)
      return await this.#sink.location
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  protected attemptAt(way: AttemptWay): Attempt {
    return new Attempt(this, this.#sink, way, false)
  }

  protected send(attempt: Attempt): void {
    const { provider, credential, target } = attempt.stop
    const headers = upstreamHeaders(['accept', '*/*', 'accept-encoding', 'identity'], target)
    const pool = provider.pool(credential, attempt.route, target.baseUrl.origin)
    attempt.dispatch(pool, { method: this.#method, path: target.upstreamPath, headers })
  }

  protected isRepeatable(): boolean {
    return true
  }

  protected pass(attempt: Attempt, isWhole: boolean): void {
    attempt.relay(attempt)
    if (isWhole) this.#sink.onEnd()
  }

  protected refuse(error: GatewayError): void {
    this.#sink.onError(error)
  }

  onSent(): void {
    // The request can be repeated, however much of it the provider has received.
  }

  onInformation(): void {
    // There is no client to inform.
  }

  onEnd(): void {
    this.release()
    this.#sink.onEnd()
  }

  onError(attempt: Attempt, error: Error): void {
    if (attempt.head === undefined) {
      this.failAttempt(attempt, error)
      return
    }
    this.passBroken(attempt)
    this.#sink.onError(upstreamError(error, true, attempt.stop.target.provider))
  }
}

/** Passes a response to its taker, no faster than the taker processes it. */
class ReceivedResponse implements ResponseSink {
  readonly #receiver: ResponseReceiver
  readonly #mayRedirect: boolean
  readonly #ended = Promise.withResolvers<string | undefined>()
  #controls: UpstreamControls | undefined
  #isWanted = false
  #bytes = 0
  /** Settles when the chunks passed so far have been processed. */
  #taken: Promise<void> | undefined

  constructor(receiver: ResponseReceiver, mayRedirect: boolean) {
    this.#receiver = receiver
    this.#mayRedirect = mayRedirect
  }

  /** The redirect target, or undefined for a direct response; rejects when the response is incomplete. */
  get location(): Promise<string | undefined> {
    return this.#ended.promise
  }

  onInformation(): void {
    // There is no client to inform.
  }

  onHead({ status, headers }: ResponseHead, controls: UpstreamControls): void {
    this.#controls = controls
    const location = headerValue(headers, 'location')
    if (this.#mayRedirect && status >= 300 && status < 400 && location !== undefined) {
      this.#ended.resolve(location)
      return
    }
    const contentType = headerValue(headers, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
    const contentEncoding = headerValue(headers, 'content-encoding') ?? ''
    this.#isWanted = this.#receiver.onHead({ status, contentType, contentEncoding })
    if (!this.#isWanted) this.#ended.resolve(undefined)
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > (this.#isWanted ? bodyBytesMax : unwantedBytesMax)) {
      this.#stop(new Error('the response is too long'))
      return
    }
    // undici may deliver an empty chunk after each pause; pausing for that chunk would repeat without end.
    if (this.#isWanted && chunk.length > 0) this.#take(chunk)
  }

  #take(chunk: Buffer): void {
    try {
      const taken =
        this.#taken === undefined ? this.#receiver.onData(chunk) : this.#takeAfter(this.#taken, chunk)
      if (!(taken instanceof Promise)) return
      this.#taken = taken
    } catch (error) {
      this.#stop(error as Error)
      return
    }
    this.#controls?.pause()
    this.#taken.then(
      () => this.#controls?.resume(),
      (error: Error) => this.#stop(error),
    )
  }

  async #takeAfter(before: Promise<void>, chunk: Buffer): Promise<void> {
    await before
    await this.#receiver.onData(chunk)
  }

  #stop(error: Error): void {
    this.#ended.reject(error)
    this.#controls?.abort(error)
  }

  onEnd(): void {
    this.#ended.resolve(this.#taken?.then(() => undefined))
  }

  onError(error: Error): void {
    this.#ended.reject(error)
  }
}
