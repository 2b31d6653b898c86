import {
  chatAnswer,
  geminiAnswer,
  messageAnswer,
  outputTokens,
  responseAnswer,
  windowTokens,
  type Used,
} from './answers.ts'

/**
 * Requests whose cost is not visible in them, each with the most expensive response that its provider's documents
 * allow. The models read 200,000 tokens and write 8,192 at most.
 */
export interface Attack {
  readonly name: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly answer: object
  /** The most that may be held for it, in roubles, where too much was held before. */
  readonly heldMostRub?: number
}

const messageOf = (content: unknown): object => ({ messages: [{ role: 'user', content }] })
const hello = messageOf('Hello')
const loops = 10
const everyLoop = loops * windowTokens

function message(name: string, more: object, used: Used): Attack {
  const body = { model: 'm', max_tokens: outputTokens, ...hello, ...more }
  return { name: `messages: ${name}`, path: '/anthropic/v1/messages', body, answer: messageAnswer(used) }
}

function response(name: string, more: object, used: Used, provider = 'openai'): Attack {
  const body = { model: 'm', input: 'Hello', ...more }
  return {
    name: `responses, ${provider}: ${name}`,
    path: `/${provider}/v1/responses`,
    body,
    answer: responseAnswer(used),
  }
}

function chat(name: string, more: object, used: Used, provider = 'openai'): Attack {
  const body = { model: 'm', ...hello, ...more }
  return {
    name: `chat, ${provider}: ${name}`,
    path: `/${provider}/v1/chat/completions`,
    body,
    answer: chatAnswer(used),
  }
}

function gemini(name: string, more: object, used: Used): Attack {
  const body = { contents: [{ parts: [{ text: 'Hello' }] }], ...more }
  return {
    name: `gemini: ${name}`,
    path: '/v1beta/models/m:generateContent',
    body,
    answer: geminiAnswer(used),
  }
}

const searched = (count: number): Used['more'] => ({ server_tool_use: { web_search_requests: count } })
const ranByXai = (runs: number): Used['more'] => ({
  usage: {
    input_tokens: everyLoop,
    output_tokens: outputTokens,
    server_side_tool_usage_details: { code_interpreter_calls: runs },
  },
})
const advised = (own: Used, output: number): Used => ({
  more: {
    iterations: [
      { type: 'message', input_tokens: own.input, output_tokens: own.output },
      { type: 'advisor_message', model: 'verbose', input_tokens: windowTokens, output_tokens: output },
    ],
  },
})
const openaiSearched = (count: number): Used['more'] => ({
  tool_usage: { web_search: { num_requests: count } },
})

