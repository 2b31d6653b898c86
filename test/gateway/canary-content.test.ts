import t from 'tap'
import { GatewayError } from '../../lib/pipeline/errors.ts'
import { createLog } from '../../lib/observability/log.ts'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { headLines, plainAnswer, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { settled } from '../fixtures/exchange-ends.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

/*
 * Two more canaries, a word of the prompt and one of the response, in every kind of failed exchange. Neither may be
 * logged: libraries attach the bytes that they were parsing to their errors.
 */

const prompt = 'Xantippe-prompt'
const response = 'Quetzal-response'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
const long = response.repeat(4000)
const streamHead = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

const answers: Readonly<Record<string, RawAnswer>> = {
  'no HTTP': { pieces: [bytes(`${long}\r\n\r\n`)], then: 'end' },
  'an invalid status line': { pieces: [bytes(`HTTP/1.1 ${response}\r\n\r\n${long}`)], then: 'end' },
  'a header without a colon': {
    pieces: [bytes(`HTTP/1.1 200 OK\r\nset-cookie: session=${response}\r\n${response}\r\n\r\n${long}`)],
    then: 'end',
  },
  'two lengths': {
    pieces: [
      bytes(`HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\nx: ${response}\r\n\r\n${long}`),
    ],
  },
  'a chunk with an invalid length': { pieces: [streamHead, bytes(`zz\r\n${long}\r\n`)], then: 'end' },
  'more than its length': {
    pieces: [bytes(`HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n${long}`)],
    then: 'end',
  },
  'headers without end': {
    pieces: [bytes(`HTTP/1.1 200 OK\r\n${`x: ${response}\r\n`.repeat(5000)}`)],
    then: 'end',
  },
  'a body that is not in its encoding': plainAnswer(
    200,
    ['content-type', 'application/json', 'content-encoding', 'gzip'],
    `{"choices":[{"message":{"content":"${response}"}}]}`,
  ),
  'invalid JSON': plainAnswer(200, ['content-type', 'application/json'], `{"choices":${response}`),
  'an error of its own': plainAnswer(
    500,
    ['set-cookie', `a=${response}`],
    `{"error":{"message":"${response}"}}`,
  ),
  'a refusal of the content': plainAnswer(400, [], `{"error":{"message":"${response}"}}`),
  'a cut stream': {
    pieces: [streamHead, bytes(`ff\r\ndata: {"choices":[{"delta":{"content":"${response}`)],
    then: 'reset',
  },
  'events that are no JSON': plainAnswer(
    200,
    ['content-type', 'text/event-stream'],
    `data: ${response}\n\ndata: {"usage":"${response}"}\n\n`,
  ),
}

const bodies: Readonly<Record<string, string>> = {
  'no JSON': prompt,
  'truncated JSON': `{"model":"test-model","messages":[{"role":"user","content":"${prompt}`,
  'a field twice': `{"model":"test-model","model":"other","messages":[{"role":"user","content":"${prompt}"}]}`,
  'invalid image data': `{"model":"test-model","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${btoa(prompt)}"}}]}]}`,
  'messages of a wrong type': `{"model":"test-model","messages":"${prompt}","max_tokens":"${prompt}"}`,
}

await t.test('no failed exchange logs a part of its prompt or response', async t => {
  const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, {}, { log: { level: 'trace' } }),
  })
  let count = 0
  const ask = async (path: string, key: readonly string[], body: string): Promise<string> => {
    const client = await connectRaw(t, gateway.url)
    client.socket.write(
      `POST ${path} HTTP/1.1\r\nhost: g\r\n${key[0]}: ${key[1]}\r\ncontent-type: application/json\r\nconnection: close\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    await client.ended
    count += 1
    return client.received().toString('latin1')
  }

  for (const call of dialectCalls) {
    const key = call.keyHeader(gateway.key)
    for (const [name, answer] of Object.entries(answers)) {
      for (const isStreamed of [false, true]) {
        upstream.answer = () => answer
        const body = call.body(isStreamed).replace(/^\{/, `{"metadata":{"note":"${prompt}"},`)
        const received = await ask(call.path(isStreamed), key, body)
        t.ok(received.length > 0, `${call.name}: ${name}`)
      }
    }
    upstream.answer = () => plainAnswer(200, [], call.document)
    for (const [name, body] of Object.entries(bodies))
      t.match(await ask(call.path(false), key, body), /^HTTP\/1.1 \d/, `${call.name}: ${name}`)
  }
  await settled(gateway, count)

  const log = gateway.logLines.join('')
  t.match(
    Buffer.concat(upstream.received).toString('latin1'),
    prompt,
    'the search finds a canary that is there',
  )
  t.match(log, /HTTPParserError/, 'the errors of the library are logged')
  t.notOk(log.includes(prompt), 'nothing of the prompt')
  t.notOk(log.includes(response), 'nothing of the response')
  for (const canary of [prompt, response]) {
    t.notOk(log.includes(btoa(canary).slice(0, -3)), 'nor in base64')
    t.notOk(log.includes([...Buffer.from(canary.slice(0, 8))].join(',')), 'nor as the numbers of its bytes')
  }
})

await t.test('of an error only listed fields are logged, not data that a library attaches', t => {
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: (line: string) => lines.push(line) } })
  const secret = 'Xantippe'
  const errors: readonly Error[] = [
    Object.assign(new Error('Response does not match'), { data: secret, code: 'HPE_INVALID' }),
    Object.assign(new Error('duplicate key'), {
      severity: 'ERROR',
      detail: `Key (x)=(${secret})`,
      where: secret,
    }),
    Object.assign(new Error(`invalid input syntax for type json: "${secret}"`), {
      severity: 'ERROR',
      code: '22P02',
    }),
    Object.assign(new Error(`Message failed: 554 ${secret}`), {
      responseCode: 554,
      response: secret,
      command: 'DATA',
    }),
    Object.assign(new Error('with bytes'), {
      rawPacket: Buffer.from(secret),
      body: [secret],
      nested: { secret },
    }),
    new GatewayError('upstream_failed', 'It failed.', {
      cause: Object.assign(new Error('inner'), { data: secret }),
    }),
    new AggregateError([Object.assign(new Error('one'), { data: secret })], 'many'),
    parseError(`{"a": ${secret}}`),
    parseError(`${secret} and "${secret}"`),
    parseError(`"${secret}`),
  ]

  for (const error of errors) {
    log.error({ error }, 'failed')
    log.error({ facts: { deep: [error, { error }] } }, 'deep')
    log.child({ error }).info('child')
    log.error(error, 'alone')
  }
  log.error({ bytes: Buffer.from(secret), list: new Uint8Array(Buffer.from(secret)) }, 'bytes')

  const written = lines.join('')
  t.notOk(written.includes(secret))
  t.notOk(written.includes([...Buffer.from(secret)].join(',')))
  t.match(JSON.parse(lines[0] ?? ''), {
    error: { type: 'Error', message: 'Response does not match', code: 'HPE_INVALID', stack: /^ {4}at / },
  })
  t.match(written, /the mail server answered 554/)
  t.match(written, /"cause":\{"type":"Error","message":"inner"/)
  t.match(written, /"errors":\[\{"type":"Error","message":"one"/)
  t.end()
})

function parseError(text: string): Error {
  try {
    JSON.parse(text)
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('it is JSON')
}
