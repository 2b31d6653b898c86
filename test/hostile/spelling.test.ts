import t from 'tap'
import { messages } from '../../lib/dialects/anthropic/messages.ts'
import type { Operation } from '../../lib/dialects/dialect.ts'
import { generateContent } from '../../lib/dialects/google/generate-content.ts'
import { predict, predictLongRunning } from '../../lib/dialects/google/predict.ts'
import { chat } from '../../lib/dialects/openai/chat.ts'
import { imageEdits, imageGenerations } from '../../lib/dialects/openai/images.ts'
import { responsesConnection } from '../../lib/dialects/openai/responses-connection.ts'
import { responses } from '../../lib/dialects/openai/responses.ts'
import { openaiVideoRows } from '../../lib/dialects/openai/videos.ts'
import { xaiVideoRows } from '../../lib/dialects/openai/xai-videos.ts'
import { scanMultipart } from '../fixtures/scan-multipart.ts'
import { factsOf } from '../lib/dialects/read-response.ts'

// Members whose value makes a request less expensive, in a spelling that the provider ignores: it then uses its
// default, which costs more. So a member that decides a price is spelled as documented, or the request is refused.

const [createVideo] = openaiVideoRows.map(({ operation }) => operation)
const xaiVideo = xaiVideoRows.find(({ path }) => path === '/videos/generations')?.operation
const turn = responsesConnection.turns?.turn
if (createVideo === undefined || xaiVideo === undefined || turn === undefined) throw new Error('no operation')

const create = { type: 'response.create', model: 'm', input: 'Hi' }
const rows: readonly (readonly [
  name: string,
  operation: Operation,
  body: object,
  member: string,
  value: unknown,
])[] = [
  ['a chat', chat, { model: 'm', messages: [] }, 'service_tier', 'flex'],
  ['a response', responses, { model: 'm', input: 'Hi' }, 'service_tier', 'flex'],
  ['a response', responses, { model: 'm', input: 'Hi' }, 'background', true],
  ['a response', responses, { model: 'm', input: 'Hi' }, 'store', false],
  ['a turn of a connection', turn, create, 'generate', false],
  ['a turn of a connection', turn, create, 'service_tier', 'flex'],
  ['a message', messages, { model: 'm', messages: [] }, 'service_tier', 'batch'],
  ['a message', messages, { model: 'm', messages: [] }, 'speed', 'fast'],
  ['an image', imageGenerations, { model: 'm', prompt: 'a sea' }, 'size', '256x256'],
  ['an image', imageGenerations, { model: 'm', prompt: 'a sea' }, 'quality', 'low'],
  ['an image', imageGenerations, { model: 'm', prompt: 'a sea' }, 'resolution', '1k'],
  ['an image', imageGenerations, { model: 'm', prompt: 'a sea' }, 'n', 1],
  ['a video', createVideo, { model: 'm', prompt: 'a sea' }, 'seconds', '1'],
  ['a video', createVideo, { model: 'm', prompt: 'a sea' }, 'size', '1x1'],
  ["xAI's video", xaiVideo, { model: 'm', prompt: 'a sea' }, 'duration', 1],
  ["xAI's video", xaiVideo, { model: 'm', prompt: 'a sea' }, 'resolution', '1p'],
]

/** Other spellings of a name that the gateway finds, and that no provider documents. */
const spellings = [
  (name: string) => name.toUpperCase(),
  (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1),
]

for (const [name, operation, body, member, value] of rows) {
  t.test(`${name}: ${member} is spelled as documented, or the request is refused`, t => {
    t.doesNotThrow(() => factsOf(operation, { ...body, [member]: value }))
    for (const spelled of spellings.map(spelling => spelling(member))) {
      t.throws(() => factsOf(operation, { ...body, [spelled]: value }), { code: 'body_invalid' }, spelled)
    }
    t.end()
  })
}

/** Members that decide a price, inside a member that the gateway finds, and that no provider documents. */
const parents: readonly (readonly [Operation, object, object])[] = [
  [predict, { parameters: { sampleCount: 1 } }, { Parameters: { sampleCount: 1 } }],
  [predict, { parameters: { sampleImageSize: '1K' } }, { PARAMETERS: { sampleImageSize: '1K' } }],
  [generateContent, { generationConfig: { candidateCount: 2 } }, { GenerationConfig: { candidateCount: 2 } }],
  [
    generateContent,
    { generation_config: { candidate_count: 2 } },
    { Generation_config: { candidate_count: 2 } },
  ],
  [predictLongRunning, { parameters: { durationSeconds: 4 } }, { Parameters: { durationSeconds: 4 } }],
  [predictLongRunning, { parameters: { resolution: '720p' } }, { parameterS: { resolution: '720p' } }],
]
for (const [operation, spelled, misspelled] of parents) {
  t.test(`${operation.name}: ${Object.keys(misspelled).join()} is spelled as documented, or refused`, t => {
    t.doesNotThrow(() => factsOf(operation, spelled, true))
    t.throws(() => factsOf(operation, misspelled, true), { code: 'body_invalid' })
    t.end()
  })
}

const form = (operation: Operation, name: string, value: string): unknown => {
  const parts = [
    ['model', 'm'],
    [name, value],
  ].map(([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
  const body = Buffer.from(`${parts.join('')}--b--\r\n`)
  return operation.factsFromMultipart?.(scanMultipart(body, 'b'), body)
}
for (const [operation, member, value] of [
  [imageEdits, 'size', '256x256'],
  [imageEdits, 'quality', 'low'],
  [imageEdits, 'n', '1'],
  [createVideo, 'seconds', '1'],
  [createVideo, 'size', '1x1'],
] as const) {
  t.test(`a form of ${operation.name}: ${member} is spelled as documented, or the request is refused`, t => {
    t.doesNotThrow(() => form(operation, member, value))
    for (const spelled of spellings.map(spelling => spelling(member))) {
      t.throws(() => form(operation, spelled, value), { code: 'body_invalid' }, spelled)
    }
    t.end()
  })
}
