import { connect, type Socket } from 'node:net'
import { hrtime } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { mark, momentDigits } from './frames.ts'

// The clients of the streams, in a process of their own. They read as little of HTTP as they can, since they share a
// core with the upstream.

/** A job from the parent. */
export type LoadOrder =
  | {
      readonly kind: 'open'
      readonly port: number
      readonly isTls: boolean
      readonly request: string
      readonly count: number
    }
  /** Reports what was received since the last report. */
  | { readonly kind: 'look' }
  /** Waits until every stream has ended, or for this long. */
  | { readonly kind: 'finish'; readonly timeoutMs: number }

export interface LoadReport {
  readonly frames: number
  /** Milliseconds from sending a frame to reading it. */
  readonly lateMs: Float64Array
  /** Streams that failed, or did not end in time. */
  readonly failed: number
}

const lastChunk = '\r\n0\r\n\r\n'
const momentBytes = mark.length + momentDigits

let frames = 0
let lateMs: number[] = []
let failed = 0
const open = new Set<Stream>()
let onEmpty: (() => void) | undefined

class Stream {
  readonly #socket: Socket
  #status = ''
  #tail = ''
  #hasEnded = false

  constructor({ port, isTls, request }: LoadOrder & { kind: 'open' }) {
    const options = { port, host: '127.0.0.1' }
    this.#socket = isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options)
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => this.#close())
    this.#socket.write(request, 'latin1')
  }

  get isOpen(): boolean {
    return this.#status !== ''
  }

  #read(chunk: Buffer): void {
    if (this.#status === '') this.#status = chunk.toString('latin1', 9, 12)
    const now = hrtime.bigint()
    // The time of a frame that is split over two reads is left out; the frame counts all the same.
    if (chunk[0] === 0x40 && this.#tail.endsWith('"')) frames += 1
    for (let at = chunk.indexOf(mark); at !== -1; at = chunk.indexOf(mark, at + 2)) {
      frames += 1
      if (at + momentBytes > chunk.length) break
      lateMs.push(Number(now - BigInt(chunk.toString('latin1', at + mark.length, at + momentBytes))) / 1e6)
    }
    this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - 7))).slice(-7)
    if (this.#tail !== lastChunk) return
    this.#hasEnded = true
    this.#socket.destroy()
  }

  #close(): void {
    if (!open.delete(this)) return
    if (!this.#hasEnded || this.#status !== '200') failed += 1
    if (open.size === 0) onEmpty?.()
  }

  giveUp(): void {
    this.#socket.destroy()
  }
}

async function act(order: LoadOrder): Promise<void> {
  if (order.kind === 'open') {
    for (let index = 0; index < order.count; index++) {
      open.add(new Stream(order))
      if (index % 16 === 15) await delay(2)
    }
    const giveUpMs = performance.now() + 15_000
    while ([...open].some(stream => !stream.isOpen) && performance.now() < giveUpMs) await delay(10)
  }
  if (order.kind === 'finish' && open.size > 0) {
    await Promise.race([new Promise<void>(resolve => (onEmpty = resolve)), delay(order.timeoutMs)])
    for (const stream of open) stream.giveUp()
  }
}

process.on('message', (order: LoadOrder) => {
  act(order).then(
    () => {
      const report: LoadReport = { frames, lateMs: Float64Array.from(lateMs), failed }
      frames = 0
      failed = 0
      lateMs = []
      process.send?.(report)
    },
    (error: unknown) => {
      throw error
    },
  )
})
process.send?.({ port: 0 })
