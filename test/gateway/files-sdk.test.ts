import { toFile } from 'openai'
import t from 'tap'
import { callConfig } from '../fixtures/dialect-call.ts'
import { startFilesProvider } from '../fixtures/files-provider.ts'
import {
  anthropicClient,
  googleClient,
  googleClientAtItsVersion,
  openaiClient,
} from '../fixtures/sdk-clients.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const provider = await startFilesProvider(t)
const gateway = await startTestGateway(t, { config: callConfig(provider.origin) })
const content = Buffer.from('%PDF-1.4\n1 0 obj\n<< /Type /Page >>\nendobj\n%%EOF\n')

await t.test("OpenAI's client uploads a file, uses it, reads it back and deletes it", async t => {
  const openai = openaiClient(gateway)
  const file = await openai.files.create({ file: await toFile(content, 'a.pdf'), purpose: 'user_data' })
  t.ok(provider.files.get(file.id)?.bytes.equals(content), 'the same bytes')
  t.match(await openai.files.retrieve(file.id), { id: file.id, bytes: content.length })
  const back = await openai.files.content(file.id)
  t.ok(Buffer.from(await back.arrayBuffer()).equals(content))
  const response = await openai.responses.create({
    model: 'gpt-5',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }],
  })
  t.equal(response.usage?.output_tokens, 7)
  t.match(await openai.files.delete(file.id), { deleted: true })
  t.notOk(provider.files.has(file.id))
  t.equal((await gateway.charges()).length, 1, 'only the response is charged')
})

await t.test("OpenAI's client uploads a file in parts", async t => {
  const openai = openaiClient(gateway)
  const upload = await openai.uploads.create({
    bytes: content.length,
    filename: 'a.pdf',
    mime_type: 'application/pdf',
    purpose: 'user_data',
  })
  const parts: string[] = []
  for (const piece of [content.subarray(0, 9), content.subarray(9)]) {
    const part = await openai.uploads.parts.create(upload.id, { data: await toFile(piece, 'part') })
    parts.push(part.id)
  }
  const whole = await openai.uploads.complete(upload.id, { part_ids: parts })
  t.ok(provider.files.get(String(whole.file?.id))?.bytes.equals(content))
  t.match(await openai.files.retrieve(String(whole.file?.id)), { bytes: content.length })
  const other = await openai.uploads.create({
    bytes: 1,
    filename: 'b',
    mime_type: 'text/plain',
    purpose: 'user_data',
  })
  t.match(await openai.uploads.cancel(other.id), { status: 'cancelled' })
})

await t.test("Anthropic's client uploads a file, uses it, reads it back and deletes it", async t => {
  const anthropic = anthropicClient(gateway)
  const file = await anthropic.beta.files.upload({
    file: await toFile(content, 'a.pdf', { type: 'application/pdf' }),
  })
  t.ok(provider.files.get(file.id)?.bytes.equals(content), 'the same bytes')
  t.match(await anthropic.beta.files.retrieveMetadata(file.id), { size_bytes: content.length })
  const back = await anthropic.beta.files.download(file.id)
  t.ok(Buffer.from(await back.arrayBuffer()).equals(content))
  const message = await anthropic.beta.messages.create({
    model: 'claude',
    max_tokens: 10,
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: file.id } }] }],
  })
  t.equal(message.usage.output_tokens, 7)
  await anthropic.beta.files.delete(file.id)
  t.notOk(provider.files.has(file.id))
  t.equal((await gateway.charges()).length, 2, 'only the responses are charged')
})

for (const [path, client] of [
  ['', googleClient],
  ['/google', googleClient],
  ['', googleClientAtItsVersion],
  ['/google', googleClientAtItsVersion],
] as const) {
  await t.test(
    `Google's client (${client.name}) uploads a file, uses it and deletes it, below ${path}/`,
    async t => {
      const google = client({ url: gateway.url + path, key: gateway.key })
      const charged = (await gateway.charges()).length
      const file = await google.files.upload({
        file: new Blob([content], { type: 'application/pdf' }),
        config: { mimeType: 'application/pdf' },
      })
      t.ok(provider.files.get(String(file.name))?.bytes.equals(content), 'the same bytes')
      t.match(await google.files.get({ name: String(file.name) }), { sizeBytes: String(content.length) })
      const answer = await google.models.generateContent({
        model: 'gemini-2.5-flash',
        contents: [{ parts: [{ fileData: { fileUri: String(file.uri), mimeType: 'application/pdf' } }] }],
      })
      t.equal(answer.text, 'A fox.')
      await google.files.delete({ name: String(file.name) })
      t.notOk(provider.files.has(String(file.name)))
      t.equal((await gateway.charges()).length, charged + 1, 'only the response is charged')
    },
  )
}

await t.test("every request has the provider's credential, and none has the client's key", t => {
  for (const { headers } of provider.requests) {
    t.notMatch(JSON.stringify(headers), gateway.key)
    t.match(JSON.stringify(headers), /sk-provider-credential/)
  }
  t.end()
})
