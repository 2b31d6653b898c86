/** The values in snippets. */
export interface SnippetValues {
  /** The URL of the API, without a trailing slash. */
  readonly address: string
  readonly openai: string
  readonly anthropic: string
  readonly google: string
  readonly codex: string
}

/** A piece of code, with its purpose where there are several. */
export interface Snippet {
  readonly id: string
  readonly name?: string
  readonly code: string
}

/** The key as an environment variable, which all snippets read. */
export const keySnippet: Snippet = { id: 'key', code: 'export GATEWAY_KEY="gw-YOUR-KEY"' }

/** Each protocol with curl. */
export function curlSnippets({ address, openai, anthropic, google }: SnippetValues): readonly Snippet[] {
  return [
    {
      id: 'curl-openai',
      name: 'OpenAI',
      code: `curl ${address}/v1/chat/completions \\
  -H "Authorization: Bearer $GATEWAY_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${openai}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      id: 'curl-anthropic',
      name: 'Anthropic',
      code: `curl ${address}/v1/messages \\
  -H "x-api-key: $GATEWAY_KEY" \\
  -H "anthropic-version: 2023-06-01" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${anthropic}", "max_tokens": 200, "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      id: 'curl-gemini',
      name: 'Gemini',
      code: `curl ${address}/v1beta/models/${google}:generateContent \\
  -H "x-goog-api-key: $GATEWAY_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"contents": [{"parts": [{"text": "Hello"}]}]}'`,
    },
  ]
}

/** The three libraries in Python. */
export function pythonSnippets({ address, openai, anthropic, google }: SnippetValues): readonly Snippet[] {
  return [
    {
      id: 'python-openai',
      name: 'pip install openai',
      code: `import os
from openai import OpenAI

client = OpenAI(base_url="${address}/v1", api_key=os.environ["GATEWAY_KEY"])
answer = client.chat.completions.create(
    model="${openai}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      id: 'python-anthropic',
      name: 'pip install anthropic',
      code: `import os
from anthropic import Anthropic

client = Anthropic(base_url="${address}", api_key=os.environ["GATEWAY_KEY"])
answer = client.messages.create(
    model="${anthropic}",
    max_tokens=200,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content[0].text)`,
    },
    {
      id: 'python-gemini',
      name: 'pip install google-genai',
      code: `import os
from google import genai

client = genai.Client(
    api_key=os.environ["GATEWAY_KEY"],
    http_options={"base_url": "${address}", "api_version": "v1beta"},
)
answer = client.models.generate_content(model="${google}", contents="Hello")
print(answer.text)`,
    },
  ]
}

/** The three libraries in JavaScript. */
export function javascriptSnippets({
  address,
  openai,
  anthropic,
  google,
}: SnippetValues): readonly Snippet[] {
  return [
    {
      id: 'javascript-openai',
      name: 'npm install openai',
      code: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${address}/v1', apiKey: process.env.GATEWAY_KEY })
const answer = await client.chat.completions.create({
  model: '${openai}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0].message.content)`,
    },
    {
      id: 'javascript-anthropic',
      name: 'npm install @anthropic-ai/sdk',
      code: `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${address}', apiKey: process.env.GATEWAY_KEY })
const answer = await client.messages.create({
  model: '${anthropic}',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.content[0].text)`,
    },
    {
      id: 'javascript-gemini',
      name: 'npm install @google/genai',
      code: `import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({
  apiKey: process.env.GATEWAY_KEY,
  httpOptions: { baseUrl: '${address}', apiVersion: 'v1beta' },
})
const answer = await client.models.generateContent({ model: '${google}', contents: 'Hello' })
console.log(answer.text)`,
    },
  ]
}

/** Claude Code, through environment variables. */
export function claudeCodeSnippet({ address }: SnippetValues): Snippet {
  return {
    id: 'claude-code',
    code: `export ANTHROPIC_BASE_URL="${address}"
export ANTHROPIC_AUTH_TOKEN="$GATEWAY_KEY"
claude`,
  }
}

/** Codex, through its configuration file. */
export function codexSnippet({ address, codex }: SnippetValues): Snippet {
  return {
    id: 'codex',
    code: `model = "${codex}"
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "${address}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"`,
  }
}

/** Gemini CLI, through environment variables. */
export function geminiCliSnippet({ address, google }: SnippetValues): Snippet {
  return {
    id: 'gemini-cli',
    code: `export GOOGLE_GEMINI_BASE_URL="${address}"
export GEMINI_API_KEY="$GATEWAY_KEY"
gemini -m ${google}`,
  }
}
