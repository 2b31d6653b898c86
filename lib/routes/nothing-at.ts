import { GatewayError } from '../pipeline/errors.ts'
import { shownPath } from './shown-path.ts'

/** How the paths of each format begin below its base, by what a base URL must then end in. */
const belowBase: readonly (readonly [end: string, paths: RegExp])[] = [
  ['/v1beta', /^\/(?:models\/[^/]+:[a-zA-Z]+|cachedContents|fileSearchStores|interactions)(?:[/?]|$)/],
  [
    '/v1',
    /^\/(?:chat\/completions|completions|responses|messages|embeddings|models|images|audio|files|batches|moderations|realtime|videos|uploads|rerank)(?:[/?]|$)/,
  ],
]

/** The error of a path that no route begins like. A base URL that lacks its version, or has it twice, is named. */
export function nothingAt(target: string): GatewayError {
  const path = shownPath(target.split('?', 1)[0] ?? '')
  return new GatewayError('route_not_found', `There is nothing at ${path}. ${whatToDo(target)}`)
}

function whatToDo(target: string): string {
  const missing = belowBase.find(([, paths]) => paths.test(target))?.[0]
  if (missing !== undefined) return `The base URL lacks ${missing}: end it in ${missing}.`
  return 'Use /v1 (OpenAI, Anthropic), /v1beta (Google) or /<provider>/v1.'
}

/** The same of a path below `/v1` or `/v1beta` that says the version once more. */
export function twiceVersioned(target: string): string | undefined {
  const version = /^\/(?:v1|v1beta)\/(v1|v1beta)\//.exec(target)?.[1]
  return version === undefined
    ? undefined
    : `The path has two versions: take /${version} away from the end of the base URL.`
}
