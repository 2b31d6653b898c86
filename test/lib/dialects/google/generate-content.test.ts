import t from 'tap'
import { batchEmbedContents, embedContent } from '../../../../lib/dialects/google/embed-content.ts'
import {
  countTokens,
  generateContent,
  streamGenerateContent,
} from '../../../../lib/dialects/google/generate-content.ts'
import { predict } from '../../../../lib/dialects/google/predict.ts'
import { eventStream, factsOf, readResponse } from '../read-response.ts'

const usageMetadata = {
  promptTokenCount: 10,
  candidatesTokenCount: 4,
  thoughtsTokenCount: 3,
  totalTokenCount: 17,
}
const events = { contentType: 'text/event-stream', providerKind: 'google' }
const text = (words: string, more: object = {}): object => ({
  candidates: [{ content: { parts: [{ text: words }] }, ...more }],
  modelVersion: 'gemini-2.5-flash',
})

await t.test('output counts both text and thinking', async t => {
  const reading = readResponse(generateContent, { ...text('abc', { finishReason: 'STOP' }), usageMetadata })
  t.same(reading.lines, [{ meters: { input: 10, output: 7 } }])
  t.match(reading, {
    details: { reasoning: 3 },
    isTerminal: true,
    outputTextBytes: 3,
    model: 'gemini-2.5-flash',
    flags: [],
  })
})

await t.test('the usage of a stream is that of its last chunk, in events and in a JSON array', async t => {
  const chunks = [
    {
      ...text('ab'),
      usageMetadata: { promptTokenCount: 99, candidatesTokenCount: 99, totalTokenCount: 198 },
    },
    { ...text('c', { finishReason: 'STOP' }), usageMetadata },
  ]
  const streams = [eventStream(...chunks), eventStream(...chunks).replaceAll('\n', '\r\n')]
  for (const stream of streams) {
    const reading = readResponse(streamGenerateContent, stream, events)
    t.same(reading.lines, [{ meters: { input: 10, output: 7 } }])
    t.match(reading, { isTerminal: true, outputTextBytes: 3 })
    t.equal(reading.raw, JSON.stringify(usageMetadata))
  }
  const array = `[${chunks.map(chunk => JSON.stringify(chunk)).join('\n,\n')}\n]`
  t.match(readResponse(streamGenerateContent, array), {
    isTerminal: true,
    outputTextBytes: 3,
    lines: [{ meters: { input: 10, output: 7 } }],
  })
  const cut = readResponse(streamGenerateContent, array.slice(0, -1))
  t.match(cut, { isTerminal: false, lines: [{ meters: { input: 10, output: 7 } }] })
})

await t.test('a stream is terminal only with a finish or block reason', async t => {
  t.equal(readResponse(streamGenerateContent, eventStream(text('a')), events).isTerminal, false)
  const blocked = {
    promptFeedback: { blockReason: 'SAFETY' },
    usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
  }
  const reading = readResponse(streamGenerateContent, eventStream(blocked), events)
  t.match(reading, { isTerminal: true, hasOutput: false })
  t.same(reading.lines, [{ meters: { input: 5 } }])
})

await t.test('an error is found as an event and as the whole body', async t => {
  const error = { error: { code: 503, message: 'x', status: 'UNAVAILABLE' } }
  t.match(readResponse(streamGenerateContent, eventStream(text('a'), error), events), {
    hasError: true,
    hasOutput: true,
  })
  t.match(readResponse(streamGenerateContent, JSON.stringify(error, null, 2), events), {
    hasError: true,
    hasOutput: false,
  })
})

