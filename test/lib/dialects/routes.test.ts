import t from 'tap'
import { anthropic } from '../../../lib/dialects/anthropic/anthropic.ts'
import type { Dialect } from '../../../lib/dialects/dialect.ts'
import { google } from '../../../lib/dialects/google/google.ts'
import { openai } from '../../../lib/dialects/openai/openai.ts'

type Row = readonly [method: string, path: string, name: string, how: 'charged' | 'free' | 'refused']

const openaiRows: readonly Row[] = [
  ['POST', '/chat/completions', 'chat', 'charged'],
  ['POST', '/completions', 'completions', 'charged'],
  ['POST', '/responses', 'responses', 'charged'],
  ['POST', '/responses/input_tokens', 'responses-input-tokens', 'free'],
  ['POST', '/responses/compact', 'responses-compact', 'charged'],
  ['GET', '/responses/resp_1', 'stored-response', 'free'],
  ['DELETE', '/responses/resp_1', 'deleted-response', 'free'],
  ['POST', '/responses/resp_1/cancel', 'stored-response', 'free'],
  ['GET', '/responses/resp_1/input_items', 'response-input-items', 'free'],
  ['POST', '/embeddings', 'embeddings', 'charged'],
  ['POST', '/images/generations', 'image-generations', 'charged'],
  ['POST', '/images/edits', 'image-edits', 'charged'],
  ['POST', '/images/variations', 'image-variations', 'charged'],
  ['POST', '/audio/speech', 'speech', 'charged'],
  ['POST', '/audio/transcriptions', 'transcriptions', 'charged'],
  ['POST', '/audio/translations', 'translations', 'charged'],
  ['POST', '/moderations', 'moderations', 'free'],
  ['POST', '/rerank', 'rerank', 'charged'],
  ['GET', '/models', 'models', 'free'],
  ['GET', '/models/gpt-4', 'models', 'free'],
  ['POST', '/files', 'file-upload', 'free'],
  ['GET', '/files', 'file-list', 'free'],
  ['GET', '/files/file-1', 'stored-file', 'free'],
  ['DELETE', '/files/file-1', 'deleted-file', 'free'],
  ['GET', '/files/file-1/content', 'stored-file', 'free'],
  ['POST', '/uploads', 'upload-start', 'free'],
  ['POST', '/conversations', 'conversation', 'free'],
  ['DELETE', '/conversations/conv_1', 'deleted-conversation', 'free'],
  ['GET', '/conversations/conv_1/items', 'stored-conversation-items', 'free'],
  ['DELETE', '/conversations/conv_1/items/msg_1', 'deleted-conversation-item', 'free'],
  ['POST', '/uploads/upload_1/parts', 'upload-part', 'free'],
  ['POST', '/uploads/upload_1/complete', 'upload-complete', 'free'],
  ['POST', '/uploads/upload_1/cancel', 'upload-cancel', 'free'],
  ['POST', '/batches', 'batch', 'charged'],
  ['POST', '/batches/b:cancel', 'stored-batch', 'free'],
  ['GET', '/batches/b/results', 'stored-batch-results', 'free'],
  ['POST', '/batches/b/requests', 'batch-requests', 'charged'],
  ['POST', '/batch/jobs', 'batch-job', 'charged'],
  ['GET', '/batch/jobs', 'batch-job-list', 'free'],
  ['GET', '/batch/jobs/b', 'stored-batch', 'free'],
  ['POST', '/videos', 'videos', 'charged'],
  ['POST', '/videos/generations', 'video-generations', 'charged'],
  ['POST', '/videos/edits', 'video-edits', 'charged'],
  ['POST', '/videos/extensions', 'video-extensions', 'charged'],
  ['POST', '/tts', 'tts', 'charged'],
  ['POST', '/stt', 'stt', 'charged'],
  ['POST', '/realtime/client_secrets', 'realtime-keys', 'free'],
  ['POST', '/vector_stores', 'vector-store', 'charged'],
  ['GET', '/vector_stores', 'vector-store-list', 'free'],
  ['POST', '/vector_stores/vs_1/search', 'vector-store-search', 'free'],
  ['DELETE', '/vector_stores/vs_1/files/file-1', 'removed-vector-store-file', 'free'],
  ['POST', '/containers', 'containers', 'refused'],
  ['POST', '/assistants', 'assistants', 'refused'],
  ['GET', '/live/sessions', 'live', 'refused'],
  ['POST', '/threads/t/runs', 'threads', 'refused'],
  ['GET', '/evals', 'evals', 'refused'],
  ['POST', '/fine_tuning/jobs', 'fine_tuning', 'refused'],
  ['POST', '/engines/dear/completions', 'engines', 'refused'],
  ['POST', '/deployments/dear/chat/completions', 'deployments', 'refused'],
]

