import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { z } from 'zod'

const unitBytes: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1024,
  MB: 1024 ** 2,
  GB: 1024 ** 3,
  TB: 1024 ** 4,
}
const sizePattern = /^(\d+(?:\.\d+)?)\s*([KMGT]?B)?$/i

function sizeBytes(text: string): number {
  const [, number = '', unit = 'B'] = sizePattern.exec(text) ?? []
  return Math.round(Number(number) * (unitBytes[unit.toUpperCase()] ?? 1))
}

const sizeError = 'must be a size such as 5MB, or a number of bytes, at least 1'
const sizeText = z
  .string()
  .regex(sizePattern, sizeError)
  .transform(sizeBytes)
  .refine(value => value >= 1 && Number.isSafeInteger(value), sizeError)

/** A number of bytes: `1048576`, `"5MB"`, `"1.5 GB"`. 1 MB is 1,048,576 bytes. */
export const bytes = z
  .union([z.int(sizeError).min(1, sizeError), sizeText], { error: sizeError })
  .meta({ description: 'Bytes: a number, or a size such as 5MB (1 MB is 1,048,576 bytes).' })

/** A whole number, also as text, so that it may come from a variable: `port: "${PORT}"`. */
export function integer(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  const text = z
    .string()
    .regex(/^\d{1,15}$/, error)
    .transform(Number)
    .refine(value => value >= min && value <= max, error)
  return z.union([z.int(error).min(min, error).max(max, error), text], { error })
}

/** A positive number of milliseconds, at most what Node's timers can hold. */
export const milliseconds = integer(1, 2_147_483_647)

/** An exact decimal that is not negative, as text: a YAML number is a float and would lose digits. */
export const decimal = z
  .string({ error: 'must be a decimal in quotes, such as "0.15": numbers without quotes are floats' })
  .regex(/^\d{1,9}(\.\d{1,9})?$/, {
    error: 'must be a decimal of at most 9 digits before and after the point, not negative',
  })

/** An amount of roubles as text, to the micro-rouble. */
export const roubles = z
  .string({ error: 'must be roubles in quotes, such as "3.50"' })
  .regex(/^\d{1,9}(\.\d{1,6})?$/, { error: 'must be roubles with at most 6 decimals, such as "3.50"' })

