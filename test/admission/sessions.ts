import { livePath } from '../fixtures/session-gateway.ts'
import { outputTokens, windowTokens } from './answers.ts'

/** A session whose turns are as expensive as its provider's documents allow. */
export interface SessionAttack {
  readonly name: string
  /** Includes the query. */
  readonly path: string
  /** The provider's first message. */
  readonly greeting?: object
  /** What the client sends before its turns. */
  readonly opening: readonly object[]
  /** The provider's response to each message of the opening. */
  readonly opened?: object
  /** The client's message that requests a turn. */
  readonly turn: object
  /** Whether a message of the client begins a turn. */
  isTurn(message: Readonly<Record<string, unknown>>): boolean
  /** The provider's messages for the turn with this number, from 0. */
  answer(number: number): readonly SessionStep[]
  /** The type or member of the message that ends a turn. */
  readonly end: string
  /** The client leaves as soon as it has requested a turn. */
  readonly leaves?: boolean
}

/** A message of the provider, and the turn's cost for the provider's customer up to it. */
export interface SessionStep {
  readonly event: object
  readonly billedMicros: number
  /** Whether it announces a tool, whose result takes time. */
  readonly isTool?: boolean
}

/** Micro-roubles per token, and per search, for the models of the table. */
const perToken = { input: 100, output: 500, audioInput: 300, audioOutput: 2000 }
const perSearch = 1_000_000
const loops = 10

interface Used {
  readonly input?: number
  readonly output?: number
  readonly audioInput?: number
  readonly audioOutput?: number
  readonly searches?: number
}

function billed({ input = 0, output = 0, audioInput = 0, audioOutput = 0, searches = 0 }: Used): number {
  const audio = audioInput * perToken.audioInput + audioOutput * perToken.audioOutput
  return input * perToken.input + output * perToken.output + audio + searches * perSearch
}

function billedAtOnce(used: Used, events: readonly object[]): readonly SessionStep[] {
  return events.map(event => ({ event, billedMicros: billed(used) }))
}

let ids = 0

function realtimeAnswer(used: Used): readonly SessionStep[] {
  const { input = 0, output = 0, audioInput = 0, audioOutput = 0 } = used
  const id = `resp_${(ids += 1)}`
  const usage = {
    total_tokens: input + output + audioInput + audioOutput,
    input_tokens: input + audioInput,
    output_tokens: output + audioOutput,
    input_token_details: { text_tokens: input, audio_tokens: audioInput, cached_tokens: 0 },
    output_token_details: { text_tokens: output, audio_tokens: audioOutput },
  }
  return billedAtOnce(used, [
    { type: 'response.created', response: { id, status: 'in_progress' } },
    { type: 'response.done', response: { id, status: 'completed', usage } },
  ])
}

function realtime(
  name: string,
  answer: (number: number) => Used,
  more: Partial<Pick<SessionAttack, 'opening' | 'turn' | 'opened' | 'leaves'>> = {},
): SessionAttack {
  return {
    name: `realtime: ${name}`,
    path: '/openai/v1/realtime?model=gpt-realtime',
    greeting: {
      type: 'session.created',
      session: { type: 'realtime', audio: { input: { turn_detection: null } } },
    },
    opening: [],
    turn: { type: 'response.create' },
    isTurn: ({ type }) => type === 'response.create',
    answer: number => realtimeAnswer(answer(number)),
    end: 'response.done',
    ...more,
  }
}

function liveAnswer(used: Used): readonly SessionStep[] {
  const { input = 0, output = 0, audioInput = 0, audioOutput = 0, searches = 0 } = used
  const queries = Array.from({ length: searches }, (_, number) => `query ${number}`)
  const usageMetadata = {
    promptTokenCount: input + audioInput,
    responseTokenCount: output + audioOutput,
    totalTokenCount: input + output + audioInput + audioOutput,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: input },
      { modality: 'AUDIO', tokenCount: audioInput },
    ],
    responseTokensDetails: [
      { modality: 'TEXT', tokenCount: output },
      { modality: 'AUDIO', tokenCount: audioOutput },
    ],
  }
  const grounding = searches > 0 ? { groundingMetadata: { webSearchQueries: queries } } : {}
  return billedAtOnce(used, [
    { serverContent: { modelTurn: { parts: [{ text: 'Well' }] }, ...grounding } },
    { serverContent: { turnComplete: true }, usageMetadata },
  ])
}