await t.test('modalities have their own meters, also in cached and tool tokens', async t => {
  const modality = (modality: string, tokenCount: number): object => ({ modality, tokenCount })
  const reading = readResponse(generateContent, {
    usageMetadata: {
      promptTokenCount: 100,
      cachedContentTokenCount: 30,
      toolUsePromptTokenCount: 7,
      candidatesTokenCount: 50,
      totalTokenCount: 157,
      promptTokensDetails: [
        modality('TEXT', 20),
        modality('AUDIO', 40),
        modality('IMAGE', 30),
        modality('VIDEO', 10),
      ],
      cacheTokensDetails: [modality('AUDIO', 10), modality('TEXT', 20)],
      toolUsePromptTokensDetails: [modality('TEXT', 7)],
      candidatesTokensDetails: [modality('IMAGE', 45), modality('TEXT', 5)],
    },
  })
  t.same(reading.lines, [
    {
      meters: {
        cachedAudioInput: 10,
        cachedInput: 20,
        audioInput: 30,
        imageInput: 30,
        input: 17,
        imageOutput: 45,
        output: 5,
      },
    },
  ])
  t.match(reading.details, { toolUse: 7, videoInput: 10 })
  t.same(reading.flags, [])
})

await t.test('counts that do not add up to the total are flagged', async t => {
  t.same(readResponse(generateContent, { usageMetadata: { ...usageMetadata, totalTokenCount: 99 } }).flags, [
    'usage_inconsistent',
  ])
  t.same(readResponse(generateContent, { usageMetadata: { candidatesTokenCount: 4 } }).flags, [])
  t.same(readResponse(generateContent, {}).lines, [])
})

await t.test('a count that decreases is used and flagged', async t => {
  const more = {
    ...text('a'),
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 21, totalTokenCount: 31 },
  }
  const last = { ...text('b', { finishReason: 'STOP' }), usageMetadata }
  const reading = readResponse(streamGenerateContent, eventStream(more, last), events)
  t.same(reading.lines, [{ meters: { input: 10, output: 7 } }])
  t.same(reading.flags, ['usage_decreased'])
})

await t.test('the line has the served tier', async t => {
  const tierOf = (more: object): unknown =>
    readResponse(generateContent, { usageMetadata: { ...usageMetadata, ...more } }).lines[0]?.tier
  t.equal(tierOf({ serviceTier: 'standard' }), undefined)
  t.equal(tierOf({ serviceTier: 'flex' }), 'flex')
  t.equal(tierOf({ trafficType: 'ON_DEMAND_FLEX' }), 'flex')
  t.equal(tierOf({ trafficType: 'ON_DEMAND' }), undefined)
})

await t.test('grounding is billed by prompt before Gemini 3 and by distinct query since', async t => {
  const grounded = (modelVersion: string): unknown => {
    const chunk = (...webSearchQueries: string[]): object => ({
      candidates: [{ groundingMetadata: { webSearchQueries } }],
      modelVersion,
      usageMetadata,
    })
    return readResponse(streamGenerateContent, eventStream(chunk('a', 'b', ''), chunk('b', 'c')), events)
      .lines[0]?.meters.searches
  }
  t.equal(grounded('gemini-2.5-flash'), 1)
  t.equal(grounded('gemini-3-pro'), 3)
})

