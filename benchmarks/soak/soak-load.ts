import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Fate } from './soak-upstream.ts'

/** A client's record of one of its requests. */
export interface SoakRecord {
  readonly number: number
  readonly fate: Fate
  /** Undefined when no head was received. */
  readonly requestId: string | undefined
  readonly status: number
  readonly isWhole: boolean
  /** The usage that the response reported. */
  readonly usage: { readonly input: number; readonly output: number } | undefined
  readonly durationMs: number
}

const bodyOf = (isStreaming: boolean): string =>
  JSON.stringify({
    model: 'test-model',
    ...(isStreaming && { stream: true, stream_options: { include_usage: true } }),
    max_tokens: 60,
    messages: [{ role: 'user', content: 'Tell me a short story, please.' }],
  })
const bodies = { plain: bodyOf(false), streaming: bodyOf(true), bad: '{"model":"test-model","messages":[' }

/** Faults take turns, so that every run has as many of each. */
const faults: readonly Fate[] = [
  'upstream-resets-first',
  'upstream-cuts-text',
  'upstream-cuts-after-usage',
  'client-leaves',
  'client-reads-slowly',
  'bad-request',
]

/** Clients of the gateway: send requests, and record the responses. */
export class SoakLoad {
  readonly records: SoakRecord[] = []
  readonly #url: string
  readonly #key: string
  readonly #faultPercent: number
  readonly #agent = new Agent({ keepAlive: true })
  readonly #open = new Set<Promise<void>>()
  #number = 0
  #faultCount = 0

  constructor(url: string, key: string, faultPercent: number) {
    this.#url = url
    this.#key = key
    this.#faultPercent = faultPercent
  }

  get openCount(): number {
    return this.#open.size
  }

  /** Clients that send one request after another, without faults; returns responses a second. */
  async saturate(clients: number, seconds: number): Promise<number> {
    const deadline = performance.now() + seconds * 1000
    const before = this.records.length
    const client = async (): Promise<void> => {
      while (performance.now() < deadline) await this.#ask('none')
    }
    await Promise.all(Array.from({ length: clients }, client))
    return (this.records.length - before) / seconds
  }

  /** Sends this many requests a second, whether responses have arrived or not. */
  async keepUp(requestsPerSecond: number, seconds: number): Promise<void> {
    const began = performance.now()
    let asked = 0
    for (;;) {
      const elapsed = (performance.now() - began) / 1000
      if (elapsed >= seconds) break
      for (; asked < elapsed * requestsPerSecond; asked += 1) {
        const done: Promise<void> = this.#ask(this.#fate(asked)).finally(() => this.#open.delete(done))
        this.#open.add(done)
      }
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    await Promise.all(this.#open)
  }

  close(): void {
    this.#agent.destroy()
  }

  #fate(asked: number): Fate {
    if (this.#faultPercent === 0 || asked % Math.round(100 / this.#faultPercent) !== 0) return 'none'
    this.#faultCount += 1
    return faults[this.#faultCount % faults.length] ?? 'none'
  }

  async #ask(fate: Fate): Promise<void> {
    const number = this.#number
    this.#number += 1
    // A request that is cut, left or read slowly must be a stream.
    const isStreaming = fate === 'none' || fate === 'upstream-resets-first' ? number % 5 < 3 : true
    const body = fate === 'bad-request' ? bodies.bad : isStreaming ? bodies.streaming : bodies.plain
    const began = performance.now()
    const found = await this.#exchange(body, number, fate)
    this.records.push({ number, fate, ...found, durationMs: performance.now() - began })
  }

  #exchange(
    body: string,
    number: number,
    fate: Fate,
  ): Promise<Omit<SoakRecord, 'number' | 'fate' | 'durationMs'>> {
    return new Promise(resolve => {
      const request = httpRequest(`${this.#url}/v1/chat/completions`, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${this.#key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'x-soak-number': number,
          'x-soak-fate': fate,
        },
      })
      const nothing = { requestId: undefined, status: 0, isWhole: false, usage: undefined }
      let hasBegun = false
      request.on('error', () => {
        // Once the response has begun, its end reports it.
        if (!hasBegun) resolve(nothing)
      })
      request.on('response', response => {
        hasBegun = true
        behave(response, fate)
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', () => undefined) // `isWhole` reports it.
        response.on('close', () => {
          const found = /"prompt_tokens":(\d+),"completion_tokens":(\d+)/.exec(
            Buffer.concat(chunks).toString(),
          )
          resolve({
            requestId: String(response.headers['x-gateway-request-id']),
            status: response.statusCode ?? 0,
            isWhole: response.complete,
            usage: found === null ? undefined : { input: Number(found[1]), output: Number(found[2]) },
          })
        })
      })
      request.end(body)
    })
  }
}

/** Leaves in the middle of the response, or reads a bit at a time. */
function behave(response: IncomingMessage, fate: Fate): void {
  if (fate === 'client-leaves') response.once('data', () => setTimeout(() => response.destroy(), 10))
  if (fate !== 'client-reads-slowly') return
  response.on('data', () => {
    response.pause()
    setTimeout(() => response.resume(), 50)
  })
}
