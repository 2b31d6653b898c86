import { callConfig, type DialectCall } from '../fixtures/dialect-call.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import { chunked, drained } from '../fixtures/raw-upstream.ts'
import { until, type TestGateway } from '../fixtures/test-gateway.ts'
import type { Fault, FaultContext } from './fault.ts'
import { ask, eachDialect, openai, requestBytes, sentence, streamHead } from './observe.ts'

/** An event with some text that a provider sends repeatedly. */
const textOf = (call: DialectCall): string => call.events[call.eventsUntilText - 1] as string

/** The provider responds with an endless stream, as fast as it is read. */
export function answerForever({ upstream }: FaultContext, call: DialectCall): void {
  const before = call.events.slice(0, call.eventsUntilText - 1).map(event => Buffer.from(event))
  const framed = Buffer.concat(chunked([Buffer.from(textOf(call).repeat(20))]).slice(0, 1))
  upstream.answer = async () => {
    const [socket] = upstream.openSockets
    socket?.write(Buffer.concat([streamHead, ...chunked(before).slice(0, -1)]))
    while (socket?.destroyed === false) {
      if (!socket.write(framed)) await drained(socket)
      await new Promise(resolve => setImmediate(resolve))
    }
    return { pieces: [] }
  }
}

/** Whether a body is what the provider sends, up to some point, and what follows that. */
function restOf(call: DialectCall, body: string): { readonly isEqual: boolean; readonly rest: string } {
  const opening = call.events.slice(0, call.eventsUntilText - 1).join('')
  const text = textOf(call)
  const isOpened = body.startsWith(opening)
  let at = opening.length
  while (body.startsWith(text, at)) at += text.length
  const rest = body.slice(at)
  return text.startsWith(rest) ? { isEqual: isOpened, rest: '' } : { isEqual: isOpened, rest }
}

/** How the client is informed that the money is spent. */
const spentNotices = {
  openai: /^data: \{"error":\{.*"code":"insufficient_quota".*\}\n\n$/,
  anthropic: /^event: error\ndata: \{.*"type":"billing_error".*\}\n\n$/,
  google: /^data: \{"error":\{.*"status":"FAILED_PRECONDITION".*\}\r\n\r\n$/,
}

async function askUntilCut(
  context: FaultContext,
  call: DialectCall,
  notice: RegExp,
  gateway: TestGateway = context.gateway,
): Promise<string> {
  answerForever(context, call)
  const { answer, end } = await ask(context, call, { isStreaming: true, gateway })
  const { isEqual, rest } = restOf(call, answer?.body.toString() ?? '')
  const errorText = notice.test(rest) ? 'error event' : `NO ERROR EVENT ${rest.slice(0, 200)}`
  const cut = end === 'reset' && answer?.isWhole === false ? 'cut' : 'NOT CUT'
  await until(() => context.upstream.openSockets.size === 0)
  return `${answer?.status} ${cut}, ${isEqual ? 'bytes equal so far' : 'OTHER BYTES'}, ${errorText}; ${await context.nextEnd(gateway)}; the provider is stopped`
}

/** The account has money for some thousand tokens, and the provider ignores the request's limit. */
async function spendAll(context: FaultContext, call: DialectCall): Promise<string> {
  const gateway = await context.startGateway({ config: callConfig(context.upstream.origin), rub: 5 })
  const seen = await askUntilCut(context, call, spentNotices[call.name], gateway)
  const { balanceMicros } = await gateway.balance()
  const overruns = (await gateway.charges()).map(({ amount }) => amount).join()
  const next = sentence(await ask(context, call, { gateway }), call, '')
  await context.nextEnd(gateway)
  return `${seen}; ${overruns} paid, ${balanceMicros} left; next one ${next}`
}

async function askForever(context: FaultContext): Promise<string> {
  const client = await connectRaw(context.t, context.gateway.url)
  answerForever(context, openai)
  client.socket.write(requestBytes(context, openai, { isStreaming: true }))
  await until(() => client.received().length > 500_000)
  client.socket.destroy()
  await until(() => context.upstream.openSockets.size === 0)
  const body = parseAnswers(client.received())[0]?.body.toString() ?? ''
  const { isEqual, rest } = restOf(openai, body)
  const isAll = isEqual && rest === '' && body.length > 400_000
  return `${isAll ? 'all bytes equal' : 'OTHER BYTES'}; ${await context.nextEnd()}; the provider is stopped`
}

const stopped = 'the provider is stopped'

/** Anthropic has reported a part of its usage by then. */
const cut = (rest: string): string => {
  const seen = '200 cut, bytes equal so far, error event; broken; estimated'
  return `openai, google: ${seen}${rest} / anthropic: ${seen} usage_partial${rest}`
}

export const upstreamEndless: readonly Fault[] = [
  {
    number: 25,
    title: 'an endless stream, until its client leaves',
    expected: `all bytes equal; aborted; estimated drain_limited; ${stopped}`,
    run: askForever,
  },
  {
    number: 25,
    title: 'an endless stream, until all the money of the account is spent',
    expected: cut(
      ` balance_exhausted overrun; ${stopped}; 5.000000 paid, 0 left; next one 402 in its dialect`,
    ),
    run: context => eachDialect(call => spendAll(context, call)),
  },
  {
    number: 25,
    title: 'an endless stream, until answerMs',
    expected: cut(`; ${stopped}`),
    setting: { sections: { limits: { answerMs: 300 } }, rub: 1_000_000 },
    run: context => eachDialect(call => askUntilCut(context, call, call.errorEvent)),
  },
  {
    number: 25,
    title: 'an endless stream, until answerBytesMax',
    expected: cut(`; ${stopped}`),
    setting: { sections: { limits: { answerBytesMax: '3MB' } }, rub: 1_000_000 },
    run: context => eachDialect(call => askUntilCut(context, call, call.errorEvent)),
  },
]