function live(
  name: string,
  answer: (number: number) => Used,
  { setup = {}, ...more }: { readonly setup?: object; readonly leaves?: boolean } = {},
): SessionAttack {
  return {
    name: `live: ${name}`,
    path: `/google${livePath}`,
    opening: [{ setup: { model: 'models/gemini-live', ...setup } }],
    opened: { setupComplete: {} },
    turn: { clientContent: { turns: [{ role: 'user', parts: [{ text: 'Hello' }] }], turnComplete: true } },
    isTurn: message => 'clientContent' in message,
    answer: number => liveAnswer(answer(number)),
    end: 'turnComplete',
    ...more,
  }
}

/** The steps of a response: text up to its cap, or repeated uses of a tool, each of which it announces. */
function responseSteps(used: Used, tool: string | undefined): readonly SessionStep[] {
  const id = `resp_${(ids += 1)}`
  const { input = 0, output = 0, searches = 0 } = used
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  const tool_usage = { web_search: { num_requests: searches } }
  const begin = { type: 'response.created', response: { id, status: 'in_progress', model: 'm' } }
  const end = {
    type: 'response.completed',
    response: { id, status: 'completed', model: 'm', usage, tool_usage },
  }
  const uses = Array.from({ length: tool === undefined ? 0 : loops }, (_, use) => ({
    event: { type: `response.${tool}.in_progress`, item_id: `item_${use}`, output_index: use },
    billedMicros: Math.round((billed({ ...used, output: 0 }) * (use + 1)) / loops),
    isTool: true,
  }))
  const billedMicros = billed(used)
  return [{ event: begin, billedMicros: 0 }, ...uses, { event: end, billedMicros }]
}

function responses(
  name: string,
  used: Used,
  {
    leaves = false,
    tool,
    tools,
  }: { readonly leaves?: boolean; readonly tool?: string; readonly tools?: object[] } = {},
): SessionAttack {
  return {
    name: `responses: ${name}`,
    path: '/openai/v1/responses',
    opening: [],
    turn: {
      type: 'response.create',
      model: 'gpt-4o-mini',
      input: 'Hello',
      ...(tools !== undefined && { tools }),
    },
    isTurn: ({ type }) => type === 'response.create',
    answer: () => responseSteps(used, tool),
    end: 'response.completed',
    leaves,
  }
}

const capped = (): Used => ({ input: 100, audioOutput: outputTokens })
/** Each turn reads the output of the earlier ones. */
const growing = (number: number): Used => ({
  input: 100,
  output: outputTokens,
  audioInput: number * outputTokens,
})
const reading = (): Used => ({ input: loops * windowTokens, output: 100 })
const mcp = { tools: [{ type: 'mcp', server_label: 's', server_url: 'https://example.com/mcp' }] }

export const sessionAttacks: readonly SessionAttack[] = [
  realtime('speech up to the cap', capped),
  realtime('speech up to the cap, and away', capped, { leaves: true }),
  realtime('speech that every later turn reads again', growing),
  realtime('text up to a cap of its own', () => ({ input: 100, output: 4096 }), {
    turn: { type: 'response.create', response: { max_output_tokens: 4096, output_modalities: ['text'] } },
  }),
  realtime('pages of a server of tools', reading, {
    opening: [{ type: 'session.update', session: { type: 'realtime', ...mcp } }],
    opened: {
      type: 'session.updated',
      session: { type: 'realtime', ...mcp, audio: { input: { turn_detection: null } } },
    },
  }),
  realtime('pages of a server of tools that a response names', reading, {
    turn: { type: 'response.create', response: mcp },
  }),
  realtime('pages of a server of tools, and away', reading, {
    turn: { type: 'response.create', response: mcp },
    leaves: true,
  }),
  live('speech up to the cap', capped),
  live('speech up to the cap, and away', capped, { leaves: true }),
  live('speech that every later turn reads again', growing),
  live('searches', () => ({ input: 100, audioOutput: 100, searches: loops }), {
    setup: { tools: [{ googleSearch: {} }] },
  }),
  live('pages that it fetches', reading, { setup: { tools: [{ urlContext: {} }] } }),
  live('code that it runs, and away', reading, { setup: { tools: [{ codeExecution: {} }] }, leaves: true }),
  responses('text up to the cap', { input: 100, output: outputTokens }),
  responses('text up to the cap, and away', { input: 100, output: outputTokens }, { leaves: true }),
  responses(
    'searches',
    { input: loops * 128_000, output: 100, searches: loops },
    { tool: 'web_search_call', tools: [{ type: 'web_search' }] },
  ),
  responses('pages of a server of tools', reading(), { tool: 'mcp_call', ...mcp }),
]
