import { outputTokens, windowTokens } from './answers.ts'

/**
 * Streams that cost more than is visible when they begin, as their providers send them: a step is what arrives at once,
 * with the cost for the provider's customer up to it.
 */
export interface StreamAttack {
  readonly name: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly steps: readonly StreamStep[]
}

export interface StreamStep {
  readonly bytes: string
  readonly billedMicros: number
}

/** Micro-roubles per token, and per search, for the models of the table. */
const perToken = { input: 100, output: 500 }
const perSearch = 1_000_000
const loops = 10

interface Script {
  readonly event: (data: Readonly<Record<string, unknown>>) => string
  /** A piece of text. */
  readonly text: (text: string) => object
  /** The event for a tool that the provider has run. */
  readonly tool?: () => object
  readonly begin: readonly object[]
  end(used: Used): readonly object[]
}

interface Used {
  input: number
  output: number
  searches: number
}

const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const named = (data: Readonly<Record<string, unknown>>): string =>
  `event: ${String(data['type'])}\n${sse(data)}`

const chatScript: Script = {
  event: sse,
  begin: [],
  text: content => ({
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta: { content } }],
  }),
  end: ({ input, output }) => [
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    {
      object: 'chat.completion.chunk',
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    },
  ],
}

const responseScript: Script = {
  event: named,
  begin: [{ type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } }],
  text: delta => ({ type: 'response.output_text.delta', delta }),
  tool: () => ({ type: 'response.web_search_call.in_progress', item_id: 'ws_1', output_index: 0 }),
  end: ({ input, output, searches }) => [
    {
      type: 'response.completed',
      response: {
        id: 'resp_1',
        status: 'completed',
        model: 'm',
        usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
        tool_usage: { web_search: { num_requests: searches } },
      },
    },
  ],
}

const messageScript: Script = {
  event: named,
  begin: [
    {
      type: 'message_start',
      message: { id: 'msg_1', type: 'message', model: 'm', usage: { input_tokens: 100, output_tokens: 1 } },
    },
  ],
  text: text => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  tool: () => ({
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_fetch', input: {} },
  }),
  end: ({ input, output, searches }) => [
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: {
        input_tokens: input,
        output_tokens: output,
        server_tool_use: { web_search_requests: searches },
      },
    },
    { type: 'message_stop' },
  ],
}

/** One action of a provider: it reasons, writes a text of this many tokens, or uses a tool. */
type Act =
  | { readonly thinks: number }
  | { readonly writes: string; readonly tokens: number }
  | { readonly reads: number; readonly searches?: number }

function stepsOf(script: Script, acts: readonly Act[]): readonly StreamStep[] {
  const used: Used = { input: 100, output: 0, searches: 0 }
  const steps: StreamStep[] = []
  const billed = (): number =>
    used.input * perToken.input + used.output * perToken.output + used.searches * perSearch
  const add = (events: readonly object[]): void => {
    const bytes = events.map(one => script.event(one as Readonly<Record<string, unknown>>)).join('')
    steps.push({ bytes, billedMicros: billed() })
  }
  add(script.begin)
  for (const act of acts) {
    if ('thinks' in act) {
      used.output += act.thinks
      add([])
    } else if ('writes' in act) {
      used.output += act.tokens
      add([script.text(act.writes)])
    } else {
      used.input += act.reads
      used.searches += act.searches ?? 0
      add(script.tool === undefined ? [] : [script.tool()])
    }
  }
  add(script.end(used))
  if (script === chatScript) steps.push({ bytes: 'data: [DONE]\n\n', billedMicros: billed() })
  return steps
}

const hello = { messages: [{ role: 'user', content: 'Hello' }], stream: true }
const chatPath = '/openai/v1/chat/completions'
/** A model that does not reason, so that its whole cost is visible. */
const open = 'gpt-4o-mini'

/** This many tokens, in steps of a thousand. */
function written(tokens: number, text: (tokens: number) => string): readonly Act[] {
  return Array.from({ length: tokens / 1024 }, () => ({ writes: text(1024), tokens: 1024 }))
}

const words = (tokens: number): string => 'word '.repeat(tokens)
const digits = (tokens: number): string => '7'.repeat(tokens)
const rare = (tokens: number): string => '㐀'.repeat(Math.ceil(tokens / 3))
const marks = (tokens: number): string => '~^`|'.repeat(Math.ceil(tokens / 4))

function chat(name: string, acts: readonly Act[], more: object = {}): StreamAttack {
  const body = { model: open, stream_options: { include_usage: true }, ...hello, ...more }
  return { name: `chat: ${name}`, path: chatPath, body, steps: stepsOf(chatScript, acts) }
}

function message(name: string, acts: readonly Act[], more: object): StreamAttack {
  const body = { model: 'm', max_tokens: outputTokens, thinking: { type: 'disabled' }, ...hello, ...more }
  return {
    name: `messages: ${name}`,
    path: '/anthropic/v1/messages',
    body,
    steps: stepsOf(messageScript, acts),
  }
}

function response(name: string, acts: readonly Act[], more: object): StreamAttack {
  const body = { model: open, input: 'Hello', stream: true, ...more }
  return {
    name: `responses: ${name}`,
    path: '/openai/v1/responses',
    body,
    steps: stepsOf(responseScript, acts),
  }
}

const uses = (count: number, use: Act): readonly Act[] => Array.from({ length: count }, () => use)

export const streamAttacks: readonly StreamAttack[] = [
  chat('words up to the cap', written(8192, words)),
  chat('digits up to the cap', written(8192, digits)),
  chat('rare characters up to the cap', written(8192, rare)),
  chat('marks up to the cap', written(8192, marks)),
  chat('words, and then digits', [...written(4096, words), ...written(4096, digits)]),
  chat('words for long, and then rare characters', [...written(65_536, words), ...written(32_768, rare)], {
    model: 'writer',
  }),
  chat('a short response', [{ writes: 'Hello!', tokens: 2 }]),
  message(
    'pages fetched one after the other',
    [...uses(loops, { reads: windowTokens }), ...written(1024, words)],
    { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] },
  ),
  message(
    'searches one after the other',
    [...uses(loops, { reads: windowTokens, searches: 1 }), ...written(1024, words)],
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  ),
  message('a single fetch', [{ reads: windowTokens }, ...written(1024, words)], {
    tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }],
  }),
  response(
    'searches one after the other',
    [...uses(loops, { reads: 128_000, searches: 1 }), ...written(1024, words)],
    { tools: [{ type: 'web_search' }] },
  ),
  response('the reasoning of low effort, and then words', [{ thinks: 8192 }, ...written(8192, words)], {
    model: 'thinker',
    reasoning: { effort: 'low' },
  }),
  response('the reasoning of high effort, and then words', [{ thinks: 32_768 }, ...written(8192, words)], {
    model: 'thinker',
    reasoning: { effort: 'high' },
  }),
  response(
    'reasoning between the words',
    [...written(4096, words), { thinks: 8192 }, ...written(4096, words)],
    {
      model: 'thinker',
      reasoning: { effort: 'low' },
    },
  ),
]