/** A factor as text, at most 100: its product with an account's lifetime payments is still an exact integer. */
export const riskFactor = z
  .string({ error: 'must be a factor in quotes, such as "1.0"' })
  .regex(/^(?:100(?:\.0{1,6})?|\d{1,2}(?:\.\d{1,6})?)$/, {
    error: 'must be a factor from "0" to "100" with at most 6 decimals, such as "1.0"',
  })

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Whether a URL points to this machine. */
export function isLoopback(url: URL): boolean {
  return loopback.test(url.hostname)
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

/**
 * An https address, or an http address on this machine.
 * @param without the URL parts that must be empty, and their name in the message
 */
export function safeUrl(
  example: string,
  without: readonly ('username' | 'password' | 'search' | 'hash')[],
  called: string,
) {
  return z.string().superRefine((text, context) => {
    const url = parseUrl(text)
    if (url === undefined || !/^https?:$/.test(url.protocol))
      context.addIssue(`must be a URL such as ${example}`)
    else if (url.protocol === 'http:' && !isLoopback(url))
      context.addIssue('must be https: plain http is for loopback addresses only')
    else if (without.some(part => url[part] !== '')) context.addIssue(`must not hold ${called}`)
  })
}

/** A base URL for requests: https, or http on this machine, without user, query and fragment. */
export const baseUrl = safeUrl(
  'https://api.openai.com/v1',
  ['username', 'password', 'search', 'hash'],
  'a user, a query or a fragment',
).transform(text => new URL(text.replace(/\/+$/, '')))

/** The gateway's own address as clients see it. */
export const publicUrl = z
  .string()
  .refine(
    text => /^https?:$/.test(parseUrl(text)?.protocol ?? ''),
    'must be a URL such as https://gateway.example.org',
  )
  .transform(text => new URL(text))

/** A proxy, reached by HTTP CONNECT or SOCKS5. The URL may contain a password and is never shown. */
export const egressUrl = z
  .string()
  .refine(
    isProxyAddress,
    'must be a proxy such as http://user:password@203.0.113.7:3128, https://... or socks5://..., with %40 for @, %2F for /, %23 for #, %3F for ? and %25 for % in the password',
  )
  .transform(text => {
    const url = new URL(text)
    // The URL class does this only for http: and https:.
    url.hostname = asciiName(url.hostname)
    return url
  })

function isProxyAddress(text: string): boolean {
  const url = parseUrl(text)
  return (
    url !== undefined &&
    /^(?:https?|socks5h?):$/.test(url.protocol) &&
    url.hostname !== '' &&
    /^\/?$/.test(url.pathname) &&
    url.search === '' &&
    url.hash === '' &&
    [url.username, url.password, url.hostname].every(isDecodable) &&
    asciiName(url.hostname) !== '' &&
    // RFC 7617: the user name ends at the first colon.
    (url.protocol.startsWith('socks5') || !decodeURIComponent(url.username).includes(':'))
  )
}

/** A name in its DNS form; empty when it is invalid. */
function asciiName(hostname: string): string {
  return domainToASCII(decodeURIComponent(hostname))
}

/** A percent sign in a password must be written as %25. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch (error) {
    if (error instanceof URIError) return false
    throw error
  }
}

/** Whether a text is an address or a network: `10.0.0.0/8`, `::1`. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

/** A DNS server: its IP address, with a port where that is not 53. */
export const dnsServer = z
  .string()
  .refine(isDnsServer, 'must be an IP address, or one with a port: 10.0.0.2:53')

function isDnsServer(text: string): boolean {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const address = bracketed ?? plain
  if (address === undefined) return isIP(text) !== 0
  return isIP(address) !== 0 && (port === undefined || (Number(port) > 0 && Number(port) < 65_536))
}

/** An IP address, or a network by its prefix length. */
export const addressRange = z
  .string()
  .refine(isAddressRange, 'must be an IP address or a network such as 10.0.0.0/8')

/** A web origin, or `*` for every one. */
export const origin = z
  .string()
  .refine(
    text =>
      text === '*' || (/^https?:$/.test(parseUrl(text)?.protocol ?? '') && parseUrl(text)?.origin === text),
    'must be an origin such as https://app.example.org, without a path, or "*"',
  )

/** An address and port to listen on. */
export const listen = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: integer(0, 65_535),
})

const mailUrlError = 'must be a mail server such as smtps://user:password@mail.example.org'

/** A mail server, and the sender of emails. The URL may contain a password and is never shown. */
export const mailServer = z.strictObject({
  url: z
    .string()
    .refine(text => /^smtps?:$/.test(parseUrl(text)?.protocol ?? ''), mailUrlError)
    .transform(text => new URL(text)),
  from: z.string().min(3),
})

/** Pages that other machines can reach need a URL of their own, and it must not be plain http. */
export function checkPagesUrl(
  {
    listen: { host },
    publicUrl: url,
  }: { readonly listen: { readonly host: string }; readonly publicUrl?: URL | undefined },
  context: z.core.$RefinementCtx,
  unlessSaid: string,
): void {
  if (url?.protocol === 'http:' && !isLoopback(url)) {
    context.addIssue({
      code: 'custom',
      path: ['publicUrl'],
      message: 'must be https: over plain http the cookies can be read on the network',
    })
  }
  if (url === undefined && !/^(localhost|127\..*|::1)$/.test(host)) {
    context.addIssue({
      code: 'custom',
      path: ['publicUrl'],
      message: `is needed when other machines can reach the pages: ${unlessSaid}`,
    })
  }
}
