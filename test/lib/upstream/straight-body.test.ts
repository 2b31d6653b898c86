import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Pool, type Dispatcher } from 'undici'
import { takeNextSocket, StraightBody } from '../../../lib/upstream/straight-body.ts'
import { startRawUpstream, type RawAnswer, type RawUpstream } from '../../fixtures/raw-upstream.ts'
import { until } from '../../fixtures/until.ts'

/** A response as a client receives it. */
interface Received {
  readonly body: string
  readonly trailers: string
  readonly error: string
  readonly framed: readonly (readonly [bytes: Buffer, framed: Buffer])[]
}

interface Server {
  readonly upstream: RawUpstream
  readonly pool: Pool
  /** The response, one write for each piece. */
  answer: RawAnswer
}

async function startServer(t: Test): Promise<Server> {
  const upstream = await startRawUpstream(t, () => server.answer)
  const pool = new Pool(upstream.origin, { connections: 1, allowH2: false })
  t.teardown(() => pool.destroy())
  const server: Server = { upstream, pool, answer: { pieces: [] } }
  return server
}

/** Sends one request and reads the response's body straight from the socket, or from undici. */
function ask({ pool }: Server, isStraight: boolean, onBody?: (reader: Reader) => void): Promise<Received> {
  return new Promise(resolve => {
    const reader = new Reader(isStraight, resolve, onBody)
    pool.dispatch({ method: 'GET', path: '/', headersTimeout: 2000, bodyTimeout: 2000 }, reader)
  })
}

class Reader implements Dispatcher.DispatchHandler {
  readonly #isStraight: boolean
  readonly #resolve: (received: Received) => void
  readonly #onBody: ((reader: Reader) => void) | undefined
  readonly #body: Buffer[] = []
  straight: StraightBody | undefined
  controller: Dispatcher.DispatchController | undefined
  /** The pieces that arrived as one whole chunk, with their framing. */
  readonly framed: [bytes: Buffer, framed: Buffer][] = []

  constructor(isStraight: boolean, resolve: (received: Received) => void, onBody: Reader['bodyCallback']) {
    this.#isStraight = isStraight
    this.#resolve = resolve
    this.#onBody = onBody
  }

  get bodyCallback(): ((reader: Reader) => void) | undefined {
    return this.#onBody
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    takeNextSocket(this.#isStraight ? this : undefined)
  }

  onSocket(socket: Socket): void {
    this.straight = new StraightBody(socket, this)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) this.straight?.awaitNextHead()
    else this.straight?.read()
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.onBody(bytes)
  }

  onBody(bytes: Buffer, _isLast = false, framed?: Buffer): void {
    this.#body.push(Buffer.from(bytes))
    if (framed !== undefined) this.framed.push([Buffer.from(bytes), Buffer.from(framed)])
    this.#onBody?.(this)
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#end('', controller)
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#end((error as NodeJS.ErrnoException).code ?? error.message, controller)
  }

  #end(error: string, controller: Dispatcher.DispatchController): void {
    const trailers = String((controller.rawTrailers as readonly Buffer[] | null) ?? [])
    this.#resolve({
      body: Buffer.concat(this.#body).toString('latin1'),
      trailers,
      error,
      framed: this.framed,
    })
  }
}

const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

