import t from 'tap'
import { anthropic } from '../../../lib/dialects/anthropic/anthropic.ts'
import { google } from '../../../lib/dialects/google/google.ts'
import { openai } from '../../../lib/dialects/openai/openai.ts'
import { errorTable, GatewayError } from '../../../lib/pipeline/errors.ts'
import type { ErrorCode } from '../../../lib/pipeline/errors.ts'

const codes = Object.keys(errorTable) as ErrorCode[]

await t.test('every error code has a body in each dialect', async t => {
  for (const code of codes) {
    const error = new GatewayError(code, 'It is so.')
    const row = errorTable[code]
    t.same(JSON.parse(openai.errorBody(error, 'x1')), {
      error: { message: 'It is so.', type: row.openai.type, param: null, code: row.openai.code },
    })
    t.same(JSON.parse(anthropic.errorBody(error, 'x1')), {
      type: 'error',
      error: { type: row.anthropic, message: 'It is so.' },
      request_id: 'x1',
    })
    t.match(JSON.parse(google.errorBody(error, 'x1')), {
      error: { code: row.status, message: 'It is so.', status: row.google, details: [{ reason: code }] },
    })
  }
})

await t.test('the body names the invalid member and has the details of a refusal', async t => {
  const wrong = new GatewayError('body_invalid', 'x', { param: 'messages[0].content' })
  t.equal(JSON.parse(openai.errorBody(wrong, '')).error.param, 'messages[0].content')
  t.equal(JSON.parse(anthropic.errorBody(wrong, '')).error.param, 'messages[0].content')
  const [info, badRequest] = JSON.parse(google.errorBody(wrong, '')).error.details
  t.match(info, {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    metadata: { param: 'messages[0].content' },
  })
  t.match(badRequest, { fieldViolations: [{ field: 'messages[0].content' }] })
  const poor = new GatewayError('balance_insufficient', 'x', { details: { required: '2.00', maxTokens: 40 } })
  t.match(JSON.parse(openai.errorBody(poor, '')).error, { required: '2.00', maxTokens: 40 })
  t.match(JSON.parse(anthropic.errorBody(poor, '')).error, { required: '2.00', maxTokens: 40 })
  t.same(JSON.parse(google.errorBody(poor, '')).error.details[0].metadata, {
    required: '2.00',
    maxTokens: '40',
  })
})

await t.test('the error event of a broken stream has the shape that makes SDKs raise', async t => {
  const cut = new GatewayError('upstream_failed', 'cut')
  const dataOf = (event: Buffer): unknown => JSON.parse(/^data: (.*)$/m.exec(event.toString())?.[1] ?? '')
  const chat = openai.errorEvent(cut, 'x1', 'chat')
  t.equal(chat.toString().startsWith('data: {"error":{'), true)
  t.match(dataOf(chat), { error: { message: 'cut', type: 'server_error', code: 'upstream_failed' } })
  const responses = openai.errorEvent(cut, 'x1', 'responses')
  t.equal(responses.toString().startsWith('event: error\n'), true)
  t.match(dataOf(responses), { type: 'error', message: 'cut', error: { message: 'cut' } })
  const messages = anthropic.errorEvent(cut, 'x1')
  t.equal(messages.toString().startsWith('event: error\n'), true)
  t.match(dataOf(messages), { type: 'error', error: { type: 'api_error', message: 'cut' }, request_id: 'x1' })
  const content = google.errorEvent(cut, 'x1')
  t.match(dataOf(content), { error: { code: 502, status: 'UNAVAILABLE', message: 'cut' } })
  for (const event of [chat, responses, messages, content]) t.match(event.toString(), /\r?\n\r?\n$/)
})
