import {
  connect as connectTcp,
  isIP,
  isIPv4,
  isIPv6,
  SocketAddress,
  type LookupFunction,
  type Socket,
} from 'node:net'
import { connect as connectTls } from 'node:tls'
import { connectionWords, EgressError } from './egress-error.ts'

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const socksPort = 1080

/** A proxy: its name in the config and its address. */
export interface Proxy {
  readonly name: string
  readonly url: URL
  /** Resolves the proxy's own address; absent: the system resolver. */
  readonly lookup?: LookupFunction | undefined
}

const noAuthentication = 0
const userAndPassword = 2

/** RFC 1928 section 6. */
const replies: readonly string[] = [
  'succeeded',
  'general failure',
  'not allowed by its rules',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
]

const headBytesMax = 16_384

const wantsUser = 'It requires a user and a password, and its URL has none'

/** Whether the URL has credentials; some proxies accept a password alone. */
function hasCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}

/** The address that the proxy connects to; the proxy resolves a host name. */
export interface TunnelEnd {
  readonly hostname: string
  readonly port: number
}

/**
 * Requests a tunnel from a SOCKS5 proxy (RFC 1928, RFC 1929). Host names are sent unresolved, and the proxy resolves
 * them.
 * @throws EgressError when it refuses
 */
async function socks5Connect(
  proxy: URL,
  socket: Socket,
  reader: SocketReader,
  end: TunnelEnd,
): Promise<void> {
  const hasUser = hasCredentials(proxy)
  socket.write(Buffer.from(hasUser ? [5, 2, noAuthentication, userAndPassword] : [5, 1, noAuthentication]))
  const [version, method] = await reader.read(2)
  if (version !== 5) throw new EgressError('It does not speak SOCKS5.')
  if (method === userAndPassword && hasUser) await authenticate(proxy, socket, reader)
  else if (method !== noAuthentication)
    throw new EgressError(hasUser ? 'It requires another kind of authentication.' : `${wantsUser}.`)

  const port = Buffer.alloc(2)
  port.writeUInt16BE(end.port)
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), addressBytes(end.hostname), port]))
  const [, reply = 255, , type] = await reader.read(4)
  if (reply !== 0) throw new EgressError(`It refused the connection: ${replies[reply] ?? `code ${reply}`}.`)
  // The bound address is unused, but its bytes must be read off the socket.
  const length = type === 1 ? 4 : type === 4 ? 16 : ((await reader.read(1))[0] ?? 0)
  await reader.read(length + 2)
}

async function authenticate(proxy: URL, socket: Socket, reader: SocketReader): Promise<void> {
  const user = Buffer.from(decodeURIComponent(proxy.username))
  const password = Buffer.from(decodeURIComponent(proxy.password))
  if (user.length > 255 || password.length > 255) throw new EgressError('Its user or password is too long.')
  socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]))
  const [, status] = await reader.read(2)
  if (status !== 0) throw new EgressError('It refused its user and password.')
}

function addressBytes(hostname: string): Buffer {
  if (isIPv4(hostname)) return Buffer.from([1, ...hostname.split('.').map(Number)])
  if (isIPv6(hostname)) return Buffer.concat([Buffer.from([4]), ipv6Bytes(hostname)])
  const name = Buffer.from(hostname)
  if (name.length > 255) throw new EgressError('The name of the provider is too long for SOCKS5.')
  return Buffer.concat([Buffer.from([3, name.length]), name])
}

function ipv6Bytes(address: string): Buffer {
  const plain = new SocketAddress({ address, family: 'ipv6' }).address
  const [head = '', tail] = plain.split('::')
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map(part => Number(`0x${part}`))
  const left = groups(head)
  const right = tail === undefined ? [] : groups(tail)
  const all = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
  const bytes = Buffer.alloc(16)
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(group, index * 2)
  return bytes
}

/**
 * Opens a connection through a proxy. It sends nothing of a request, and resolves no name here but the proxy's own.
 * @throws EgressError when the proxy cannot be reached, refuses, or exceeds the timeout
 */
