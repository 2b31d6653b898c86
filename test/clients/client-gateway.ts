import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import type { Test } from 'tap'
import type { CalledTool } from './client.ts'
import { reported as usage } from '../fixtures/emulated-providers.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

/** The emulator's reply, and its reply after a tool has returned. */
export const words = { text: 'The quick brown fox.', afterTool: 'The tool said what it had to.' }

const credential = 'provider-credential'
const refuseWords = join(import.meta.dirname, 'refuse-words.ts')
/** A request to generate, which names a model and is not a count of tokens. */
const isTry = /"operation":"(?!count).*"model":"./
const config = join(import.meta.dirname, '../../config')

export interface ClientGateway extends TestGateway {
  readonly mock: LLMock
  /** The key of an account without money. */
  readonly poorKey: string
  /** How many generations were requested, refused ones included. */
  tries(): number
  /** Requests since the last call whose responses had usage. */
  answered(): number
}

/** The gateway with the shipped models, in front of an emulator that calls a client's tool if the prompt names it. */
export async function startClientGateway(t: Test, tool: CalledTool): Promise<ClientGateway> {
  const mock = new LLMock({ port: 0, logLevel: 'silent', chunkSize: 7, auth: { apiKeys: [credential] } })
  mock.on({ hasToolResult: true }, { content: words.afterTool, usage })
  // The provider breaks off in the middle of its response.
  mock.on({ userMessage: /Be cut off/ }, { content: words.text, usage }, { truncateAfterChunks: 2 })
  mock.on(
    { userMessage: /use the tool/ },
    {
      toolCalls: [{ name: tool.name, arguments: JSON.stringify(tool.arguments) }],
      usage,
      ...(tool.finishReason !== undefined && { finishReason: tool.finishReason }),
    },
  )
  mock.on({ userMessage: /[^]*/ }, { content: words.text, usage })
  // Codex sends an empty request first, to have the conversation cached.
  mock.on({ predicate: ({ messages }) => messages.length === 0 }, { content: '', usage })
  await mock.start()
  t.teardown(() => mock.stop())
  const credentials = [credential]
  const openai = { baseUrl: `${mock.url}/v1` }
  const gateway = await startTestGateway(t, {
    config: {
      include: [join(config, 'providers.yaml'), join(config, 'models.yaml')],
      providers: {
        openai: { credentials, dialects: { openai } },
        anthropic: { credentials, dialects: { anthropic: { baseUrl: `${mock.url}/v1` }, openai } },
        google: { credentials, dialects: { google: { baseUrl: `${mock.url}/v1beta` }, openai } },
      },
      defaultProvider: { openai: 'openai', anthropic: 'anthropic', google: 'google' },
      plugins: ['auth', 'model-router', refuseWords, 'size-limit', 'upstream-proxy', 'usage-tap'],
    },
  })
  const poor = await gateway.accounts.createAccount({ email: 'poor@example.org' })
  const { key: poorKey } = await gateway.accounts.createKey({ accountId: poor.id })
  let seen = 0
  return {
    ...gateway,
    mock,
    poorKey,
    tries: () =>
      gateway.logLines.filter(line => line.includes('"msg":"exchange"') && isTry.test(line)).length,
    answered() {
      const all = mock.getRequests().filter(({ response }) => response.status === 200).length
      const since = all - seen
      seen = all
      return since
    },
  }
}
