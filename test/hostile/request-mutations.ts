import { deflateSync, gzipSync } from 'node:zlib'

/** Numbers that are the same in every run with a seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** Below `limit`. */
  next(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }

  of<T>(items: readonly T[]): T {
    return items[this.next(items.length)] as T
  }
}

/** A request before it is bytes. */
export interface RequestParts {
  line: string
  headers: string[]
  body: Buffer
  /** How the body is framed; a header has the length unless a mutation removes it. */
  framing: 'length' | 'chunked' | 'none'
}

type Mutation = (parts: RequestParts, random: Random) => void

function onText(change: (text: string, random: Random) => string): Mutation {
  return (parts, random) => {
    parts.body = Buffer.from(change(parts.body.toString('latin1'), random), 'latin1')
  }
}

/** Inserts a text at a random place of another one. */
function inserted(text: string, what: string, random: Random): string {
  const at = random.next(text.length + 1)
  return text.slice(0, at) + what + text.slice(at)
}

const odd = [
  '\u0000',
  '\t',
  ' ',
  '\r\n',
  '\n',
  '\u00ff',
  '\u00ef\u00bb\u00bf',
  '"',
  '\\',
  '{',
  '}',
  ',',
  ':',
  '/',
  '%',
  ';',
  '_',
  '#',
  '?',
  '\u0085',
]
const framingHeaders = [
  'transfer-encoding: chunked',
  'Transfer-Encoding: identity',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding : chunked',
  'content-length: 0',
  'content-length: 5',
  'Content-Length: +3',
  'content_length: 1',
  'connection: content-length',
  'connection: close, x-api-key',
  'connection: upgrade\r\nupgrade: h2c',
  'expect: 100-continue',
  'content-encoding: gzip',
  'content-encoding: identity',
  'content-type: application/json',
  'content-type: text/plain',
  'x-http-method-override: GET',
  'x-original-url: /v1/organization/api_keys',
  'host: b',
  ' folded: yes',
  '\tcontent-length: 7',
]
const members = [
  '"model":"large"',
  '"Model":"large"',
  '"MODEL":"large"',
  '"mod\\u0065l":"large"',
  '"model ":"large"',
  '"mo\\u0000del":"large"',
  '"models":["large"]',
  '"tools":[{"type":"x","model":"large"}]',
  '"model":null',
  '"model":["large"]',
  '"metadata":{"model":"large"}',
  '"stream":true',
  '"n":2',
]

/** The changes to requests: framing, names, spellings, encodings, bytes. */
const mutations: readonly Mutation[] = [
  (parts, random) =>
    parts.headers.splice(random.next(parts.headers.length + 1), 0, random.of(framingHeaders)),
  (parts, random) => parts.headers.push(random.of(parts.headers)),
  (parts, random) => {
    const at = random.next(parts.headers.length)
    parts.headers[at] = inserted(parts.headers[at] ?? '', random.of(odd), random)
  },
  (parts, random) => {
    parts.line = inserted(parts.line, random.of(odd), random)
  },
  (parts, random) => {
    parts.line = parts.line.replace(/[a-z]/, letter => `%${letter.charCodeAt(0).toString(16)}`)
    if (random.next(2) === 0) parts.line = parts.line.replace(' HTTP', '/ HTTP')
  },
  (parts, random) => {
    parts.line = parts.line.replace(
      'HTTP/1.1',
      random.of(['HTTP/1.0', 'HTTP/2.0', 'http/1.1', 'HTTP/1.2', 'HTTP/1.1 ']),
    )
  },
  (parts, random) => {
    parts.framing = random.of(['chunked', 'none', 'length'])
  },
  onText((text, random) => text.replace('{', `{${random.of(members)},`)),
  onText((text, random) => text.replace(/\}$/, `,${random.of(members)}}`)),
  onText((text, random) => inserted(text, random.of(odd), random)),
  onText((text, random) => text.slice(0, random.next(text.length + 1))),
  onText((text, random) =>
    inserted(text, random.of(['/**/', '//', 'NaN', '\u00c0\u00af', '+', '[]']), random),
  ),
  onText(text => text.replaceAll('small', '\\u0073mall')),
  onText((text, random) => {
    const at = random.next(text.length)
    return (
      text.slice(0, at) +
      String.fromCharCode(text.charCodeAt(at) ^ (1 << random.next(8))) +
      text.slice(at + 1)
    )
  }),
  (parts, random) => {
    const isGzip = random.next(2) === 0
    parts.body = isGzip ? gzipSync(parts.body) : deflateSync(parts.body)
    parts.headers.push(
      `content-encoding: ${random.of(['gzip', 'deflate', 'br', isGzip ? 'gzip' : 'deflate'])}`,
    )
  },
]

/** One to three changes of a request, as bytes. */
export function mutated(parts: RequestParts, random: Random): Buffer {
  const changed: RequestParts = { ...parts, headers: [...parts.headers] }
  for (let left = 1 + random.next(3); left > 0; left -= 1) random.of(mutations)(changed, random)
  const { line, headers, body, framing } = changed
  const lines = [line, ...headers]
  if (framing === 'length') lines.push(`content-length: ${body.length}`)
  if (framing === 'chunked') lines.push('transfer-encoding: chunked')
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return Buffer.concat([head, framing === 'chunked' ? inChunks(body, random) : body])
}

function inChunks(body: Buffer, random: Random): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const piece = body.subarray(at, at + 1 + random.next(40))
    const extension = random.next(8) === 0 ? random.of([';a=b', ';a="b;c"', ' ', ';']) : ''
    pieces.push(Buffer.from(`${piece.length.toString(16)}${extension}\r\n`), piece, Buffer.from('\r\n'))
    at += piece.length
  }
  return Buffer.concat([
    ...pieces,
    Buffer.from(random.of(['0\r\n\r\n', '0\r\n\r\n', '00\r\n\r\n', '0\r\na: b\r\n\r\n'])),
  ])
}
