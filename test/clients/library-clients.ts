import type { Client } from './client.ts'

/** The tool that the emulator's model calls, and the question of the command's last word. */
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
const { messages } = await createAgent({ model, tools: [say] }).invoke({ messages: [{ role: 'user', content: prompt }] })
console.log(messages.at(-1).text)
`,
  },
]
