import type { Client } from './client.ts'

/** The tool that the emulator's model calls, and the prompt from the command's last argument. */
const opening = `const prompt = process.argv.at(-1)
const { GATEWAY_URL: url, GATEWAY_KEY: apiKey } = process.env
const said = () => 'said-by-the-tool'
`

const aiSdk = (title: string, name: string, model: string, finishReason?: string): Client => ({
  name: `ai-sdk-${name}`,
  title,
  folder: 'ai-sdk',
  packages: [
    'ai@7.0.173',
    '@ai-sdk/openai@4.0.118',
    '@ai-sdk/anthropic@4.0.105',
    '@ai-sdk/google@4.0.121',
    '@ai-sdk/openai-compatible@3.0.92',
    'zod@4.6.7',
  ],
  tool: {
    name: 'say',
    arguments: { what: 'hello' },
    ...(finishReason !== undefined && { finishReason }),
  },
  script: `${opening}import { stepCountIs, streamText, tool } from 'ai'
import { createOpenAI } from '@ai-sdk/openai'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'
const say = tool({ description: 'Says something', inputSchema: z.object({ what: z.string() }), execute: said })
const { textStream } = streamText({ model: ${model}, prompt, tools: { say }, stopWhen: stepCountIs(3) })
for await (const part of textStream) process.stdout.write(part)
`,
})

export const libraryClients: readonly Client[] = [
  aiSdk("AI SDK, OpenAI's provider", 'openai', "createOpenAI({ baseURL: `${url}/v1`, apiKey })('gpt-6-sol')"),
  aiSdk(
    "AI SDK, Anthropic's provider",
    'anthropic',
    "createAnthropic({ baseURL: `${url}/v1`, apiKey })('claude-sonnet-5-5')",
  ),
  aiSdk(
    "AI SDK, Google's provider",
    'google',
    "createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })('gemini-3.8-flash')",
    'stop',
  ),
  aiSdk(
    'AI SDK, OpenAI-compatible',
    'compatible',
    "createOpenAICompatible({ name: 'gateway', baseURL: `${url}/v1`, apiKey, includeUsage: true })('gpt-5-mini')",
  ),
  {
    name: 'openai-agents',
    title: 'OpenAI Agents SDK',
    packages: ['@openai/agents@0.20.0', 'zod@4.6.7'],
    models: { files: '@openai/agents-core/dist/defaultModel.mjs', name: /['"](gpt-[a-z0-9.-]+)['"]/g },
    tool: { name: 'say', arguments: { what: 'hello' } },
    script: `${opening}import OpenAI from 'openai'
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents'
import { z } from 'zod'
setTracingDisabled(true)
setDefaultOpenAIClient(new OpenAI({ baseURL: \`\${url}/v1\`, apiKey }))
const say = tool({ name: 'say', description: 'Says something', parameters: z.object({ what: z.string() }), execute: said })
const stream = await run(new Agent({ name: 'Test', instructions: 'Help.', tools: [say] }), prompt, { stream: true })
stream.toTextStream({ compatibleWithNodeStreams: true }).pipe(process.stdout)
await stream.completed
`,
  },
  {
    name: 'langchain',
    title: 'LangChain',
    packages: ['langchain@1.5.14', '@langchain/openai@1.6.0', '@langchain/core@1.4.0', 'zod@4.6.7'],
    tool: { name: 'say', arguments: { what: 'hello' } },
    script: `${opening}import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
const say = tool(said, { name: 'say', description: 'Says something', schema: z.object({ what: z.string() }) })
const model = new ChatOpenAI({ model: 'gpt-5-mini', apiKey, configuration: { baseURL: \`\${url}/v1\` } })
const agent = createAgent({ model, tools: [say] })
const stream = await agent.stream({ messages: [{ role: 'user', content: prompt }] }, { streamMode: 'messages' })
for await (const [message] of stream) if (message.type === 'ai') process.stdout.write(message.text)
`,
  },
  {
    name: 'llamaindex',
    title: 'LlamaIndex',
    packages: ['llamaindex@0.12.1', '@llamaindex/openai@0.4.23', '@llamaindex/workflow@1.1.25', 'zod@4.6.7'],
    tool: { name: 'say', arguments: { what: 'hello' } },
    script: `${opening}import { openai } from '@llamaindex/openai'
import { agent, agentStreamEvent } from '@llamaindex/workflow'
import { tool } from 'llamaindex'
import { z } from 'zod'
const say = tool({ name: 'say', description: 'Says something', parameters: z.object({ what: z.string() }), execute: said })
const llm = openai({ model: 'gpt-4.1-mini', apiKey, baseURL: \`\${url}/v1\` })
for await (const event of agent({ llm, tools: [say] }).runStream(prompt))
  if (agentStreamEvent.include(event)) process.stdout.write(event.data.delta)
`,
  },
  {
    name: 'mastra',
    title: 'Mastra',
    packages: ['@mastra/core@1.71.0', 'zod@4.6.7'],
    tool: { name: 'say', arguments: { what: 'hello' } },
    script: `${opening}import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
const say = createTool({ id: 'say', description: 'Says something', inputSchema: z.object({ what: z.string() }), execute: async () => ({ said: said() }) })
const model = { id: 'gateway/gpt-5-mini', url: \`\${url}/v1\`, apiKey }
const agent = new Agent({ id: 'test', name: 'Test', instructions: 'Help.', model, tools: { say } })
const { textStream } = await agent.stream(prompt)
for await (const part of textStream) process.stdout.write(part)
`,
  },
  {
    name: 'claude-agent-sdk',
    title: 'Claude Agent SDK',
    packages: ['@anthropic-ai/claude-agent-sdk@0.3.331', 'zod@4.6.7'],
    tool: { name: 'Bash', arguments: { command: 'echo said-by-the-tool', description: 'Says something' } },
    env: ({ url, key }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    script: `import { query } from '@anthropic-ai/claude-agent-sdk'
for await (const message of query({ prompt: process.argv.at(-1), options: { allowedTools: ['Bash'] } })) {
  if (message.type === 'result') {
    console.log(message.result ?? message.errors)
    if (message.is_error) process.exitCode = 1
  }
}
`,
  },
]
