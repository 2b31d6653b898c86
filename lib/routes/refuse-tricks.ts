import { headerValue } from '../http/headers.ts'
import { namesObject } from '../dialects/form-facts.ts'
import { queryParameters } from '../http/query.ts'
import { GatewayError } from '../pipeline/errors.ts'

/**
 * Parameters by which Google's servers, in whichever format they are asked, hide or reshape the usage, or take a key
 * or a payer of the client's own.
 */
const refusedParameters = new Set(['fields', 'callback', 'access_token', 'oauth_token', 'userproject'])

/**
 * Of Google's parameters that begin with `$`, those that change nothing but how an answer looks. Others stand for the
 * method, a header such as the content-type, or the body: https://cloud.google.com/apis/docs/system-parameters
 */
const forwardedOfSystem = new Set(['$alt', '$prettyprint', '$.xgafv', '$unique'])

const refusedHeaders = ['x-goog-fieldmask', 'x-http-method-override', 'x-http-method', 'x-method-override']

/**
 * What auth decides on must be what is forwarded, so nothing is left that a provider could read otherwise.
 * @param isGoogle whether Google's format is asked in, which matters to a query alone
 * @throws GatewayError request_invalid
 */
export function refuseTricks(url: string, rawHeaders: readonly string[], isGoogle: boolean): void {
  // Only printable ASCII in origin form; the fragment and backslash are read differently by different servers.
  if (!/^\/[!$-[\]-~]*$/.test(url)) {
    throw new GatewayError(
      'request_invalid',
      'The path has characters that a URL may not have, or is not a path.',
    )
  }
  const [path = ''] = url.split('?', 1)
  if (/%2f|%5c|%00|%25[0-9a-f]{2}|\/\/|\/(?:\.|%2e){1,2}(?:(?:;|%3b)[^/]*)?(?:\/|$)/i.test(path)) {
    throw new GatewayError(
      'request_invalid',
      'The path has dot segments, empty segments, encoded slashes or escapes of escapes.',
    )
  }
  if (url.includes('?')) {
    for (const { name, value } of queryParameters(url)) refuseParameter(name, value, isGoogle)
  }
  for (const name of refusedHeaders) {
    if (headerValue(rawHeaders, name) !== undefined) {
      throw new GatewayError(
        'request_invalid',
        `The header "${name}" is refused: it can hide usage or replace the key.`,
        { param: name },
      )
    }
  }
}

function refuseParameter(name: string, value: string, isGoogle: boolean): void {
  const plain = name.toLowerCase()
  // Whose an object is can be told of those in paths and bodies.
  if (namesObject(plain)) throw refusal(name, 'names an object, which queries may not')
  // Vertex' clients ask for JSON with numbers for names, in which the usage stands as ever.
  if (plain === '$alt' && !/^json(?:;enum-encoding=int)?$/.test(value)) {
    throw new GatewayError('request_invalid', 'Of "$alt" only json;enum-encoding=int is forwarded.', {
      param: '$alt',
    })
  }
  // What is downloaded in Google's own format is no JSON; its operations say which answers they can read.
  const hidesUsage = plain === 'alt' && !isGoogle && !['json', 'sse'].includes(value)
  const isOfSystem = plain.startsWith('$') && !forwardedOfSystem.has(plain)
  if (!hidesUsage && !isOfSystem && !refusedParameters.has(plain)) return
  throw refusal(name, 'can hide usage, or change what is asked for')
}

function refusal(name: string, reason: string): GatewayError {
  const shown = JSON.stringify(name.slice(0, 64))
  return new GatewayError(
    'request_invalid',
    `The query parameter ${shown} is refused: it ${reason}. Leave it out.`,
    { param: name.slice(0, 64) },
  )
}