const tools: readonly Attack[] = [
  message(
    'web_search',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    { input: everyLoop, more: searched(loops) },
  ),
  message(
    'web_search, used twice at most',
    { tools: [{ type: 'web_search_20260209', name: 'web_search', max_uses: 2 }] },
    { input: 2 * windowTokens, more: searched(2) },
  ),
  message('web_fetch', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, { input: everyLoop }),
  message(
    'web_fetch, of bounded pages',
    { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2, max_content_tokens: 5000 }] },
    { input: 2 * (2 * 5000 + outputTokens) },
  ),
  message(
    'code_execution',
    { tools: [{ type: 'code_execution_20260120', name: 'code_execution' }] },
    { input: everyLoop },
  ),
  message(
    'tool_search',
    { tools: [{ type: 'tool_search_tool_regex_20251119', name: 't' }] },
    { input: loops * outputTokens },
  ),
  message(
    'MCP',
    { mcp_servers: [{ type: 'url', url: 'https://x.example', name: 'x' }] },
    { input: everyLoop },
  ),
  message(
    'MCP as a set of tools',
    { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] },
    { input: everyLoop },
  ),
  message('an unknown tool', { tools: [{ type: 'time_machine_20270101', name: 'x' }] }, { input: everyLoop }),
  message(
    'two tools at once',
    { tools: [{ type: 'web_search_20250305' }, { type: 'web_fetch_20250910' }] },
    { input: everyLoop, more: searched(loops) },
  ),
  message(
    'compaction',
    { context_management: { edits: [{ type: 'compact_20260112' }] } },
    { input: 64 + outputTokens, output: 2 * outputTokens },
  ),
  response(
    'web_search',
    { tools: [{ type: 'web_search' }] },
    { input: loops * 128_000, more: openaiSearched(loops) },
  ),
  response(
    'web_search, three calls at most',
    { tools: [{ type: 'web_search_2025_08_26' }], max_tool_calls: 3 },
    { input: 3 * 128_000, more: openaiSearched(3) },
  ),
  response(
    'web_search_preview',
    { tools: [{ type: 'web_search_preview' }] },
    { input: loops * 128_000, more: openaiSearched(loops) },
  ),
  response(
    'file_search',
    { tools: [{ type: 'file_search' }] },
    {
      input: everyLoop,
      more: { output: Array.from({ length: loops }, () => ({ type: 'file_search_call' })) },
    },
  ),
  response(
    'file_search, of few results',
    { tools: [{ type: 'file_search', max_num_results: 2 }], max_tool_calls: 1 },
    { input: 2 * 4096 + outputTokens },
  ),
  response(
    'code_interpreter',
    { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
    { input: everyLoop },
  ),
  response(
    'shell',
    { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
    { input: everyLoop },
  ),
  response(
    'MCP',
    { tools: [{ type: 'mcp', server_label: 'x', server_url: 'https://x.example' }] },
    { input: everyLoop },
  ),
  response('an unknown tool', { tools: [{ type: 'telepathy' }] }, { input: everyLoop }),
  response(
    'compaction',
    { context_management: [{ type: 'compaction', compact_threshold: 1000 }] },
    { input: 64 + outputTokens, output: 2 * outputTokens },
  ),
  response('web_search', { tools: [{ type: 'web_search' }] }, { input: everyLoop }, 'xai'),
  response('x_search', { tools: [{ type: 'x_search' }] }, { input: everyLoop }, 'xai'),
  response('code_execution', { tools: [{ type: 'code_execution' }] }, { more: ranByXai(loops) }, 'xai'),
  chat(
    'live search',
    { search_parameters: { mode: 'on' } },
    { input: windowTokens, more: { num_sources_used: 20 } },
    'xai',
  ),
  chat('web_search_options', { web_search_options: {} }, { input: loops * 128_000 }),
  chat(
    'the web plugin',
    { plugins: [{ id: 'web' }] },
    { input: everyLoop, more: searched(loops) },
    'openrouter',
  ),
  chat('an unknown plugin', { plugins: [{ id: 'oracle' }] }, { input: everyLoop }, 'openrouter'),
  chat('a server tool', { tools: [{ type: 'openrouter:web_search' }] }, { input: everyLoop }, 'openrouter'),
  chat('browser_search', { tools: [{ type: 'browser_search' }] }, { input: everyLoop }, 'groq'),
  chat('a compound model', { model: 'compound' }, { input: everyLoop }, 'groq'),
  chat(
    'a research model',
    { model: 'sonar-deep-research', max_tokens: 10 },
    { input: everyLoop, output: outputTokens },
    'perplexity',
  ),
  gemini(
    'google_search',
    { tools: [{ google_search: {} }] },
    { input: 100, more: { toolUsePromptTokenCount: 771 } },
  ),
  gemini(
    'url_context',
    { tools: [{ url_context: {} }] },
    { input: 100, more: { toolUsePromptTokenCount: everyLoop } },
  ),
  gemini(
    'code execution',
    { tools: { codeExecution: {} } },
    { more: { toolUsePromptTokenCount: everyLoop } },
  ),
  gemini(
    'file search',
    { tools: [{ fileSearch: { fileSearchStoreNames: [] } }] },
    { more: { toolUsePromptTokenCount: everyLoop } },
  ),
  gemini('maps', { tools: [{ googleMaps: {} }] }, { more: { toolUsePromptTokenCount: everyLoop } }),
  gemini(
    'MCP',
    { tools: [{ mcpServers: [{ url: 'https://x.example' }] }] },
    { more: { toolUsePromptTokenCount: everyLoop } },
  ),
]

const base64 = (bytes: number): string =>
  Buffer.alloc(bytes, 'A line of plain text, 0123456789. ').toString('base64')
const image = (url: string): object => messageOf([{ type: 'image_url', image_url: { url } }])
const document = (source: object): object => messageOf([{ type: 'document', source }])
const geminiPart = (part: object): object => ({ contents: [{ parts: [part] }] })
const file = (mimeType: string): object => ({ fileData: { mimeType, fileUri: 'https://x.example/f' } })

const partsOf = (...content: readonly object[]): object => messageOf(content)
const url = 'https://x.example/a.pdf'

/** Parts of kinds that few providers know: each writes an address in a way of its own. */
const strangeParts: readonly Attack[] = [
  ...(
    [
      ['a file by address', { type: 'file_url', file_url: { url } }, 'perplexity'],
      ['a file by address', { type: 'file_url', file_url: { url } }, 'zai'],
      ['a file by address alone', { type: 'file_url', file_url: url }, 'perplexity'],
      ['a video of frames', { type: 'video', video: [url, url, url, url] }, 'qwen'],
      ['a file inside a file', { type: 'file', file: { file_url: url } }, 'openai'],
      ['a file in camel case', { type: 'file', file: { filename: 'a', fileData: url } }, 'openrouter'],
      ['a document as an object', { type: 'document_url', document_url: { url } }, 'mistral'],
      ['a file as responses have it', { type: 'input_file', file_url: url }, 'openrouter'],
      ['an unknown part', { type: 'x', x: { y: [{ uri: 'gs://bucket/a' }] } }, 'openrouter'],
      ['a file of another name', { type: 'x', x: { input_file_id: 'file-1' } }, 'mistral'],
    ] as const
  ).map(([name, part, provider]) => chat(name, partsOf(part), { input: windowTokens }, provider)),
  chat(
    'a part without brackets',
    { messages: [{ role: 'user', content: { type: 'file_url', file_url: { url } } }] },
    { input: windowTokens },
    'perplexity',
  ),
  response(
    'a part without brackets',
    { input: [{ role: 'user', content: { type: 'input_file', file_url: url } }] },
    { input: windowTokens },
  ),
  response(
    'a video by address',
    { input: [{ role: 'user', content: [{ type: 'input_video', video_url: url }] }] },
    { input: windowTokens },
    'qwen',
  ),
  message('an unknown block', partsOf({ type: 'file_url', file_url: { url } }), { input: windowTokens }),
  message('a video', partsOf({ type: 'video', source: { type: 'url', video_url: url } }), {
    input: windowTokens,
  }),
]

/** Addresses that a model has cited, or that a client's tools have returned, are not fetched. */
const cited: readonly Attack[] = [
  message(
    'addresses that are cited',
    {
      max_tokens: 100,
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_fetch', input: { url } },
            {
              type: 'web_search_tool_result',
              tool_use_id: 's',
              content: [{ type: 'web_search_result', url, title: 'x', encrypted_content: 'x' }],
            },
            { type: 'text', text: 'x', citations: [{ type: 'web_search_result_location', url }] },
          ],
        },
        { role: 'user', content: 'Hello' },
      ],
    },
    { input: 100, output: 100 },
  ),
  response(
    'addresses that are cited',
    {
      max_output_tokens: 100,
      input: [
        {
          role: 'assistant',
          content: [{ type: 'output_text', text: 'x', annotations: [{ type: 'url_citation', url }] }],
        },
        { role: 'user', content: 'Hello' },
      ],
    },
    { input: 100, output: 100 },
  ),
].map(attack => ({ ...attack, heldMostRub: 1 }))

