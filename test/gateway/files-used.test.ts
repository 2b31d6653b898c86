import { toFile } from 'openai'
import t from 'tap'
import { callConfig } from '../fixtures/dialect-call.ts'
import { startFilesProvider } from '../fixtures/files-provider.ts'
import { anthropicClient, googleClient, openaiClient } from '../fixtures/sdk-clients.ts'
import { png, pngOfBytes } from '../fixtures/small-images.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const small = png(3, 3)
const large = pngOfBytes(2000)
const limits = { imageBytesMax: 1000 }
const provider = await startFilesProvider(t)
const gateway = await startTestGateway(t, {
  config: callConfig(
    provider.origin,
    {},
    {
      plugins: [
        'auth',
        'model-router',
        { 'size-limit': { openai: limits, anthropic: limits, google: limits } },
        'upstream-proxy',
        'usage-tap',
      ],
    },
  ),
})
const openai = openaiClient(gateway)
const anthropic = anthropicClient(gateway)
const google = googleClient(gateway)

/** Uploads an image and uses it in a request, by each official client. */
const uses: Readonly<Record<string, (image: Buffer) => Promise<unknown>>> = {
  async openai(image) {
    const { id } = await openai.files.create({ file: await toFile(image, 'a.png'), purpose: 'vision' })
    const content = [{ type: 'input_image' as const, file_id: id, detail: 'auto' as const }]
    return openai.responses.create({ model: 'gpt-5', input: [{ role: 'user', content }] })
  },
  async 'openai, in parts'(image) {
    const { id } = await openai.uploads.create({
      bytes: image.length,
      filename: 'a.png',
      mime_type: 'image/png',
      purpose: 'vision',
    })
    const part = await openai.uploads.parts.create(id, { data: await toFile(image, 'part') })
    const { file } = await openai.uploads.complete(id, { part_ids: [part.id] })
    const content = [{ type: 'input_image' as const, file_id: String(file?.id), detail: 'auto' as const }]
    return openai.responses.create({ model: 'gpt-5', input: [{ role: 'user', content }] })
  },
  async anthropic(image) {
    const { id } = await anthropic.beta.files.upload({ file: await toFile(image, 'a.png') })
    const content = [{ type: 'image' as const, source: { type: 'file' as const, file_id: id } }]
    return anthropic.beta.messages.create({
      model: 'claude',
      max_tokens: 10,
      messages: [{ role: 'user', content }],
    })
  },
  async google(image) {
    const file = await google.files.upload({
      file: new Blob([new Uint8Array(image)]),
      config: { mimeType: 'image/png' },
    })
    const parts = [{ fileData: { fileUri: String(file.uri), mimeType: 'image/png' } }]
    return google.models.generateContent({ model: 'gemini-2.5-flash', contents: [{ parts }] })
  },
}

for (const [client, use] of Object.entries(uses)) {
  await t.test(`${client}: the size limit applies to an uploaded image where it is used`, async t => {
    await use(small)
    const sent = provider.requests.length
    const error = await use(large).catch((reason: unknown) => reason)
    t.match(error, { status: 413 })
    t.match(String(error), /2000 bytes/, 'the measured size')
    t.ok(provider.requests.length > sent, 'it was uploaded')
    t.notMatch(provider.requests.at(-1)?.path, /responses|messages|generateContent/, 'and not used')
  })
}
