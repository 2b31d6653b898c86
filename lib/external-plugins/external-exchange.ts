import { GatewayError } from '../pipeline/errors.ts'
import { responseHeaders, headerValues, requestHeaders } from '../http/headers.ts'
import type { Exchange, Fact, Facts } from '../pipeline/exchange.ts'
import type {
  PluginError,
  PluginExchange,
  PluginFact,
  PluginFacts,
  UpstreamRequest,
  PluginTap,
} from '../plugin-api/plugin-api.ts'
import { createDecoder, type Decoder } from '../http/decode.ts'
import type { Tap } from '../pipeline/plugin.ts'
import { StringDecoder } from 'node:string_decoder'

const caps = { outputBytesMax: 2 * 1024 ** 3, ratioMax: 1000 }
/** How many compressed bytes may wait to be decoded: a tap that falls further behind is dropped. */
const waitingBytesMax = 16 * 1_048_576

/** Feeds copies of a response to a plugin's tap. When the tap throws, only the watching ends. */
export class ResponseTap implements Tap {
  readonly #onFailure: (error: unknown) => void
  #tap: PluginTap | undefined
  readonly #text: TextPieces | undefined
  readonly #decoder: Decoder | undefined
  #waitingBytes = 0

  constructor(tap: PluginTap, encoding: string, onFailure: (error: unknown) => void) {
    this.#tap = tap
    this.#onFailure = onFailure
    if (tap.onText === undefined) return
    const text = new TextPieces(piece => this.#tap?.onText?.(piece))
    this.#text = text
    this.#decoder = createDecoder(encoding, chunk => this.#guard(() => text.push(chunk)), caps)
    if (this.#decoder === undefined)
      this.#fail(new Error(`The encoding "${encoding}" cannot be read as text.`))
  }

  onData(chunk: Buffer): void {
    if (this.#tap === undefined) return
    this.#guard(() => this.#tap?.onData?.(new Uint8Array(chunk)))
    const written = this.#decoder?.write(chunk)
    if (!(written instanceof Promise)) return
    this.#waitingBytes += chunk.length
    void written.then(() => (this.#waitingBytes -= chunk.length))
    if (this.#waitingBytes > waitingBytesMax) this.#fail(new Error('It fell too far behind the response.'))
  }

  /** The response has ended. */
  async end(): Promise<void> {
    await this.#decoder?.end()
    if (this.#tap !== undefined) this.#guard(() => this.#text?.end())
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#tap === undefined) return
    this.#tap = undefined
    this.#onFailure(error)
  }
}

/** Read at once: with an open escape from the piece before, no piece is longer than 65,536 UTF-16 code units. */
const readBytes = 65_528

const escapes = /\\(?:u([\da-fA-F]{4})|(.))/gs
const meanings: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
/** An escape that may continue in the next bytes. */
const openEscape = /\\(?:u[\da-fA-F]{0,3})?$/

/**
 * Turns the bytes of JSON, a form or an event stream into their text, piece by piece, with the escapes of JSON decoded.
 * Structure stays in the text: a guard that reads all of it misses nothing, whatever the body is.
 */
export class TextPieces {
  readonly #decoder = new StringDecoder('utf8')
  readonly #onText: (piece: string) => void
  #open = ''

  /** @param onText may throw: `push` and `end` pass its error on */
  constructor(onText: (piece: string) => void) {
    this.#onText = onText
  }

  push(bytes: Buffer): void {
    for (let start = 0; start < bytes.length; start += readBytes) {
      const text = this.#open + this.#decoder.write(bytes.subarray(start, start + readBytes))
      const whole = text.length - openLength(text)
      this.#open = text.slice(whole)
      this.#tell(text.slice(0, whole))
    }
  }

  end(): void {
    const text = this.#open + this.#decoder.end()
    this.#open = ''
    this.#tell(text)
  }

  #tell(text: string): void {
    if (text !== '') this.#onText(text.includes('\\') ? unescaped(text) : text)
  }
}

/** How many characters at the end belong to an incomplete escape. */
function openLength(text: string): number {
  const found = openEscape.exec(text.slice(-5))
  if (found === null) return 0
  const start = text.length - found[0].length
  let backslashes = 0
  while (text[start - 1 - backslashes] === '\\') backslashes += 1
  // After an odd number of backslashes, the backslash is itself escaped.
  return backslashes % 2 === 0 ? found[0].length : 0
}

function unescaped(text: string): string {
  return text.replace(escapes, (_, code: string | undefined, character: string) =>
    code === undefined ? (meanings[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** Facts that external plugins share with each other, by their own names. */
    ownFacts: Map<string, unknown>
  }
}

/** The gateway's facts that external plugins can read, and the view that they get. */
const shownFacts: { readonly [F in 'key' | 'request' | 'target']: (value: Facts[F]) => PluginFacts[F] } = {
  key: ({ id, name, accountId }) => ({ id, name, accountId }),
  request: ({ model, isStreaming, outputTokensCap, media }) => ({
    model,
    isStreaming,
    outputTokensCap,
    mediaCount: media.length,
  }),
  target: ({ provider, modelName, upstreamModelName }) => ({
    provider: provider.name,
    model: modelName,
    upstreamModel: upstreamModelName,
  }),
}

function isShown(fact: string): fact is keyof typeof shownFacts {
  return Object.hasOwn(shownFacts, fact)
}

/** A fact's name for the check of the order: the gateway's by its own name, other facts with a prefix. */
export function pipelineFact(fact: string): Fact {
  return (isShown(fact) ? fact : `plugin:${fact}`) as Fact
}

/** RFC 9110 section 5.6.2. */
const headerName = /^[\w!#$%&'*+.^`|~-]+$/
/** Accepted by every HTTP/1.1 server: printable, without line breaks. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
/** Headers that describe the body, which no plugin may change. */
const describesBody = /^(?:content-|accept-encoding$|trailer$|x-gateway-)/i

/** An external plugin's view of an exchange. */
export class ExternalExchange implements PluginExchange<PluginFact, PluginFact> {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get id(): string {
    return this.#exchange.id
  }

  get startedAt(): number {
    return this.#exchange.startedAt
  }

  get method(): string {
    return this.#exchange.request.method ?? 'GET'
  }

  get path(): string {
    return (this.#exchange.request.url ?? '').split('?', 1)[0] ?? ''
  }

  get dialect(): PluginExchange['dialect'] {
    return this.#exchange.get('route').dialect.name
  }

  get operation(): string {
    return this.#exchange.get('route').match.operation.name
  }

  header(name: string): string | undefined {
    return shownHeader(requestHeaders(this.#exchange.request.rawHeaders), name)
  }

  get<F extends PluginFact>(fact: F): PluginFacts[F] {
    const value = this.find(fact)
    if (value === undefined) throw new Error(`The fact "${fact}" was read before a plugin set it.`)
    return value
  }

  find<F extends PluginFact>(fact: F): PluginFacts[F] | undefined {
    if (!isShown(fact)) return this.#exchange.find('ownFacts')?.get(fact) as PluginFacts[F] | undefined
    const value = this.#exchange.find(fact)
    const show = shownFacts[fact] as (value: Facts[typeof fact]) => PluginFacts[F]
    return value === undefined ? undefined : show(value)
  }

  set<F extends PluginFact>(fact: F, value: PluginFacts[F]): void {
    if (isShown(fact)) throw new TypeError(`The fact "${fact}" is the gateway's.`)
    const facts = this.#exchange.find('ownFacts') ?? new Map<string, unknown>()
    this.#exchange.set('ownFacts', facts.set(fact, value))
  }

  addResponseHeader(name: string, value: string): void {
    requireHeader(name, value, responseHeaders)
    if (this.#exchange.response.headersSent) throw new TypeError('The head of the response has left.')
    this.#exchange.extraHeaders.push(name, value)
  }

  cut(error: PluginError): void {
    if (!(error instanceof GatewayError)) throw new TypeError('cut takes an error made by context.error.')
    this.#exchange.responseEnd?.cutAtEvent(error)
  }
}

/** Collects the headers that a plugin sets on the request to the provider. */
export function upstreamRequest(exchange: Exchange): UpstreamRequest {
  return {
    setHeader(name, value) {
      requireHeader(name, value, requestHeaders)
      exchange.upstreamHeaders ??= new Map()
      exchange.upstreamHeaders.set(name.toLowerCase(), value)
    },
  }
}

/** A header as it was sent, its values joined by commas; undefined where it is absent. */
export function shownHeader(headers: readonly string[], name: string): string | undefined {
  const values = headerValues(headers, name.toLowerCase())
  return values.length === 0 ? undefined : values.join(', ')
}

/** @param passed filters headers as for a client or provider: a plugin must not set those that it drops */
function requireHeader(name: string, value: string, passed: (headers: string[]) => string[]): void {
  if (!headerName.test(name) || !headerValue.test(value))
    throw new TypeError(`The header ${JSON.stringify(name)} cannot be sent with this name and value.`)
  if (describesBody.test(name) || passed([name, value]).length === 0)
    throw new TypeError(`The header "${name}" is the gateway's own.`)
}