const media: readonly Attack[] = [
  message('a document by address', document({ type: 'url', url: 'https://x.example/a.pdf' }), {
    input: windowTokens,
  }),
  message('a text in base64', document({ type: 'base64', media_type: 'text/plain', data: base64(60_000) }), {
    input: 60_000,
  }),
  message(
    'a text as a document',
    document({ type: 'text', media_type: 'text/plain', data: '7 '.repeat(20_000) }),
    { input: 40_000 },
  ),
  message(
    'an image by address',
    messageOf([{ type: 'image', source: { type: 'url', url: 'https://x.example/i' } }]),
    { input: 4784 },
  ),
  chat('an image by address', { ...image('https://x.example/i'), model: 'gpt-4o-mini' }, { input: 48_169 }),
  chat('an image by address', image('https://x.example/i'), { input: windowTokens }, 'mistral'),
  chat(
    'a document by address',
    messageOf([{ type: 'document_url', document_url: 'https://x.example/a.pdf' }]),
    { input: windowTokens },
    'mistral',
  ),
  chat(
    'a video by address',
    messageOf([{ type: 'video_url', video_url: { url: 'https://x.example/v' } }]),
    { input: windowTokens },
    'openrouter',
  ),
  chat(
    'audio by address',
    messageOf([{ type: 'audio_url', audio_url: { url: 'https://x.example/a' } }]),
    { input: windowTokens, more: { prompt_tokens_details: { audio_tokens: windowTokens - 100 } } },
    'openrouter',
  ),
  response(
    'a file by address',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://x.example/a.pdf' }] }] },
    { input: windowTokens },
  ),
  gemini('a video by address', geminiPart(file('video/mp4')), { input: windowTokens }),
  gemini('a video of YouTube', geminiPart({ fileData: { fileUri: 'https://www.youtube.com/watch?v=x' } }), {
    input: windowTokens,
  }),
  gemini('audio by address', geminiPart(file('audio/mpeg')), {
    input: windowTokens,
    more: { promptTokensDetails: [{ modality: 'AUDIO', tokenCount: windowTokens }] },
  }),
  gemini('a document by address', geminiPart(file('application/pdf')), { input: windowTokens }),
]