const anthropicRows: readonly Row[] = [
  ['POST', '/messages', 'messages', 'charged'],
  ['POST', '/messages/count_tokens', 'count-tokens', 'free'],
  ['POST', '/messages/batches', 'batch', 'charged'],
  ['GET', '/messages/batches/b/results', 'batch-results', 'free'],
  ['POST', '/files', 'file-upload', 'free'],
  ['GET', '/files', 'file-list', 'free'],
  ['GET', '/files/file_1', 'stored-file', 'free'],
  ['GET', '/files/file_1/content', 'stored-file', 'free'],
  ['GET', '/models', 'models', 'free'],
  ['GET', '/models/claude', 'models', 'free'],
  ['HEAD', '/api/hello', 'hello', 'free'],
]

const googleRows: readonly Row[] = [
  ['POST', '/models/gemini:generateContent', 'generate-content', 'charged'],
  ['POST', '/models/gemini:streamGenerateContent', 'stream-generate-content', 'charged'],
  ['POST', '/models/gemini:countTokens', 'count-tokens', 'free'],
  ['POST', '/models/gemini:embedContent', 'embed-content', 'charged'],
  ['POST', '/models/gemini:batchEmbedContents', 'batch-embed-contents', 'charged'],
  ['POST', '/models/imagen:predict', 'predict', 'charged'],
  ['GET', '/models', 'models', 'free'],
  ['GET', '/models/gemini', 'models', 'free'],
  ['POST', '/interactions', 'interactions', 'charged'],
  ['GET', '/interactions/v1_a', 'stored-interaction', 'free'],
  ['DELETE', '/interactions/v1_a', 'deleted-interaction', 'free'],
  ['POST', '/models/veo:predictLongRunning', 'predict-long-running', 'charged'],
  ['POST', '/models/gemini:batchGenerateContent', 'batch', 'charged'],
  ['GET', '/models/veo/operations/x', 'stored-operation', 'free'],
  ['GET', '/operations/x', 'stored-operation', 'free'],
  ['POST', '/upload/v1beta/files', 'file-upload', 'free'],
  ['GET', '/files', 'file-list', 'free'],
  ['GET', '/files/abc', 'stored-file', 'free'],
  ['DELETE', '/files/abc', 'deleted-file', 'free'],
  ['GET', '/files/abc:download', 'file-download', 'free'],
  ['GET', '/download/v1beta/files/abc:download', 'file-download', 'free'],
  ['POST', '/cachedContents', 'cached-content', 'charged'],
  ['PATCH', '/cachedContents/c', 'cached-content-update', 'charged'],
  ['DELETE', '/cachedContents/c', 'deleted-cached-content', 'free'],
  ['GET', '/cachedContents', 'cached-content-list', 'free'],
  ['GET', '/batches/b', 'stored-batch', 'free'],
  ['POST', '/fileSearchStores', 'file-search-store', 'free'],
  ['GET', '/fileSearchStores', 'file-search-store-list', 'free'],
  ['POST', '/fileSearchStores/s:importFile', 'file-search-store-import', 'charged'],
  [
    'POST',
    '/upload/v1beta/fileSearchStores/s:uploadToFileSearchStore',
    'file-search-store-upload',
    'charged',
  ],
  ['GET', '/fileSearchStores/s/documents/d', 'stored-file-search-documents', 'free'],
  ['POST', '/auth_tokens', 'auth-tokens', 'free'],
]

const tables: readonly (readonly [Dialect, readonly Row[]])[] = [
  [openai, openaiRows],
  [anthropic, anthropicRows],
  [google, googleRows],
]

await t.test('every route leads to its operation, with any query', async t => {
  for (const [dialect, rows] of tables) {
    for (const [method, path, name, how] of rows) {
      for (const query of ['', '?beta=true', '?a=/x/..%2f:generateContent']) {
        const { operation, upstreamPath } = dialect.match(method, path + query)
        t.equal(operation.name, name, `${method} ${path}`)
        t.equal(upstreamPath, path + query)
        const isRefused = operation.unsupported !== undefined
        t.equal(isRefused ? 'refused' : operation.isFree ? 'free' : 'charged', how, `${method} ${path}`)
      }
    }
  }
})

await t.test('every charged operation reads facts and usage', async t => {
  for (const [{ routes }] of tables) {
    for (const { path, operation } of routes) {
      // The usage of a session is read from its messages.
      if (operation.isFree || operation.session !== undefined) continue
      t.ok('readUsage' in operation, path)
      // A file costs by its number of bytes.
      if (operation.body === 'streamed') continue
      t.ok(
        operation.body === 'multipart'
          ? 'factsFromMultipart' in operation
          : 'factsFromJson' in operation || 'readJsonParts' in operation,
        path,
      )
      t.equal(operation.body === 'json' && operation.interest === undefined, false, path)
    }
  }
})

