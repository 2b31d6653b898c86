import type { DialectName } from '../dialects/dialect.ts'
import type { ChosenProvider } from '../models/choose-provider.ts'
import { chooseEgress } from './choose-egress.ts'
import { isJudged, judgeRefusal } from './judge-refusal.ts'
import { upstreamHeaders } from './upstream-headers.ts'
import type { Upstreams } from './upstreams.ts'

/** A question of the gateway's own, with no client behind it. */
interface Question {
  readonly chosen: ChosenProvider
  readonly dialectName: DialectName
  /** Below the base URL. */
  readonly path: string
  /** Ends the question when the gateway stops or has waited too long. */
  readonly signal: AbortSignal
}

interface QuestionedHead {
  readonly status: number
  /** Lower-case, without parameters; empty when absent. */
  readonly contentType: string
  /** As the provider wrote it, though it was asked for none; empty when absent. */
  readonly contentEncoding: string
}

/** What takes the answer to a question. */
interface AnswerTaker {
  /** Answers whether the body is wanted. */
  onHead(head: QuestionedHead): boolean
  onData(chunk: Buffer): void | Promise<void>
}

/** Results of batches are large; what is larger still is nobody's. */
const answerBytesMax = 4 * 1024 ** 3
const redirectsMax = 2
const refusalBytesMax = 65_536

/**
 * Asks a provider something over the same ways out and with the same credential as exchanges use. The answer
 * is taken as it comes, and never kept.
 * @throws Error when there is no way there, or the answer is cut or too long
 */
export async function askProvider(
  upstreams: Upstreams,
  question: Question,
  taker: AnswerTaker,
): Promise<void> {
  const { baseUrl } = question.chosen
  let path = baseUrl.pathname.replace(/\/$/, '') + question.path
  for (let redirects = 0; ; redirects += 1) {
    const { statusCode, headers, body } = await get(upstreams, question, path)
    const location = headers['location']
    if (statusCode >= 300 && statusCode < 400 && typeof location === 'string' && redirects < redirectsMax) {
      await body.dump()
      const next = new URL(location, new URL(path, baseUrl))
      // The credential goes to nobody but its provider.
      if (next.origin !== baseUrl.origin) throw new Error(`redirected to another host: ${next.origin}`)
      path = next.pathname + next.search
      continue
    }
    const contentType = textOf(headers['content-type']).split(';', 1)[0]?.trim().toLowerCase() ?? ''
    const contentEncoding = textOf(headers['content-encoding'])
    if (!taker.onHead({ status: statusCode, contentType, contentEncoding })) {
      if (isJudged(statusCode)) learn(upstreams, question, statusCode, await beginning(body))
      else await body.dump()
      return
    }
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > answerBytesMax) throw new Error('the answer is too long')
      await taker.onData(chunk)
    }
    return
  }
}

/** As much of a refusal as is looked at. */
async function beginning(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length > refusalBytesMax) break
  }
  return Buffer.concat(chunks)
}

/** What a refusal says of the credential holds for everybody's requests. */
function learn(upstreams: Upstreams, { chosen }: Question, status: number, body: Buffer): void {
  const { provider, credential } = chosen
  const verdict = judgeRefusal(provider.kind, { status, headers: [], contentLength: undefined }, body)
  if (verdict.about !== 'credential') return
  const state = upstreams.of(provider).named(credential.name)
  if (state !== undefined) upstreams.suspend(provider, state, { reason: verdict.code })
}

function get(upstreams: Upstreams, { chosen, dialectName, signal }: Question, path: string) {
  const { provider, credential, baseUrl } = chosen
  const state = upstreams.of(provider)
  const credentialState = state.named(credential.name)
  const route = chooseEgress(state.routesTo(baseUrl), undefined, upstreams.now())
  if (credentialState === undefined || route === undefined) {
    throw new Error(`there is no way to ${provider.name} with the credential ${credential.name}`)
  }
  const headers = upstreamHeaders(['accept', '*/*', 'accept-encoding', 'identity'], {
    provider,
    credential,
    dialectName,
    isUsageInjected: false,
    isBodyDecoded: false,
    body: undefined,
  })
  return state.pool(credentialState, route, baseUrl.origin).request({ method: 'GET', path, headers, signal })
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : (header?.[0] ?? '')
}