function chunk(bytes: Buffer, extension = '', isUpper = false): Buffer {
  const length = bytes.length.toString(16)
  return Buffer.concat([
    Buffer.from(`${isUpper ? length.toUpperCase() : length}${extension}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ])
}

const piece = fc.record({
  bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }).map(bytes => Buffer.from(bytes)),
  extension: fc.constantFrom('', '', '', '', '', ';name=value', ' '),
  isUpper: fc.boolean(),
})
const ending = fc.constantFrom(
  '0\r\n\r\n',
  '0\r\nx-sum: 7\r\n\r\n',
  '00\r\n\r\n',
  'z\r\n',
  '\r\n',
  '5\r\nabcdefg\r\n0\r\n\r\n',
  '5\r\nabc',
  '',
)

await t.test('a body read straight from its socket equals the body that undici reads', async t => {
  const server = await startServer(t)
  const response = fc.record({
    interim: fc.constantFrom('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
    pieces: fc.array(piece, { maxLength: 6 }),
    end: ending,
    cuts: fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 1, maxLength: 40 }),
  })
  await fc.assert(
    fc.asyncProperty(response, async ({ interim, pieces, end, cuts }) => {
      const bytes = Buffer.concat([
        Buffer.from(interim + head),
        ...pieces.map(({ bytes: content, extension, isUpper }) => chunk(content, extension, isUpper)),
        Buffer.from(end),
      ])
      const isWhole = /^0+\r\n.*\r\n$/s.test(end)
      server.answer = { pieces: cutUp(bytes, cuts), then: isWhole ? 'keep' : 'end' }
      const [plain, straight] = [await ask(server, false), await ask(server, true)]
      t.same(comparable(straight), comparable(plain))
      for (const [content, framed] of straight.framed) {
        const [, digits = '', rest = ''] = /^([0-9a-f]+)\r\n(.*)$/is.exec(framed.toString('latin1')) ?? []
        t.equal(Number.parseInt(digits, 16), content.length)
        t.equal(rest, `${content.toString('latin1')}\r\n`)
      }
    }),
    { numRuns: 120 },
  )
})

/** Without the detail of the error: undici and StraightBody word it differently. */
function comparable({ error, body, trailers }: Received): Omit<Received, 'framed'> {
  return { body, trailers, error: error.replace(/ \(.*\)$/, '') }
}

function cutUp(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = []
  let at = 0
  for (const length of cuts) {
    if (at >= bytes.length) break
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return at < bytes.length ? [...pieces, bytes.subarray(at)] : pieces
}

await t.test('a connection whose body was read straight serves the next request', async t => {
  const server = await startServer(t)
  server.answer = {
    pieces: [
      Buffer.from(head),
      chunk(Buffer.from('one')),
      chunk(Buffer.from('two')),
      Buffer.from('0\r\n\r\n'),
    ],
  }

  const received = [await ask(server, true), await ask(server, false), await ask(server, true)]

  t.same(new Set(received.map(({ body, error }) => `${body} ${error}`)), new Set(['onetwo ']))
  t.equal(server.upstream.openSockets.size, 1)
})

await t.test('a response that is not chunked is left to undici', async t => {
  const server = await startServer(t)
  server.answer = { pieces: [Buffer.from('HTTP/1.1 200 OK\ncontent-length: 4\n\nbody')] }

  t.same(comparable(await ask(server, true)), comparable(await ask(server, false)))
})

await t.test('only a chunk that is alone in a read is passed with its framing', async t => {
  const server = await startServer(t)
  server.answer = {
    pieces: [
      Buffer.from(head),
      chunk(Buffer.from('alone')),
      Buffer.concat([chunk(Buffer.from('two')), chunk(Buffer.from('in one'))]),
      Buffer.from('4\r\n'),
      Buffer.from('late\r\n'),
      Buffer.from('5\r\ncu'),
      Buffer.from('t up\r\n'.slice(0, 3)),
      Buffer.from('\r\n'),
      Buffer.from('0\r\n\r\n'),
    ],
  }

  const { body, framed } = await ask(server, true)

  t.equal(body, 'alonetwoin onelatecut u', 'the body is complete, however it was cut')
  t.same(
    framed.map(([, bytes]) => bytes.toString()),
    ['5\r\nalone\r\n'],
  )
})

await t.test('a paused body is not read until it is resumed', async t => {
  const server = await startServer(t)
  const whole = Buffer.alloc(4 * 1_048_576, 'x')
  server.answer = { pieces: [Buffer.from(head), chunk(whole), Buffer.from('0\r\n\r\n')] }
  let readBytes = 0
  let pauses = 0
  const checks: Promise<void>[] = []
  const received = await ask(server, true, reader => {
    readBytes += 1
    if (readBytes % 8 !== 0) return
    pauses += 1
    reader.straight?.pause()
    const before = readBytes
    const check = delay(15).then(() => {
      t.equal(readBytes, before, 'no data arrives while paused')
      reader.straight?.resume()
    })
    checks.push(check)
  })
  // The last pause may be after the last piece of the body.
  await Promise.all(checks)

  t.equal(received.body.length, whole.length)
  t.ok(pauses > 3)
})

await t.test('aborting a body closes its connection', async t => {
  const server = await startServer(t)
  server.answer = { pieces: [Buffer.from(head), chunk(Buffer.from('one')), chunk(Buffer.from('two'))] }

  const received = await ask(server, true, reader => reader.controller?.abort(new Error('enough')))

  t.equal(received.error, 'enough')
  await until(() => server.upstream.openSockets.size === 0)
})

await t.test('a sink that throws fails its own response', async t => {
  const server = await startServer(t)
  server.answer = { pieces: [Buffer.from(head), chunk(Buffer.from('one')), Buffer.from('0\r\n\r\n')] }
  let times = 0

  const received = await ask(server, true, () => {
    times += 1
    if (times === 1) throw new Error('no room')
  })

  t.equal(received.error, 'no room')
})