await t.test('unknown paths are not found, and unknown methods name the allowed ones', async t => {
  for (const [dialect, path] of [
    [openai, '/chat/completions/'],
    [openai, '/chat'],
    [openai, '/'],
    [openai, ''],
    [openai, '//chat/completions'],
    [openai, '/responses/'],
    [anthropic, '/messages/other'],
    [google, '/models/gemini:other'],
    [google, '/models/:generateContent'],
    [google, '/tuned/gemini:generateContent'],
  ] as const) {
    t.throws(() => dialect.match('POST', path), { code: 'route_not_found' }, path)
  }
  const openaiError = { code: 'method_not_allowed', details: { allow: 'GET, DELETE' } }
  t.throws(() => openai.match('PUT', '/responses/resp_1'), openaiError)
  t.throws(() => google.match('GET', '/models/gemini:generateContent'), {
    code: 'method_not_allowed',
    details: { allow: 'POST' },
  })
})

await t.test('ids that servers could read differently are refused', async t => {
  const ambiguous = ['..', '.', '%2e%2e', 'a%2fb', 'a%5cb', 'a%00b', 'a%0ab', 'a%3fb', 'a%23b', '%ff', '%']
  for (const id of ambiguous) {
    t.throws(() => openai.match('GET', `/responses/${id}`), { code: 'request_invalid' }, id)
    t.throws(() => openai.match('GET', `/models/${id}`), { code: 'request_invalid' }, id)
    t.throws(() => google.match('POST', `/models/${id}:generateContent`), { code: 'request_invalid' }, id)
  }
  t.throws(() => google.match('POST', '/models/a/../b:generateContent'), { code: 'request_invalid' })
})

await t.test('objects and models in the path are named, with the span of the model', async t => {
  t.same(openai.match('GET', '/responses/resp_1?stream=true').object, { kind: 'response', id: 'resp_1' })
  t.same(google.match('GET', '/interactions/v1_a').object, { kind: 'interaction', id: 'v1_a' })
  for (const place of ['/files/a-b', '/files/a-b:download?alt=media', '/download/v1/files/a-b:download']) {
    t.same(google.match('GET', place).object, { kind: 'file', id: 'files/a-b' }, place)
  }
  t.equal(openai.match('GET', '/models/groq/llama').pathModel, 'groq/llama')
  const path = '/models/gemini%2D2.5:streamGenerateContent?alt=sse'
  const match = google.match('POST', path)
  t.equal(match.pathModel, 'gemini-2.5')
  t.equal(path.slice(match.pathModelSpan?.start, match.pathModelSpan?.end), 'gemini%2D2.5')
})

await t.test('requests for a response format without readable usage are refused', async t => {
  for (const query of ['alt=proto', 'x=1&ALT=media', '%61lt=proto', 'alt=sse&alt=proto']) {
    t.throws(() => google.match('POST', `/models/gemini:generateContent?${query}`), {
      code: 'request_invalid',
      param: 'alt',
    })
  }
  for (const path of ['/cachedContents', '/interactions']) {
    t.throws(() => google.match('POST', `${path}?alt=proto`), { code: 'request_invalid' }, path)
  }
  t.throws(() => google.match('GET', '/batches/b?alt=proto'), { code: 'request_invalid' })
  for (const query of ['alt=sse', 'alt=json', 'prettyPrint=false']) {
    t.ok(google.match('POST', `/models/gemini:streamGenerateContent?${query}`))
  }
})

await t.test("Claude Code's greeting goes to the provider's origin", async t => {
  t.equal(anthropic.match('HEAD', '/api/hello').isAtOrigin, true)
  t.equal(anthropic.match('POST', '/messages').isAtOrigin, undefined)
})

await t.test('lists of models have the shape of their dialect', async t => {
  t.match(openai.modelList(['a', 'b'], undefined), {
    object: 'list',
    data: [{ id: 'a', object: 'model' }, { id: 'b' }],
  })
  t.match(openai.modelList(['a'], 'a'), { id: 'a', object: 'model' })
  t.match(anthropic.modelList(['a', 'b'], undefined), {
    data: [{ id: 'a', type: 'model' }, {}],
    has_more: false,
    first_id: 'a',
    last_id: 'b',
  })
  t.match(anthropic.modelList([], undefined), { data: [], first_id: null, last_id: null })
  t.match(google.modelList(['a'], undefined), { models: [{ name: 'models/a' }] })
  t.match(google.modelList(['a'], 'a'), { name: 'models/a' })
})

await t.test("chunks of Google's uploads go to the upload that their address names", async t => {
  const path = '/upload/v1beta/files?upload_id=a%2Bb&upload_protocol=resumable'
  for (const method of ['POST', 'PUT']) {
    t.match(google.match(method, path), {
      operation: { name: 'upload-chunk', isOpenByObject: true },
      object: { kind: 'upload', id: 'a+b' },
      isAtOrigin: true,
      upstreamPath: path,
    })
  }
  const twice = '/upload/v1beta/files?upload_id=mine&%75pload_ID=theirs'
  t.throws(() => google.match('POST', twice), { code: 'request_invalid', param: 'upload_id' })
})