export async function openTunnel(proxy: Proxy, end: TunnelEnd, timeoutMs: number): Promise<Socket> {
  const { url } = proxy
  const socket = connectTo(proxy)
  socket.setNoDelay(true)
  const reader = new SocketReader(socket)
  let hasTimedOut = false
  const timer = setTimeout(() => {
    hasTimedOut = true
    socket.destroy()
  }, timeoutMs)
  try {
    const handshake = url.protocol.startsWith('socks5') ? socks5Connect : httpConnect
    await handshake(url, socket, reader, end)
    reader.release()
    return socket
  } catch (error) {
    // The reader keeps its listeners, so that an error of the destroyed socket is not unhandled.
    socket.destroy()
    const reason = hasTimedOut ? `It did not answer in ${timeoutMs} ms.` : connectionWords(error)
    throw new EgressError(`The egress ${proxy.name} failed. ${reason}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

function connectTo({ url, lookup }: Proxy): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (defaultPorts[url.protocol] ?? socksPort) : Number(url.port)
  const found = lookup === undefined ? {} : { lookup }
  if (url.protocol !== 'https:') return connectTcp({ host, port, ...found })
  // RFC 6066 section 3: a server name is not an IP address.
  const named = isIP(host) === 0 ? { servername: host } : {}
  return connectTls({ host, port, ...found, ...named, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] })
}

/**
 * Requests a tunnel from an HTTP proxy (RFC 9110 section 9.3.6).
 * @throws EgressError when the status is not 2xx
 */
async function httpConnect(proxy: URL, socket: Socket, reader: SocketReader, end: TunnelEnd): Promise<void> {
  const authority = `${end.hostname.includes(':') ? `[${end.hostname}]` : end.hostname}:${end.port}`
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`]
  if (hasCredentials(proxy)) {
    const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(pair).toString('base64')}`)
  }
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const head = await reader.readThrough('\r\n\r\n', headBytesMax)
  const status = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(head.toString('latin1'))?.[1]
  if (status === undefined) throw new EgressError('It does not speak HTTP.')
  // tinyproxy responds with 401.
  if (status === '407' || status === '401')
    throw new EgressError(
      `${hasCredentials(proxy) ? 'It refused its user and password' : wantsUser} (${status}).`,
    )
  if (!status.startsWith('2')) throw new EgressError(`It answered CONNECT with ${status}.`)
}

/** Reads a handshake from a socket piece by piece, then releases the socket unchanged. */
export class SocketReader {
  readonly #socket: Socket
  #bytes: Buffer = Buffer.alloc(0)
  #wanted: (() => void) | undefined
  #failure: Error | undefined
  readonly #onData = (chunk: Buffer): void => {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    this.#wanted?.()
  }
  readonly #onError = (error: Error): void => this.#fail(error)
  readonly #onClose = (): void => this.#fail(new Error('The connection was closed.'))

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', this.#onData).on('error', this.#onError).on('end', this.#onClose)
    socket.on('close', this.#onClose)
  }

  async read(byteCount: number): Promise<Buffer> {
    while (this.#bytes.length < byteCount) await this.#more()
    return this.#take(byteCount)
  }

  /** Everything up to and including the delimiter. */
  async readThrough(delimiter: string, bytesMax: number): Promise<Buffer> {
    for (;;) {
      const found = this.#bytes.indexOf(delimiter)
      if (found !== -1) return this.#take(found + delimiter.length)
      if (this.#bytes.length > bytesMax) throw new Error(`The response is over ${bytesMax} bytes.`)
      await this.#more()
    }
  }

  /** Releases the socket; bytes after the handshake stay in it. */
  release(): void {
    this.#socket.off('data', this.#onData).off('error', this.#onError).off('end', this.#onClose)
    this.#socket.off('close', this.#onClose)
    this.#socket.pause()
    if (this.#bytes.length > 0) this.#socket.unshift(this.#bytes)
  }

  #take(byteCount: number): Buffer {
    const taken = this.#bytes.subarray(0, byteCount)
    this.#bytes = this.#bytes.subarray(byteCount)
    return taken
  }

  async #more(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    await new Promise<void>(resolve => (this.#wanted = resolve))
    this.#wanted = undefined
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#wanted?.()
  }
}
