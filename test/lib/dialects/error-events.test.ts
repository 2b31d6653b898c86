import { APIError as AnthropicError } from '@anthropic-ai/sdk'
import { Stream as AnthropicStream } from '@anthropic-ai/sdk/streaming'
import { APIError as OpenaiError } from 'openai'
import { Stream as OpenaiStream } from 'openai/streaming'
import t from 'tap'
import { anthropic } from '../../../lib/dialects/anthropic/anthropic.ts'
import { openai } from '../../../lib/dialects/openai/openai.ts'
import { GatewayError } from '../../../lib/pipeline/errors.ts'

const brokeOff = new GatewayError('upstream_failed', 'It broke off.')

function responseOf(...parts: readonly (string | Buffer)[]): Response {
  const body = Buffer.concat(parts.map(part => Buffer.from(part)))
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** The error that reading the stream raises; undefined if there is none. */
async function raisedBy(stream: AsyncIterable<unknown>): Promise<unknown> {
  try {
    for await (const _event of stream);
  } catch (error) {
    return error
  }
  return undefined
}

await t.test('the official OpenAI SDK raises on a stream that was cut', async t => {
  const chunk = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
  for (const operation of ['chat', 'completions', 'responses']) {
    const event = openai.errorEvent(brokeOff, 'x1', operation)
    const stream = OpenaiStream.fromSSEResponse(responseOf(chunk, event), new AbortController())
    const error = await raisedBy(stream)
    t.ok(error instanceof OpenaiError, operation)
    t.match(error, { message: 'It broke off.', code: 'upstream_failed', type: 'server_error' }, operation)
  }
})

await t.test('the official Anthropic SDK raises on a stream that was cut', async t => {
  const chunk = 'event: ping\ndata: {"type":"ping"}\n\n'
  const event = anthropic.errorEvent(brokeOff, 'x1')
  const stream = AnthropicStream.fromSSEResponse(responseOf(chunk, event), new AbortController())
  const error = await raisedBy(stream)
  t.ok(error instanceof AnthropicError)
  t.match(String(error), 'It broke off.')
})