await t.test('facts of a request are read in camel case and in snake case', async t => {
  const image = 'iVBORw0KGgoAAAANSUhEUg=='
  const camel = {
    systemInstruction: { parts: [{ inlineData: { mimeType: 'image/png', data: image } }] },
    contents: [
      {
        parts: [
          { text: 'x' },
          { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
          {
            fileData: {
              mimeType: 'video/mp4',
              fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc-1',
            },
          },
          { fileData: { fileUri: 'https://www.youtube.com/watch?v=1' } },
          {
            functionResponse: { name: 'f', parts: [{ inlineData: { mimeType: 'image/png', data: image } }] },
          },
        ],
      },
    ],
    generationConfig: { maxOutputTokens: 64, candidateCount: 2 },
    cachedContent: 'cachedContents/xyz',
  }
  const snake = JSON.stringify(camel)
    .replaceAll('inlineData', 'inline_data')
    .replaceAll('mimeType', 'mime_type')
    .replaceAll('fileData', 'file_data')
    .replaceAll('fileUri', 'file_uri')
    .replaceAll('functionResponse', 'function_response')
    .replaceAll('systemInstruction', 'system_instruction')
    .replaceAll('maxOutputTokens', 'max_output_tokens')
    .replaceAll('candidateCount', 'candidate_count')
    .replaceAll('generationConfig', 'generation_config')
    .replaceAll('cachedContent"', 'cached_content"')
  for (const body of [JSON.stringify(camel), snake]) {
    const facts = factsOf(generateContent, body, true)
    t.same(
      facts.media.map(part => [part.kind, part.bytes]),
      [
        ['image', 16],
        ['audio', 3],
        ['video', undefined],
        ['other', undefined],
        ['image', 16],
      ],
    )
    t.match(facts, { outputTokensCap: 64, candidates: 2, isStreaming: false })
    t.same(facts.objects, [
      { kind: 'file', id: 'files/abc-1', host: 'generativelanguage.googleapis.com' },
      { kind: 'file', id: 'https://www.youtube.com/watch?v=1', host: 'www.youtube.com' },
      { kind: 'cachedContent', id: 'cachedContents/xyz' },
    ])
  }
  t.equal(factsOf(generateContent, camel, true).media[1]?.path, 'contents[0].parts[1].inlineData')
  t.equal(factsOf(streamGenerateContent, camel, true).isStreaming, true)
  t.equal(factsOf(countTokens, { generateContentRequest: camel }, true).media.length, 5)
  t.throws(() => factsOf(generateContent, { generationConfig: { maxOutputTokens: '9' } }, true), {
    code: 'body_invalid',
    param: 'generationConfig.maxOutputTokens',
  })
})

await t.test('embeddings report their input, or nothing', async t => {
  const usage = { promptTokenCount: 8, promptTokenDetails: [{ modality: 'TEXT', tokenCount: 8 }] }
  const reading = readResponse(batchEmbedContents, { embeddings: [{ values: [0.1] }], usageMetadata: usage })
  t.same(reading.lines, [{ meters: { input: 8 } }])
  t.match(readResponse(embedContent, { embedding: { values: [0.1] } }), { lines: [], hasOutput: true })
  const requests = [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } }]
  t.equal(factsOf(batchEmbedContents, { requests }, true).media.length, 1)
})

await t.test('Imagen is charged by the images in its response', async t => {
  const facts = factsOf(
    predict,
    { instances: [{ prompt: 'x' }], parameters: { sampleCount: 3, sampleImageSize: '2K' } },
    true,
  )
  t.same(facts.units, { images: 3 })
  t.same(factsOf(predict, { instances: [] }, true).units, { images: 4 })
  const predictions = [
    { bytesBase64Encoded: 'AAAA' },
    { raiFilteredReason: 'no' },
    { bytesBase64Encoded: 'AAAA' },
  ]
  t.same(readResponse(predict, { predictions }, { facts }).lines, [{ meters: { images: 2 }, variant: '2k' }])
  t.same(readResponse(predict, { predictions: [] }, { facts }).lines, [])
})

await t.test('searches of maps and images count as searches', async t => {
  const grounded = (model: string, groundingMetadata: object): unknown =>
    readResponse(generateContent, {
      ...text('abc', { finishReason: 'STOP', groundingMetadata }),
      modelVersion: model,
      usageMetadata,
    }).lines[0]?.meters.searches
  const maps = { groundingChunks: [{ maps: { uri: 'https://m' } }, { maps: { uri: 'https://n' } }] }
  const web = { webSearchQueries: ['a', 'b'], imageSearchQueries: ['a'] }
  t.equal(grounded('gemini-2.5-flash', maps), 1)
  t.equal(grounded('gemini-2.5-flash', { ...maps, ...web }), 2)
  t.equal(grounded('gemini-3-flash', maps), 1)
  t.equal(grounded('gemini-3-flash', { ...maps, ...web }), 3)
  t.equal(grounded('gemini-3-flash', { groundingChunks: [{ web: { uri: 'https://w' } }] }), undefined)
})
