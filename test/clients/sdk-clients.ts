import type { Client } from './client.ts'

const say = { name: 'say', arguments: { what: 'hello' } }
const schema = `{ type: 'object', properties: { what: { type: 'string' } }, required: ['what'] }`

/** Requests once without streaming for the plain prompt, and otherwise a stream, with a tool. */
const opening = `const prompt = process.argv.at(-1)
const { GATEWAY_URL: url, GATEWAY_KEY: apiKey } = process.env
const isPlain = prompt === 'Say hello.'
`

const packages = ['openai@7.57.0', '@anthropic-ai/sdk@1.13.0', '@google/genai@3.3.0']
const javascript = { folder: 'sdks', packages, tool: say }

const pythonPackages = ['openai==3.22.1', 'anthropic==1.13.0', 'google-genai==2.25.0']
const python = { folder: 'python', packages: pythonPackages, isPython: true, tool: say }

const pythonOpening = `import json, os, sys
prompt, url, key = sys.argv[-1], os.environ["GATEWAY_URL"], os.environ["GATEWAY_KEY"]
is_plain = prompt == "Say hello."
schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
`

export const sdkClients: readonly Client[] = [
  {
    name: 'openai-javascript',
    title: "OpenAI's SDK, JavaScript",
    ...javascript,
    script: `${opening}import OpenAI from 'openai'
const client = new OpenAI({ baseURL: \`\${url}/v1\`, apiKey })
const model = 'gpt-5-mini'
const tools = [{ type: 'function', function: { name: 'say', parameters: ${schema} } }]
const messages = [{ role: 'user', content: prompt }]
if (isPlain) console.log((await client.chat.completions.create({ model, messages })).choices[0].message.content)
for (;;) {
  const { choices } = await client.chat.completions.stream({ model, messages, tools }).finalChatCompletion()
  const { content, tool_calls: calls = [] } = choices[0].message
  if (content) console.log(content)
  if (calls.length === 0) break
  messages.push({ role: 'assistant', tool_calls: calls })
  for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'said-by-the-tool' })
}
`,
  },
  {
    name: 'anthropic-javascript',
    title: "Anthropic's SDK, JavaScript",
    ...javascript,
    script: `${opening}import Anthropic from '@anthropic-ai/sdk'
const client = new Anthropic({ baseURL: url, apiKey })
const request = { model: 'claude-sonnet-5', max_tokens: 200, tools: [{ name: 'say', input_schema: ${schema} }] }
const messages = [{ role: 'user', content: prompt }]
if (isPlain) console.log((await client.messages.create({ ...request, messages })).content[0].text)
for (;;) {
  const { content } = await client.messages.stream({ ...request, messages }).finalMessage()
  for (const { text } of content) if (text) console.log(text)
  const calls = content.filter(({ type }) => type === 'tool_use')
  if (calls.length === 0) break
  messages.push({ role: 'assistant', content })
  messages.push({ role: 'user', content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'said-by-the-tool' })) })
}
`,
  },
  {
    name: 'google-javascript',
    title: "Google's SDK, JavaScript",
    ...javascript,
    tool: { ...say, finishReason: 'stop' },
    script: `${opening}import { GoogleGenAI } from '@google/genai'
const client = new GoogleGenAI({ apiKey, apiVersion: 'v1beta', httpOptions: { baseUrl: url } })
const model = 'gemini-3.8-flash'
const config = { tools: [{ functionDeclarations: [{ name: 'say', parametersJsonSchema: ${schema} }] }] }
const contents = [{ role: 'user', parts: [{ text: prompt }] }]
if (isPlain) console.log((await client.models.generateContent({ model, contents })).text)
for (;;) {
  const parts = []
  for await (const chunk of await client.models.generateContentStream({ model, contents, config }))
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
  console.log(parts.map(({ text }) => text ?? '').join(''))
  const calls = parts.filter(({ functionCall }) => functionCall)
  if (calls.length === 0) break
  contents.push({ role: 'model', parts: calls })
  contents.push({ role: 'user', parts: calls.map(({ functionCall: { id, name } }) => ({ functionResponse: { id, name, response: { output: 'said-by-the-tool' } } })) })
}
`,
  },
  {
    name: 'openai-python',
    title: "OpenAI's SDK, Python",
    ...python,
    script: `${pythonOpening}from openai import OpenAI
client = OpenAI(base_url=url + "/v1", api_key=key)
request = dict(model="gpt-5-mini", tools=[{"type": "function", "function": {"name": "say", "parameters": schema}}])
messages = [{"role": "user", "content": prompt}]
if is_plain:
    print(client.chat.completions.create(model="gpt-5-mini", messages=messages).choices[0].message.content)
while True:
    with client.chat.completions.stream(messages=messages, **request) as stream:
        message = stream.get_final_completion().choices[0].message
    print(message.content or "")
    if not message.tool_calls:
        break
    messages.append({"role": "assistant", "tool_calls": [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in message.tool_calls]})
    for call in message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "said-by-the-tool"})
`,
  },
  {
    name: 'anthropic-python',
    title: "Anthropic's SDK, Python",
    ...python,
    script: `${pythonOpening}from anthropic import Anthropic
client = Anthropic(base_url=url, api_key=key)
request = dict(model="claude-sonnet-5", max_tokens=200, tools=[{"name": "say", "input_schema": schema}])
messages = [{"role": "user", "content": prompt}]
if is_plain:
    print(client.messages.create(messages=messages, **request).content[0].text)
while True:
    with client.messages.stream(messages=messages, **request) as stream:
        message = stream.get_final_message()
    for block in message.content:
        if block.type == "text":
            print(block.text)
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        break
    messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input} for c in calls]})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": "said-by-the-tool"} for c in calls]})
`,
  },
  {
    name: 'google-python',
    title: "Google's SDK, Python",
    ...python,
    tool: { ...say, finishReason: 'stop' },
    script: `${pythonOpening}from google import genai
from google.genai import types
client = genai.Client(api_key=key, http_options={"base_url": url, "api_version": "v1beta"})
model = "gemini-3.8-flash"
config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="say", parameters_json_schema=schema)])])
contents = [types.Content(role="user", parts=[types.Part(text=prompt)])]
if is_plain:
    print(client.models.generate_content(model=model, contents=contents).text)
while True:
    parts = []
    for chunk in client.models.generate_content_stream(model=model, contents=contents, config=config):
        parts += (chunk.candidates[0].content.parts or []) if chunk.candidates and chunk.candidates[0].content else []
    print("".join(part.text or "" for part in parts))
    calls = [part for part in parts if part.function_call]
    if not calls:
        break
    contents.append(types.Content(role="model", parts=calls))
    contents.append(types.Content(role="user", parts=[types.Part(function_response=types.FunctionResponse(id=p.function_call.id, name=p.function_call.name, response={"output": "said-by-the-tool"})) for p in calls]))
`,
  },
]
