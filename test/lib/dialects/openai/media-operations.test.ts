import t from 'tap'
import { embeddings } from '../../../../lib/dialects/openai/embeddings.ts'
import { imageEdits, imageGenerations } from '../../../../lib/dialects/openai/images.ts'
import { rerank } from '../../../../lib/dialects/openai/rerank.ts'
import { speech } from '../../../../lib/dialects/openai/speech.ts'
import { transcriptions, translations } from '../../../../lib/dialects/openai/transcriptions.ts'
import type { Operation, RequestFacts } from '../../../../lib/dialects/dialect.ts'
import { scanMultipart } from '../../../fixtures/scan-multipart.ts'
import { eventStream, factsOf, readResponse } from '../read-response.ts'

type Field = readonly [name: string, value: string, filename?: string]

function formFacts(
  operation: Operation,
  fields: readonly Field[],
): { facts: RequestFacts | undefined; body: Buffer } {
  const parts = fields.map(([name, value, filename]) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    return `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  const body = Buffer.from(`${parts.join('')}--b--\r\n`, 'latin1')
  return { facts: operation.factsFromMultipart?.(scanMultipart(body, 'b'), body), body }
}

await t.test('images with a usage are charged by tokens', async t => {
  const usage = {
    input_tokens: 221,
    input_tokens_details: { image_tokens: 194, text_tokens: 27 },
    output_tokens: 415,
    output_tokens_details: { image_tokens: 272, text_tokens: 143 },
    total_tokens: 636,
  }
  const expected = [{ meters: { imageInput: 194, input: 27, imageOutput: 272, output: 143 } }]
  t.same(readResponse(imageGenerations, { data: [{ b64_json: 'AAAA' }], usage }).lines, expected)
  const stream = eventStream(
    { type: 'image_generation.partial_image', b64_json: 'AAAA' },
    { type: 'image_generation.completed', b64_json: 'AAAA', usage },
  )
  const reading = readResponse(imageGenerations, stream, { contentType: 'text/event-stream' })
  t.same(reading.lines, expected)
  t.match(reading, { isTerminal: true, hasOutput: true })
})

await t.test('output tokens without details count as image tokens', async t => {
  const usage = { input_tokens: 5, output_tokens: 9, total_tokens: 14 }
  t.same(readResponse(imageGenerations, { data: [{}], usage }).lines, [
    { meters: { input: 5, output: 0, imageOutput: 9 } },
  ])
})

await t.test('images without a usage are counted in the response', async t => {
  const facts = factsOf(imageGenerations, { model: 'm', n: 4, size: '1024x1024', quality: 'high' })
  t.same(facts.units, { images: 4 })
  t.equal(facts.candidates, 4, 'each has its own tokens')
  t.equal(facts.unitsVariant, '1024x1024/high')
  const reading = readResponse(
    imageGenerations,
    { data: [{ url: 'a' }, { url: 'b' }, { url: 'c' }] },
    { facts },
  )
  t.same(reading.lines, [{ meters: { images: 3 }, variant: '1024x1024/high' }])
  t.same(readResponse(imageGenerations, { data: [] }, { facts }).lines, [])
  t.same(factsOf(imageGenerations, { model: 'm', size: 'auto' }).units, { images: 1 })
  t.equal(factsOf(imageGenerations, { model: 'm', size: 'auto' }).unitsVariant, undefined)
})

await t.test('a large image in an event is read without parsing it', async t => {
  const usage = {
    input_tokens: 1,
    output_tokens: 2,
    total_tokens: 3,
    output_tokens_details: { image_tokens: 2 },
  }
  const event = { type: 'image_generation.completed', b64_json: 'A'.repeat(3_000_000), usage }
  const reading = readResponse(imageGenerations, eventStream(event), { contentType: 'text/event-stream' })
  t.same(reading.lines, [{ meters: { input: 1, imageOutput: 2, output: 0 } }])
  t.equal(reading.raw, JSON.stringify(usage))
})

await t.test('facts of a form come from its fields and files', async t => {
  const { facts, body } = formFacts(imageEdits, [
    ['model', 'gpt-image'],
    ['n', '2'],
    ['size', '512x512'],
    ['stream', 'true'],
    ['image[]', '\x89PNG\r\n\x1a\n....', 'a.png'],
  ])
  t.match(facts, {
    model: 'gpt-image',
    isStreaming: true,
    units: { images: 2 },
    candidates: 2,
    unitsVariant: '512x512',
  })
  t.equal(body.toString('latin1', facts?.modelSpan?.start, facts?.modelSpan?.end), 'gpt-image')
  t.match(facts?.media, [{ path: 'image[]', kind: 'image', detectedType: 'image/png', bytes: 12 }])
  t.equal(facts?.textBytes, body.length - 12)
})

await t.test('a repeated form field is refused', async t => {
  for (const other of ['model', 'Model']) {
    const fields: readonly Field[] = [
      ['model', 'cheap'],
      [other, 'dear'],
    ]
    t.throws(() => formFacts(imageEdits, fields), { code: 'field_ambiguous', param: 'model' })
  }
  t.throws(() => formFacts(imageEdits, [['n', 'many']]), { code: 'body_invalid', param: 'n' })
})

await t.test(
  'speech is measured by the characters of the input, and by tokens where they are reported',
  async t => {
    const facts = factsOf(speech, { model: 'tts', input: 'Привет 🙂', voice: 'x' })
    t.same(facts.units, { characters: 8 })
    const audio = readResponse(speech, '\xff\xfb\x90', { contentType: 'audio/mpeg', facts })
    t.match(audio, { lines: [{ meters: { characters: 8 } }], hasOutput: true })
    const usage = { input_tokens: 3, output_tokens: 30, total_tokens: 33 }
    const stream = eventStream(
      { type: 'speech.audio.delta', audio: 'AAAA' },
      { type: 'speech.audio.done', usage },
    )
    const streamed = readResponse(speech, stream, { contentType: 'text/event-stream', facts })
    const meters = { characters: 8, input: 3, audioOutput: 30 }
    t.match(streamed, { isTerminal: true, lines: [{ meters }] })
    t.same(readResponse(speech, '', { contentType: 'audio/mpeg', facts }).lines, [])
  },
)

await t.test('transcriptions are measured by tokens or by seconds', async t => {
  const tokens = {
    type: 'tokens',
    input_tokens: 26,
    input_token_details: { text_tokens: 5, audio_tokens: 21 },
    output_tokens: 5,
    total_tokens: 31,
  }
  t.same(readResponse(transcriptions, { text: 'abc', usage: tokens }).lines, [
    { meters: { audioInput: 21, input: 5, output: 5 } },
  ])
  t.same(readResponse(transcriptions, { text: 'abc', usage: { type: 'duration', seconds: 4 } }).lines, [
    { meters: { audioSeconds: 4 } },
  ])
  t.same(readResponse(transcriptions, { text: 'abc', duration: 3.5 }).lines, [
    { meters: { audioSeconds: 3.5 } },
  ])
  t.same(readResponse(translations, { text: 'abc', duration: '3.5' }).lines, [
    { meters: { audioSeconds: 3.5 } },
  ])
  const mistral = { prompt_audio_seconds: 4, prompt_tokens: 9, completion_tokens: 20, total_tokens: 29 }
  t.same(readResponse(transcriptions, { text: 'abc', usage: mistral }).lines, [
    { meters: { audioSeconds: 4 } },
  ])
  const stream = eventStream(
    { type: 'transcript.text.delta', delta: 'abc' },
    { type: 'transcript.text.done', text: 'abc', usage: tokens },
  )
  const reading = readResponse(transcriptions, stream, { contentType: 'text/event-stream' })
  t.match(reading, { isTerminal: true, lines: [{ meters: { audioInput: 21 } }] })
  t.same(readResponse(transcriptions, '1\n00:00 --> 00:01\nabc', { contentType: 'text/plain' }).lines, [])
  const { facts } = formFacts(transcriptions, [
    ['model', 'whisper'],
    ['file', 'RIFF....WAVEfmt ', 'a.wav'],
  ])
  t.match(facts, { model: 'whisper', media: [{ kind: 'audio', path: 'file' }] })
})

await t.test('embeddings are measured by input tokens, reranking by tokens or search units', async t => {
  const usage = { prompt_tokens: 7, total_tokens: 7 }
  t.same(readResponse(embeddings, { data: [{}], usage }).lines, [{ meters: { input: 7 } }])
  t.same(readResponse(rerank, { results: [], usage: { total_tokens: 17 } }).lines, [
    { meters: { input: 17 } },
  ])
  t.same(readResponse(rerank, { results: [], meta: { billed_units: { search_units: 2 } } }).lines, [
    { meters: { searches: 2 } },
  ])
})
