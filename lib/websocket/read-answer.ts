import type { Duplex } from 'node:stream'
import type { ResponseHead } from '../pipeline/plugin.ts'

/** What a provider said to a request to upgrade. */
export interface UpgradeAnswer {
  readonly head: ResponseHead
  /** Of a refusal, as much of it as may be waited for; empty when the upgrade was agreed to. */
  readonly body: Buffer
}

const headBytesMax = 65_536
const bodyBytesMax = 65_536
const bodyMs = 2_000

/**
 * Reads the answer to a request to upgrade, and leaves what comes after a 101 in the stream.
 * @throws Error when the connection ends before there is one, or it is none of HTTP/1.1
 */
export async function readAnswer(stream: Duplex): Promise<UpgradeAnswer> {
  let read = Buffer.alloc(0)
  for (;;) {
    const end = read.indexOf('\r\n\r\n')
    if (end !== -1) {
      const head = parseHead(read.toString('latin1', 0, end))
      const rest = read.subarray(end + 4)
      if (head.status === 101) {
        if (rest.length > 0) stream.unshift(rest)
        return { head, body: Buffer.alloc(0) }
      }
      return { head, body: bodyOf(head, await readRest(stream, rest)) }
    }
    if (read.length > headBytesMax) throw new Error('The head of the answer is too long.')
    const chunk = await nextChunk(stream)
    if (chunk === undefined) throw new Error('The connection ended before the answer.')
    read = Buffer.concat([read, chunk])
  }
}

async function nextChunk(stream: Duplex): Promise<Buffer | undefined> {
  for (;;) {
    const chunk = stream.read() as Buffer | null
    if (chunk !== null) return chunk
    if (stream.readableEnded || stream.destroyed) return undefined
    await somethingOf(stream)
  }
}

async function somethingOf(stream: Duplex): Promise<void> {
  const names = ['readable', 'end', 'close']
  await new Promise<void>(resolve => {
    const done = (): void => {
      for (const name of names) stream.off(name, done)
      resolve()
    }
    for (const name of names) stream.on(name, done)
  })
}

async function readRest(stream: Duplex, first: Buffer): Promise<Buffer> {
  let body = first
  const timer = setTimeout(() => stream.destroy(), bodyMs)
  try {
    while (body.length <= bodyBytesMax) {
      const chunk = await nextChunk(stream)
      if (chunk === undefined) break
      body = Buffer.concat([body, chunk])
    }
  } finally {
    clearTimeout(timer)
  }
  return body
}

function parseHead(text: string): ResponseHead {
  const [first = '', ...lines] = text.split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? Number.NaN)
  if (!Number.isInteger(status)) throw new Error('The answer is not HTTP/1.1.')
  const headers = lines.flatMap(line => {
    const colon = line.indexOf(':')
    return colon < 1 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return { status, headers, contentLength: undefined }
}

/** http-proxy-3 sends refusals on in chunks where they have no length. */
function bodyOf({ headers }: ResponseHead, rest: Buffer): Buffer {
  const isChunked = headers.some(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'transfer-encoding',
  )
  if (!isChunked) return rest
  const pieces: Buffer[] = []
  let position = 0
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', position)
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(rest.toString('latin1', position, lineEnd), 16)
    if (!(size > 0)) return Buffer.concat(pieces)
    pieces.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size))
    position = lineEnd + 2 + size + 2
  }
}