const texts: readonly Attack[] = [
  ['digits', '0123456789'.repeat(3000), 30_000],
  ['digits apart', '1 '.repeat(15_000), 30_000],
  ['rare pairs of letters', 'qz'.repeat(15_000), 30_000],
  ['Chinese', '㐀㐁㐂'.repeat(3000), 27_000],
  ['emoji', '🪿🫎'.repeat(3000), 24_000],
  ['marks', '~^`|'.repeat(7000), 28_000],
  ['letters between digits', 'a1'.repeat(15_000), 30_000],
  ['escapes', '\n!'.repeat(10_000), 20_000],
].map(([name, text, input]) =>
  message(`dense text: ${String(name)}`, messageOf(text), { input: input as number }),
)

const outputs: readonly Attack[] = [
  chat('a cap that the provider ignores', { max_completion_tokens: 1 }, {}, 'mistral'),
  chat('a cap that the provider ignores', { max_completion_tokens: 1 }, {}, 'perplexity'),
  chat('a cap that the provider ignores', { max_output_tokens: 1 }, {}),
  chat('two caps', { max_tokens: 1, max_completion_tokens: 5000 }, { output: 5000 }),
  chat('a cap of zero', { max_tokens: 0 }, {}),
  chat('many answers', { n: 8, max_tokens: 1000 }, { output: 8000 }),
  chat(
    'a prediction that is wrong',
    { max_tokens: 10, prediction: { type: 'content', content: '9'.repeat(5000) } },
    { output: 5010 },
  ),
  chat(
    'audio',
    { model: 'gpt-audio', modalities: ['text', 'audio'], audio: { voice: 'x', format: 'wav' } },
    { more: { completion_tokens_details: { audio_tokens: outputTokens } } },
  ),
  chat(
    'an image',
    { model: 'painter', modalities: ['image', 'text'] },
    { more: { completion_tokens_details: { image_tokens: outputTokens } } },
    'openrouter',
  ),
  chat(
    'an image beside a cap on its text',
    { model: 'painter', max_tokens: 1, modalities: ['image', 'text'] },
    { output: 6241, more: { completion_tokens_details: { image_tokens: 6240 } } },
    'openrouter',
  ),
  chat(
    'an image of 4K, as its cost is stated',
    { model: 'stated', max_tokens: 1, modalities: ['image'], image_config: { image_size: '4K' } },
    { input: 10, output: 1, more: { cost: 0.24 } },
    'openrouter',
  ),
  chat('reasoning beyond its cap', { model: 'grok-4', max_tokens: 10 }, { output: outputTokens + 10 }, 'xai'),
  gemini(
    'many answers',
    { generationConfig: { candidateCount: 8, maxOutputTokens: 1000 } },
    { output: 8000 },
  ),
  gemini(
    'an image beside a cap on its text',
    { generationConfig: { maxOutputTokens: 1, responseModalities: ['TEXT', 'IMAGE'] } },
    { output: 2520 },
  ),
  gemini('images', { generationConfig: { responseModalities: ['IMAGE'] } }, {}),
  gemini(
    'thoughts',
    { generationConfig: { maxOutputTokens: 5000, thinkingConfig: { thinkingBudget: 4000 } } },
    { output: 1000, more: { thoughtsTokenCount: 4000 } },
  ),
  response(
    'several images',
    { model: 'm', tools: [{ type: 'image_generation', model: 'gpt-image-1' }] },
    {
      more: {
        tool_usage: {
          image_gen: { input_tokens: 1000, output_tokens: loops * 6240, total_tokens: loops * 6240 + 1000 },
        },
      },
    },
  ),
  {
    name: 'images: five at the highest quality',
    path: '/openai/v1/images/generations',
    body: { model: 'gpt-image-1', prompt: 'x', n: 5, quality: 'high', size: '1024x1536' },
    answer: {
      data: Array.from({ length: 5 }, () => ({ b64_json: '' })),
      usage: {
        input_tokens: 10,
        output_tokens: 5 * 6240,
        total_tokens: 5 * 6240 + 10,
        output_tokens_details: { image_tokens: 5 * 6240, text_tokens: 0 },
      },
    },
  },
  {
    name: 'completions: a list of prompts, the best of five each',
    path: '/openai/v1/completions',
    body: { model: 'm', prompt: ['a', 'b', 'c'], best_of: 5, max_tokens: 500 },
    answer: chatAnswer({ input: 3, output: 7500 }),
  },
  {
    name: 'completions: a prompt in tokens',
    path: '/openai/v1/completions',
    body: { model: 'm', prompt: Array.from({ length: 9000 }, (_, index) => index % 10), max_tokens: 1 },
    answer: chatAnswer({ input: 9000, output: 1 }),
  },
]

