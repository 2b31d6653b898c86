import { toFile } from 'openai'
import t from 'tap'
import { batchLine } from '../fixtures/batch-clients.ts'
import { startEmulatedGateway } from '../fixtures/emulated-providers.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { until } from '../fixtures/until.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

await t.test("OpenAI's SDK makes a batch at an independent emulator, and it is charged once", async t => {
  const gateway = await startEmulatedGateway(t)
  const openai = openaiClient(gateway)
  const lines = ['a', 'b'].map(id => batchLine(id, 'gpt-5-mini')).join('')
  const file = await openai.files.create({
    file: await toFile(Buffer.from(lines), 'in.jsonl'),
    purpose: 'batch',
  })
  const { id } = await openai.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  // The emulator advances the batch with each poll.
  await until(async () => (await openai.batches.retrieve(id)).status === 'completed')
  const { output_file_id: output, request_counts: counts } = await openai.batches.retrieve(id)
  t.match(counts, { total: 2, completed: 2 })
  const content = await (await openai.files.content(String(output))).text()
  let tokens = 0
  for (const line of content.trim().split('\n')) {
    const { usage } = (
      JSON.parse(line) as {
        response: { body: { usage: { prompt_tokens: number; completion_tokens: number } } }
      }
    ).response.body
    tokens += usage.prompt_tokens * 100 + usage.completion_tokens * 1000
  }
  await until(async () => (await gateway.charges()).length > 0)
  const charges = await gateway.charges()
  t.equal(charges.length, 1)
  // This model has no factor for batches.
  t.equal(Math.round(Number(charges[0]?.amount) * 1e6), tokens)
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})
