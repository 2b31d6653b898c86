import { toFile } from 'openai'
import t from 'tap'
import { startFilesProvider } from '../fixtures/files-provider.ts'
import { mp4 } from '../fixtures/media/video-files.ts'
import { pdf } from '../fixtures/media/pdf-files.ts'
import { anthropicClient, googleClient, openaiClient } from '../fixtures/sdk-clients.ts'
import { checkError } from '../fixtures/sdk-errors.ts'
import { pngOfBytes, pngOfSides } from '../fixtures/small-images.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

const provider = await startFilesProvider(t)
const baseUrl = (version: string): object => ({ baseUrl: `${provider.origin}/${version}` })
const gateway = await startTestGateway(t, {
  config: {
    providers: {
      openai: { credentials: ['c'], dialects: { openai: baseUrl('v1') } },
      anthropic: { credentials: ['c'], dialects: { anthropic: baseUrl('v1') } },
      google: { credentials: ['c'], dialects: { google: baseUrl('v1beta') } },
    },
    models: {
      gpt: { provider: 'openai', outputTokensMax: 10, rubPerMillion: { input: '1', output: '1' } },
      claude: { provider: 'anthropic', outputTokensMax: 10, rubPerMillion: { input: '1', output: '1' } },
      'gemini-pro': { provider: 'google', outputTokensMax: 10, rubPerMillion: { input: '1', output: '1' } },
      dear: { provider: 'google', outputTokensMax: 1, rubPerMillion: { input: '1000000', output: '0' } },
    },
    defaultProvider: { openai: 'openai', anthropic: 'anthropic', google: 'google' },
    plugins: [
      'auth',
      'model-router',
      { 'size-limit': { openai: { imageBytesMax: 4096 } } },
      'upstream-proxy',
      'usage-tap',
    ],
  },
})

/** The numbers of sent requests and of charges, once nothing is held. */
async function trace(): Promise<{ sent: number; charges: number; heldMicros: number }> {
  await until(async () => (await gateway.balance()).heldMicros === 0)
  return { sent: provider.requests.length, charges: (await gateway.charges()).length, heldMicros: 0 }
}

async function failure(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return error
  }
}

await t.test('the limits apply to an image uploaded to OpenAI where it is used', async t => {
  const client = openaiClient(gateway)
  const use = async (bytes: number): Promise<unknown> => {
    const file = await client.files.create({
      file: await toFile(pngOfBytes(bytes), 'a.png'),
      purpose: 'vision',
    })
    const content = [{ type: 'input_image' as const, file_id: file.id, detail: 'auto' as const }]
    const before = await trace()
    const answer = await failure(() =>
      client.responses.create({ model: 'gpt', input: [{ role: 'user', content }] }),
    )
    if (answer instanceof Error) t.same(await trace(), before, 'nothing was sent or charged')
    return answer
  }
  t.match(await use(4096), { status: 'completed' })
  checkError(
    t,
    'openai',
    await use(4097),
    'media_too_large',
    /is 4097 bytes, and at most 4096 are accepted/,
    'input[0].content[0].file_id',
  )
})

await t.test(
  'the limits apply to documents and images uploaded to Anthropic where they are used',
  async t => {
    const client = anthropicClient(gateway)
    const use = async (data: Buffer, name: string, type: string): Promise<unknown> => {
      const { id } = await client.beta.files.upload({ file: await toFile(data, name, { type }) })
      const source = { type: 'file' as const, file_id: id }
      const block = type.startsWith('image/')
        ? { type: 'image' as const, source }
        : { type: 'document' as const, source }
      const before = await trace()
      const answer = await failure(() =>
        client.beta.messages.create({
          model: 'claude',
          max_tokens: 9,
          messages: [{ role: 'user', content: [block] }],
        }),
      )
      if (answer instanceof Error) t.same(await trace(), before, 'nothing was sent or charged')
      return answer
    }
    const place = 'messages[0].content[0].source.file_id'
    t.match(await use(pdf(600, { isPacked: true }), 'a.pdf', 'application/pdf'), { type: 'message' })
    const tooMany = await use(pdf(601), 'a.pdf', 'application/pdf')
    checkError(t, 'anthropic', tooMany, 'media_too_large', /comes to 601 pages, and at most 600/, place)
    t.match(await use(pngOfSides(8000, 9), 'a.png', 'image/png'), { type: 'message' })
    const tooWide = await use(pngOfSides(8001, 9), 'a.png', 'image/png')
    checkError(t, 'anthropic', tooWide, 'media_too_large', /is 8001 x 9 pixels, and at most 8000/, place)
  },
)

await t.test('the limits and the hold apply to videos uploaded to Google where they are used', async t => {
  const client = googleClient(gateway)
  const use = async (seconds: number, model = 'gemini-pro'): Promise<unknown> => {
    const video = mp4(seconds, { dataBytes: 300_000, isIndexLast: true })
    const file = await client.files.upload({
      file: new Blob([new Uint8Array(video)]),
      config: { mimeType: 'video/mp4' },
    })
    const before = await trace()
    const answer = await failure(() =>
      client.models.generateContent({
        model,
        contents: [
          { role: 'user', parts: [{ fileData: { fileUri: String(file.uri), mimeType: 'video/mp4' } }] },
        ],
      }),
    )
    if (answer instanceof Error) t.same(await trace(), before, 'nothing was sent or charged')
    return answer
  }
  t.match(await use(3600), { usageMetadata: { totalTokenCount: 18 } })
  checkError(
    t,
    'google',
    await use(3601),
    'media_too_long',
    /is 3601 seconds long, and at most 3600/,
    'contents[0].parts[0].fileData',
  )
  // A rouble a token, 300 tokens a second, and 1,000 roubles on the account.
  t.match(await use(3, 'dear'), { usageMetadata: { totalTokenCount: 18 } })
  checkError(t, 'google', await use(4, 'dear'), 'balance_insufficient', /likely costs 12\d\d\./)
})

await t.test('the ledger is in order', async t => t.same(await gateway.breaches(), []))