const fees: readonly Attack[] = [
  {
    name: 'rerank: long documents, each of which counts as several',
    path: '/cohere/v1/rerank',
    body: {
      model: 'ranker',
      query: 'Which?',
      documents: Array.from({ length: 100 }, () => '7 '.repeat(2000)),
    },
    answer: { results: [{ index: 0 }], meta: { billed_units: { search_units: 8 } } },
  },
  chat(
    'its fee',
    { model: 'sonar', max_tokens: 10, web_search_options: { search_context_size: 'high' } },
    { input: 20, output: 10, more: { search_context_size: 'high' } },
    'perplexity',
  ),
  chat(
    'its fee, which the request does not mention',
    { model: 'sonar', max_tokens: 10 },
    { input: 20, output: 10, more: { search_context_size: 'low' } },
    'perplexity',
  ),
  chat('the tier that the provider chooses', { service_tier: 'auto' }, { more: {} }),
  chat('a tier', { service_tier: 'priority' }, { beside: { service_tier: 'priority' } }),
  // Where tiers are sold, an unknown one is refused.
  chat('an unknown tier', { service_tier: 'ultra' }, { beside: { service_tier: 'priority' } }, 'groq'),
  gemini('a tier', { serviceTier: 'priority' }, { more: { serviceTier: 'priority' } }),
  message('speed', { speed: 'fast' }, { more: { speed: 'fast' } }),
  chat(
    'kept in a cache for a day',
    { prompt_cache_retention: '24h', ...messageOf('9'.repeat(20_000)) },
    { input: 20_000, more: { prompt_tokens_details: { cached_tokens: 0 } } },
  ),
  message('a place', { inference_geo: 'us' }, { more: { inference_geo: 'us' } }),
  message(
    'writes to a cache for an hour',
    { cache_control: { type: 'ephemeral', ttl: '1h' }, ...messageOf('9'.repeat(20_000)) },
    {
      input: 0,
      more: { cache_creation_input_tokens: 20_000, cache_creation: { ephemeral_1h_input_tokens: 20_000 } },
    },
  ),
  message(
    'writes to a cache',
    { cache_control: { type: 'ephemeral' }, ...messageOf('9'.repeat(20_000)) },
    { input: 0, more: { cache_creation_input_tokens: 20_000 } },
  ),
  response('a kept conversation', { conversation: 'conv_1' }, { input: windowTokens }),
  response('a stored prompt', { prompt: { id: 'pmpt_1' } }, { input: windowTokens }),
  response(
    'a response that was made elsewhere',
    { previous_response_id: 'resp_elsewhere' },
    { input: windowTokens },
  ),
  message(
    'a thread that was begun elsewhere',
    { thread: { previous_message_id: 'msg_elsewhere' } },
    { input: windowTokens },
  ),
  response('in the background, and kept', { background: true, store: true }, {}),
  gemini(
    'content of a cache',
    { cachedContent: 'cachedContents/elsewhere' },
    { input: windowTokens, more: { cachedContentTokenCount: windowTokens - 10 } },
  ),
  gemini(
    'a thinking level given as a number',
    { generationConfig: { thinkingConfig: { thinkingLevel: 3 } } },
    { output: 1000, more: { thoughtsTokenCount: outputTokens - 1000 } },
  ),
  message('hello', { max_tokens: 100 }, { input: 20, output: 100 }),
  chat('hello', { max_tokens: 100 }, { input: 20, output: 100 }),
  response('hello', { max_output_tokens: 100 }, { input: 20, output: 100 }),
  gemini('hello', { generationConfig: { maxOutputTokens: 100 } }, { input: 20, output: 100 }),
  message(
    'tools that the client runs',
    {
      max_tokens: 100,
      tools: [
        { name: 'x', input_schema: {} },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728' },
        { type: 'computer_20251124' },
        { type: 'memory_20250818' },
      ],
    },
    { input: 2000, output: 100 },
  ),
  message(
    'a conversation that is only cleared',
    { max_tokens: 100, context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
    { input: 20, output: 100 },
  ),
]

/** A bound that a provider does not read, or spells in its own way, bounds nothing. */
const unread: readonly Attack[] = [
  chat('a cap in capitals', { MAX_TOKENS: 1 }, {}, 'mistral'),
  chat('a cap in capitals', { Max_Completion_Tokens: 1 }, {}, 'openrouter'),
  response('a cap in capitals', { Max_Output_Tokens: 1 }, {}, 'xai'),
  gemini('a cap in capitals', { generationConfig: { MAX_OUTPUT_TOKENS: 1 } }, {}),
  message(
    'a bound on uses in capitals',
    { tools: [{ type: 'web_fetch_20250910', MAX_USES: 1 }] },
    { input: everyLoop },
  ),
  response(
    'a bound on calls that the provider ignores',
    { tools: [{ type: 'web_search' }], max_tool_calls: 1 },
    { input: everyLoop },
    'xai',
  ),
  response(
    'a bound on turns that the provider ignores',
    { tools: [{ type: 'web_search' }], max_turns: 1 },
    { input: loops * 128_000, more: openaiSearched(loops) },
  ),
  response(
    'a bound on turns, many searches in each',
    { tools: [{ type: 'web_search' }], max_turns: 2 },
    { input: 2 * windowTokens, more: { server_side_tool_usage_details: { web_search_calls: loops } } },
    'xai',
  ),
  chat(
    'a bound of a tool that the provider ignores',
    { tools: [{ type: 'openrouter:web_search', max_uses: 1, max_content_tokens: 1 }] },
    { input: everyLoop, more: searched(loops) },
    'openrouter',
  ),
  chat(
    'a cap that does not include the reasoning',
    { model: 'qwen3-max', max_tokens: 10 },
    { output: outputTokens + 10 },
    'qwen',
  ),
  {
    name: 'responses, compacted: requested as a stream',
    path: '/openai/v1/responses/compact',
    body: { model: 'm', input: 'Hello', stream: true },
    answer: responseAnswer({}),
  },
]

const longText = '9'.repeat(20_000)
const manyTexts = Array.from({ length: 15 }, () => longText)
const textsTokens = manyTexts.length * longText.length

/** Lists of texts, each of which has a context window of its own. */
const lists: readonly Attack[] = [
  {
    name: 'embeddings: many texts',
    path: '/openai/v1/embeddings',
    body: { model: 'm', input: manyTexts },
    answer: { object: 'list', data: [], usage: { prompt_tokens: textsTokens, total_tokens: textsTokens } },
  },
  {
    name: 'embeddings: many texts in tokens',
    path: '/openai/v1/embeddings',
    body: { model: 'm', input: manyTexts.map(() => Array.from({ length: 16_000 }, () => 9)) },
    answer: {
      object: 'list',
      data: [],
      usage: { prompt_tokens: manyTexts.length * 16_000, total_tokens: manyTexts.length * 16_000 },
    },
  },
  {
    name: 'completions: many prompts',
    path: '/openai/v1/completions',
    body: { model: 'm', prompt: manyTexts, max_tokens: 1 },
    answer: chatAnswer({ input: textsTokens, output: manyTexts.length }),
  },
  {
    name: 'gemini: many texts to embed',
    path: '/v1beta/models/m:batchEmbedContents',
    body: {
      requests: manyTexts.map(text => ({ model: 'models/m', content: { parts: [{ text }] } })),
    },
    answer: { embeddings: [], usageMetadata: { promptTokenCount: textsTokens } },
  },
]

/** Usage that is billed beside the requested model, or in another way than requested. */
const beside: readonly Attack[] = [
  chat(
    'a model that searches by its name',
    { model: 'm:online' },
    { input: everyLoop, more: searched(loops) },
    'openrouter',
  ),
  chat(
    'live search as a tool',
    { tools: [{ type: 'live_search', sources: [{ type: 'web' }] }] },
    { input: windowTokens, more: { num_sources_used: loops } },
    'xai',
  ),
  chat(
    'a search for each of three answers',
    { n: 3, web_search_options: {} },
    { input: 3 * loops * 128_000, output: 3 * outputTokens },
  ),
  chat(
    'the tier that the provider chooses, the most expensive',
    { service_tier: 'auto' },
    { beside: { service_tier: 'priority' } },
  ),
  message(
    'an advisor',
    { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'dear' }] },
    {
      more: {
        iterations: [
          { type: 'message', input_tokens: everyLoop, output_tokens: outputTokens },
          {
            type: 'advisor_message',
            model: 'dear',
            input_tokens: everyLoop,
            output_tokens: loops * outputTokens,
          },
        ],
      },
    },
  ),
  message(
    'a fallback',
    { fallbacks: [{ model: 'dear' }] },
    {
      more: {
        iterations: [
          { type: 'message', input_tokens: 100, output_tokens: 10 },
          { type: 'fallback_message', model: 'dear', input_tokens: 100, output_tokens: outputTokens },
        ],
      },
    },
  ),
  message(
    'speed and a place',
    { speed: 'fast', inference_geo: 'us' },
    { more: { speed: 'fast', inference_geo: 'us' } },
  ),
]

