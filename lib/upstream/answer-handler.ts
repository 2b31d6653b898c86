import type { Dispatcher } from 'undici'
import { answerHeaders, headerValue } from '../http/headers.ts'
import type { AnswerSink, UpstreamControls } from '../pipeline/plugin.ts'
import { upstreamError } from './upstream-error.ts'

export interface UpstreamProgress {
  /** Every byte of the request is on its way: the provider may do all of the work. */
  onSent(): void
}

/** undici's handler for one request: passes the answer on to the relay and can be stopped at any time. */
export class AnswerHandler implements Dispatcher.DispatchHandler, UpstreamControls {
  readonly #sink: AnswerSink
  readonly #providerName: string
  readonly #progress: UpstreamProgress
  #controller: Dispatcher.DispatchController | undefined
  #abortReason: Error | undefined
  #wasStarted = false

  constructor(sink: AnswerSink, providerName: string, progress: UpstreamProgress) {
    this.#sink = sink
    this.#providerName = providerName
    this.#progress = progress
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#abortReason === undefined) this.#wasStarted = true
    else controller.abort(this.#abortReason)
  }

  onRequestSent(): void {
    this.#progress.onSent()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // undici calls this for 103 and the like too, and once more for the final head.
    if (status < 200) return
    const raw = controller.rawHeaders as readonly Buffer[]
    const headers = raw.map(part => part.toString('latin1'))
    const length = headerValue(headers, 'content-length')
    const contentLength =
      length === undefined || headerValue(headers, 'transfer-encoding') !== undefined
        ? undefined
        : Number(length)
    this.#sink.onHead({ status, headers: answerHeaders(headers), contentLength }, this)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sink.onData(chunk)
  }

  onResponseEnd(): void {
    this.#sink.onEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#sink.onError(upstreamError(error, this.#wasStarted, this.#providerName))
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  abort(reason: Error): void {
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }
}
