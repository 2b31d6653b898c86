import t from 'tap'
import { checkNoTrace, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { ask, checkError, dialectNames, type FailingRequest } from '../fixtures/sdk-errors.ts'
import type { DialectName } from '../../lib/dialects/dialect.ts'
import type { ErrorCode } from '../../lib/pipeline/errors.ts'

const gateway = await startCountingGateway(t, { sections: { limits: { bodyBytesMax: '1MB' } } })

interface Case {
  readonly when: string
  readonly request: FailingRequest | ((dialect: DialectName) => FailingRequest)
  readonly code: ErrorCode
  readonly message: RegExp
  readonly param?: string
  readonly only?: readonly DialectName[]
}

const form = (...fields: readonly string[]): FailingRequest => ({
  path: '/v1/audio/transcriptions',
  headers: { 'content-type': 'multipart/form-data; boundary=edge' },
  body: `${fields.map(field => `--edge\r\ncontent-disposition: form-data; ${field}\r\n`).join('')}--edge--\r\n`,
})
const audio = 'name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\nRIFF....WAVE'
const big = `{"model":"some-model","messages":[{"role":"user","content":"${'x'.repeat(3_000_000)}"}]}`

const cases: readonly Case[] = [
  {
    when: 'no model',
    request: { body: '{"messages":[{"role":"user","content":"Hi"}],"max_tokens":5}' },
    code: 'body_invalid',
    message: /names no model/,
    param: 'model',
    only: ['openai', 'anthropic'],
  },
  {
    when: 'a model that is not a string',
    request: { body: '{"model":{"name":"some-model"},"messages":[]}' },
    code: 'body_invalid',
    message: /model must be a string, not an object/,
    param: 'model',
    only: ['openai', 'anthropic'],
  },
  {
    when: 'an unknown model',
    request: { model: 'gpt-99' },
    code: 'model_not_found',
    message: /The model "gpt-99" does not exist here; GET .v1.models lists/,
    param: 'model',
  },
  {
    when: 'a model without a price',
    request: { model: 'unpriced-model' },
    code: 'model_not_found',
    message: /The model "unpriced-model" has no price/,
    param: 'model',
  },
  {
    when: 'a body that is no JSON',
    request: { body: 'Hello' },
    code: 'body_invalid',
    message: /not valid JSON: .H. was found/,
  },
  { when: 'no body', request: { body: '' }, code: 'body_invalid', message: /body is empty/ },
  {
    when: 'a truncated body',
    request: { body: '{"model":"some-model","messages":[{"role":"us' },
    code: 'body_invalid',
    message: /ends after 45 bytes.* too early/,
  },
  {
    when: 'a body 10,000 levels deep',
    request: { body: `{"model":"some-model","messages":${'['.repeat(10_000)}${']'.repeat(10_000)}}` },
    code: 'body_invalid',
    message: /deeper than 512 levels/,
  },
  {
    when: 'a body that is too large',
    request: { body: big },
    code: 'body_too_large',
    message: /30000\d\d bytes or more, and at most 1048576 are accepted/,
  },
  {
    when: 'a damaged compressed body',
    request: { body: 'not gzip', headers: { 'content-encoding': 'gzip' } },
    code: 'body_invalid',
    message: /not valid gzip/,
  },
  {
    when: 'an unknown encoding',
    request: { headers: { 'content-encoding': 'lzma' } },
    code: 'request_invalid',
    message: /"lzma" is not known/,
    param: 'content-encoding',
  },
  {
    when: 'two models, one under an escaped name',
    request: { body: '{"model":"some-model","max_tokens":5,"messages":[],"mod\\u0065l":"other-model"}' },
    code: 'field_ambiguous',
    message: /model/,
    param: 'model',
    only: ['openai', 'anthropic'],
  },
  {
    when: 'one limit in two spellings',
    request: { body: '{"contents":[],"generationConfig":{"maxOutputTokens":5,"max_output_tokens":5000}}' },
    code: 'field_ambiguous',
    message: /maxOutputTokens|max_output_tokens/,
    only: ['google'],
  },
  {
    when: 'a negative limit',
    request: dialect => ({ fields: dialect === 'google' ? { maxOutputTokens: -5 } : { max_tokens: -5 } }),
    code: 'body_invalid',
    message: /(max_tokens|maxOutputTokens) must be a whole number of at least 0, not -5/,
  },
  {
    when: "a tier's number in place of its name, as Google's servers accept it",
    request: dialect => ({ fields: dialect === 'google' ? { serviceTier: 3 } : { service_tier: 3 } }),
    code: 'body_invalid',
    message: /(service_tier|serviceTier) must be a string, not 3/,
  },
  {
    when: 'a response that is returned only once, later',
    request: { fields: { deferred: true } },
    code: 'not_supported',
    message: /Deferred completions are returned only once/,
    param: 'deferred',
    only: ['openai'],
  },
  {
    when: 'a speed in a list',
    request: { fields: { speed: ['fast'] } },
    code: 'body_invalid',
    message: /speed must be a string, not an array/,
    only: ['anthropic'],
  },
  {
    when: 'a form with two models',
    request: form(audio, 'name="model"\r\n\r\nsome-model', 'name="model"\r\n\r\nother-model'),
    code: 'field_ambiguous',
    message: /field model twice/,
    param: 'model',
    only: ['openai'],
  },
  {
    when: 'a form with a second model under a split and encoded name',
    request: form(
      audio,
      'name="model"\r\n\r\nsome-model',
      'name="a"; name*0="mo"; name*1="del"\r\n\r\nother-model',
    ),
    code: 'body_invalid',
    message: /an encoded name/,
    only: ['openai'],
  },
  {
    when: 'a form with a model and a list of models',
    request: form(audio, 'name="model"\r\n\r\nsome-model', 'name="model[]"\r\n\r\nother-model'),
    code: 'field_ambiguous',
    message: /field model twice/,
    param: 'model',
    only: ['openai'],
  },
  {
    when: 'a form without a model',
    request: form(audio),
    code: 'body_invalid',
    message: /names no model/,
    param: 'model',
    only: ['openai'],
  },
  {
    when: 'a form without a boundary',
    request: { ...form(audio), headers: { 'content-type': 'multipart/form-data' } },
    code: 'body_invalid',
    message: /boundary/,
    only: ['openai'],
  },
  {
    when: 'the wrong method',
    request: { method: 'GET' },
    code: 'method_not_allowed',
    message: /GET is not allowed on .*; use POST/,
  },
  {
    when: 'a version in the base URL and in the path',
    request: { path: '/v1/v1/messages' },
    code: 'route_not_found',
    message:
      /no route \/v1\/v1\/messages here\. The path has two versions: take \/v1 away from the end of the base URL\.$/,
    only: ['anthropic'],
  },
  {
    when: 'an unknown path',
    request: dialect => ({
      path: { openai: '/v1/chat/complete', anthropic: '/v1/messages/all', google: '/v1beta/nothing' }[
        dialect
      ],
    }),
    code: 'route_not_found',
    message: /chat\/complete|messages\/all|nothing/,
  },
  {
    when: 'the path of an unknown provider',
    request: { path: '/nobody/v1/chat/completions' },
    code: 'route_not_found',
    message: /nothing at \/nobody\/v1\/chat\/completions/,
    only: ['openai'],
  },
  {
    when: 'a path with hidden dot segments',
    request: dialect => ({ path: `${dialect === 'google' ? '/v1beta' : '/v1/messages'}/..%2fmodels` }),
    code: 'request_invalid',
    message: /dot segments|encoded slashes/,
    only: ['anthropic', 'google'],
  },
]

for (const { when, request, code, message, param, only = dialectNames } of cases) {
  for (const dialect of only) {
    await t.test(`${dialect}: ${when} is refused with ${code}`, async t => {
      await checkNoTrace(t, gateway, dialect, async () => {
        const error = await ask(dialect, gateway, typeof request === 'function' ? request(dialect) : request)
        checkError(t, dialect, error, code, message, param)
      })
    })
  }
}