/** Tools that are requested in an undocumented way. */
const strangeTools: readonly Attack[] = [
  ...(
    [
      ['a search by a switch', { enable_search: true, search_options: { search_strategy: 'agent' } }, 'qwen'],
      ['a search by a number', { enable_search: 1 }, 'qwen'],
      ['options of a search', { search_options: { forced_search: true } }, 'qwen'],
      ['code by a switch', { enable_code_interpreter: true }, 'qwen'],
      ['a search', { venice_parameters: { enable_web_search: 'auto' } }, 'venice'],
      ['pages by a switch', { venice_parameters: { enable_web_scraping: true } }, 'venice'],
      ['posts by a switch', { venice_parameters: { enable_x_search: true } }, 'venice'],
      ['a search in the name of the model', { model: 'm:enable_web_search=on' }, 'venice'],
      ['a connector', { connectors: [{ id: 'web-search' }] }, 'cohere'],
      ['a plugin by its name', { plugins: ['plugin_web_search'] }, 'openrouter'],
      ['a plugin without brackets', { plugins: { id: 'web' } }, 'openrouter'],
      ['a plugin without a name', { plugins: [{ max_results: 10 }] }, 'openrouter'],
      ['a tool of Google', { tools: [{ url_context: {} }] }, 'google'],
      ['a tool of Google beside a function', { tools: [{ type: 'function', url_context: {} }] }, 'google'],
      [
        'a tool of Google in extra_body',
        { extra_body: { google: { tools: [{ url_context: {} }] } } },
        'google',
      ],
      ['a tool without a type', { tools: [{ time_machine: {} }] }, 'openai'],
      ['a tool by its name alone', { tools: ['web_search'] }, 'openai'],
      ['a tool without brackets', { tools: { type: 'browser_search' } }, 'groq'],
    ] as const
  ).map(([name, more, provider]) => chat(name, more, { input: everyLoop }, provider)),
  response('a tool without a type', { tools: [{ name: 'web_search' }] }, { input: everyLoop }),
  message('a tool without a schema', { tools: [{ name: 'web_search' }] }, { input: everyLoop }),
  message('a plugin', { plugins: [{ id: 'web' }] }, { input: everyLoop }),
  gemini(
    'a tool beside a type',
    { tools: [{ type: 'function', urlContext: {} }] },
    { input: 100, more: { toolUsePromptTokenCount: everyLoop } },
  ),
  {
    name: 'interactions: a tool beside a type',
    path: '/v1beta/interactions',
    body: { model: 'm', input: 'Hello', tools: [{ type: 'function', url_context: {} }] },
    answer: { usage: { total_input_tokens: everyLoop, total_output_tokens: outputTokens } },
  },
]

