import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Requests of real programs, in the sizes and with the fields that were recorded of them (wire.md section 6). */
export interface Agent {
  readonly name: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** The earlier hold of the gateway for it, in roubles: three bytes per token, and the output up to the cap. */
  readonly heldBeforeRub: number
}

const root = resolve(import.meta.dirname, '../..')
/** Prose and source as such programs send in their instructions. */
const prose = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/operating.md']
  .map(file => readFileSync(resolve(root, file), 'utf8'))
  .join('\n')
const source = readFileSync(resolve(root, 'lib/http/json-scanner.ts'), 'utf8')

function proseOf(bytes: number): string {
  return prose.repeat(Math.ceil(bytes / prose.length)).slice(0, bytes)
}

function schemaOf(index: number): object {
  return {
    type: 'object',
    properties: {
      file_path: { type: 'string', description: proseOf(200) },
      command: { type: 'string', description: `The command number ${index}` },
      timeout: { type: 'number', description: 'Optional timeout in milliseconds (max 600000)' },
    },
    required: ['file_path'],
    additionalProperties: false,
  }
}

const cached = { cache_control: { type: 'ephemeral' } }
const tools = 18

/** Claude Code 2.1: about 85 KB of instructions and tools, adaptive thinking, 32,000 tokens of output at most. */
export const claudeCode: Agent = {
  name: 'Claude Code',
  path: '/v1/messages?beta=true',
  heldBeforeRub: 59,
  body: {
    model: 'claude-sonnet-5',
    max_tokens: 32_000,
    stream: true,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'medium' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: 'user_x' },
    system: [
      { type: 'text', text: 'You are Claude Code.' },
      { type: 'text', text: proseOf(18_000), ...cached },
    ],
    tools: Array.from({ length: tools }, (_, index) => ({
      name: `Tool${index}`,
      description: proseOf(2400),
      input_schema: schemaOf(index),
      ...(index === tools - 1 && cached),
    })),
    messages: [
      { role: 'user', content: [{ type: 'text', text: `${proseOf(3000)}\n${source}` }] },
      { role: 'user', content: [{ type: 'text', text: 'Why does the scanner count twice?', ...cached }] },
    ],
  },
}

/** Codex: instructions, function tools and its search, reasoning at medium effort, no cap on output. */
export const codex: Agent = {
  name: 'Codex',
  path: '/v1/responses',
  heldBeforeRub: 130.5,
  body: {
    model: 'gpt-5-codex',
    instructions: proseOf(12_000),
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: proseOf(4000) }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: source }] },
    ],
    tools: [
      ...Array.from({ length: 6 }, (_, index) => ({
        type: 'function',
        name: `tool_${index}`,
        description: proseOf(500),
        parameters: schemaOf(index),
      })),
      { type: 'custom', name: 'apply_patch', description: proseOf(500) },
      { type: 'web_search', external_web_access: false },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'x',
  },
}

/** The first example of OpenAI's SDK: not streamed, without a cap. */
export const hello: Agent = {
  name: "an SDK's hello",
  path: '/v1/chat/completions',
  heldBeforeRub: 25.61,
  body: { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] },
}

export const agents = [claudeCode, codex, hello]