const attachment = { type: 'input_file', file_url: url }
const agents = (count: number): Used => ({ input: count * 100, output: count * outputTokens })

/** Actions of a model or its provider that were not requested. */
const unrequested: readonly Attack[] = [
  response(
    'a file that is attached',
    { input: [{ role: 'user', content: [attachment] }] },
    {
      more: {
        usage: {
          input_tokens: everyLoop,
          output_tokens: outputTokens,
          server_side_tool_usage_details: { attachment_search_calls: loops },
        },
      },
    },
    'xai',
  ),
  chat(
    'a file that is attached',
    partsOf({ type: 'file', file: { file_id: 'file_1' } }),
    { input: everyLoop, more: { server_side_tool_usage_details: { attachment_search_calls: loops } } },
    'xai',
  ),
  response('sixteen agents', { model: 'grok-4.20-multi-agent' }, agents(16), 'xai'),
  response(
    'four agents',
    { model: 'grok-4.20-multi-agent', reasoning: { effort: 'medium' } },
    agents(4),
    'xai',
  ),
  response(
    'sixteen agents that search',
    { model: 'grok-4.20-multi-agent', reasoning: { effort: 'high' }, tools: [{ type: 'web_search' }] },
    { input: 16 * everyLoop, output: 16 * outputTokens },
    'xai',
  ),
  chat(
    'research, as its cost is stated',
    { model: 'sonar-deep-research', max_tokens: 64 },
    {
      input: 33,
      output: 7163,
      more: {
        citation_tokens: 20_016,
        num_search_queries: 28,
        reasoning_tokens: 73_994,
        cost: { total_cost: 1.3 },
      },
    },
    'perplexity',
  ),
  chat(
    'a search in steps',
    { model: 'sonar-pro', max_tokens: 10, search_type: 'pro' },
    { input: 20, output: 10, more: { search_context_size: 'high', cost: { total_cost: 0.0221 } } },
    'perplexity',
  ),
  chat(
    'a model that searches for every answer, by a name of its own',
    { model: 'looker', n: 2 },
    { input: 2 * 128_000, output: 2 * outputTokens, beside: { model: 'gpt-5-search-api' } },
  ),
  chat(
    'a model that searches for every answer',
    { model: 'gpt-4o-search-preview', max_tokens: 10 },
    { input: 20, output: 10, beside: { model: 'gpt-4o-search-preview-2025-03-11' } },
  ),
  message(
    'an advisor that writes more than the cap',
    { max_tokens: 64, tools: [{ type: 'advisor_20260301', name: 'a', model: 'verbose', max_uses: 1 }] },
    advised({ input: 100, output: 64 }, 64_000),
  ),
  message(
    'an advisor with a cap of tokens',
    {
      max_tokens: 64,
      tools: [{ type: 'advisor_20260301', name: 'a', model: 'verbose', max_uses: 1, max_tokens: 2048 }],
    },
    advised({ input: 100, output: 64 }, 2048),
  ),
  chat(
    'an advisor with tools of its own',
    {
      max_tokens: 64,
      tools: [
        {
          type: 'openrouter:advisor',
          parameters: { model: 'm', tools: [{ type: 'openrouter:web_search' }], max_tool_calls: 20 },
        },
      ],
    },
    { input: 600 * windowTokens, output: 64 },
    'openrouter',
  ),
  chat(
    'a document that is read out for a fee',
    {
      model: 'stated',
      max_tokens: 10,
      ...partsOf({ type: 'file', file: { filename: 'a.pdf', file_data: url } }),
    },
    { input: 8000, output: 10, more: { cost: 2 } },
    'openrouter',
  ),
  chat(
    'searches of many results, each with a fee',
    { model: 'stated', max_tokens: 10, tools: [{ type: 'openrouter:web_search' }] },
    { input: 30 * 8000, output: 10, more: { cost: 3 } },
    'openrouter',
  ),
  chat(
    'a server tool, in thirty steps',
    { tools: [{ type: 'openrouter:web_search' }] },
    { input: 30 * windowTokens, more: searched(30) },
    'openrouter',
  ),
]

/** Tools that the client runs, and switches that are off. */
const noTools: readonly Attack[] = [
  chat('functions', { max_tokens: 100, tools: [{ function: { name: 'x' } }] }, { output: 100 }),
  chat(
    'switches that are off',
    {
      max_tokens: 100,
      enable_search: false,
      enable_code_interpreter: null,
      venice_parameters: { enable_web_search: 'off', include_venice_system_prompt: false },
    },
    { output: 100 },
    'venice',
  ),
  response(
    'functions',
    { max_output_tokens: 100, tools: [{ type: 'function', name: 'x', parameters: { type: 'object' } }] },
    { output: 100 },
  ),
  message('functions', { max_tokens: 100, tools: [{ name: 'x', input_schema: {} }] }, { output: 100 }),
  gemini(
    'functions',
    { generationConfig: { maxOutputTokens: 100 }, tools: [{ functionDeclarations: [{ name: 'x' }] }] },
    { output: 100 },
  ),
].map(attack => ({ ...attack, heldMostRub: 2 }))

export const attacks: readonly Attack[] = [
  ...tools,
  ...media,
  ...strangeParts,
  ...cited,
  ...texts,
  ...outputs,
  ...fees,
  ...unread,
  ...lists,
  ...beside,
  ...strangeTools,
  ...unrequested,
  ...noTools,
]
