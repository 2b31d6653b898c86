import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openSession } from '../fixtures/session-client.ts'
import { startSessionUpstream, type ProviderSession } from '../fixtures/session-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

interface Frame {
  readonly direction: 'sent' | 'received'
  readonly data: unknown
}

interface SessionRecording {
  readonly tags: readonly string[]
  readonly frames: readonly Frame[]
  readonly expected_usage: readonly { readonly event: string; readonly usage: Record<string, unknown> }[]
}

const folder = resolve(import.meta.dirname, '../../../shared/recordings/realtime-ws')
const livePath = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
const rubPerMillion = {
  input: '1000',
  output: '1000',
  audioInput: '1000',
  audioOutput: '1000',
  cachedInput: '1000',
}

if (!existsSync(folder)) {
  t.comment('skipped: the recordings are not here')
} else {
  for (const file of readdirSync(folder)) {
    const recording = JSON.parse(readFileSync(join(folder, file), 'utf8')) as SessionRecording
    await t.test(`${file}: the same frames in both directions, and a charge a turn`, async t => {
      await replay(t, recording)
    })
  }
}

async function replay(t: Test, { tags, frames, expected_usage: expected }: SessionRecording): Promise<void> {
  const isLive = tags.includes('gemini-live')
  const upstream = await startSessionUpstream(t, session => void speak(session, frames))
  const provider = isLive ? 'google' : tags.includes('xai-realtime') ? 'xai' : 'openai'
  const gateway = await startSessions(t, provider, upstream.origin)
  const path = isLive ? livePath : `/v1/realtime?model=${provider === 'xai' ? 'grok-voice' : 'gpt-realtime'}`
  const client = await openSession(t, gateway.url + path, { key: gateway.key })

  let seen = 0
  for (const { direction, data } of frames) {
    if (direction === 'sent') client.send(data)
    else {
      seen += 1
      const count = seen
      await until(() => client.received.length >= count)
    }
  }
  const of = (direction: Frame['direction']): string[] =>
    frames.filter(frame => frame.direction === direction).map(({ data }) => JSON.stringify(data))
  await until(() => upstream.sessions[0]?.received.length === of('sent').length)
  t.same(client.received, of('received'), 'the client received every frame unchanged')
  t.same(upstream.sessions[0]?.received, of('sent'), 'the provider received every frame unchanged')

  client.socket.close(1000)
  t.equal((await client.closed).code, 1000)
  await until(() => gateway.logLines.some(line => line.includes('"msg":"exchange"')))
  const charges = await gateway.charges()
  t.same(
    charges.map(charge => charge.usage).sort(bySize),
    expected.map(({ usage }) => expectedMeters(usage, provider)).sort(bySize),
    'charged by the reported usage',
  )
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.same(await gateway.breaches(), [])
}

function bySize(left: object, right: object): number {
  return JSON.stringify(left).length - JSON.stringify(right).length
}

/** Sends the recorded frames of the provider, and waits for the client's message where the client sent one. */
async function speak(session: ProviderSession, frames: readonly Frame[]): Promise<void> {
  let messages = 0
  for (const { direction, data } of frames) {
    if (direction === 'received') session.socket.send(JSON.stringify(data))
    else {
      messages += 1
      const count = messages
      await until(() => session.received.length >= count)
    }
  }
}

async function startSessions(t: Test, provider: string, origin: string): Promise<TestGateway> {
  const dialects =
    provider === 'google'
      ? { google: { baseUrl: `${origin}/v1beta` } }
      : { openai: { baseUrl: `${origin}/v1` } }
  return await startTestGateway(t, {
    rub: 100_000,
    config: {
      providers: { [provider]: { credentials: ['provider-credential'], dialects } },
      models: {
        '*': { provider, outputTokensMax: 4096, rubPerMillion, rubPerUnit: {} },
        'gpt-realtime-whisper': { provider, rubPerUnit: { audioSeconds: '0.5' } },
      },
    },
  })
}

/** The meters of a reported usage, computed independently of the gateway's readers. */
function expectedMeters(usage: Record<string, unknown>, provider: string): Record<string, number> {
  if (usage['type'] === 'duration') return { audioSeconds: Number(usage['seconds']) }
  const meters: Record<string, number> = {}
  const add = (name: string, units: number): void => {
    if (units > 0 || name === 'input' || name === 'output') meters[name] = units
  }
  if (provider === 'google') {
    const modality = (list: string, name: string): number =>
      ((usage[list] ?? []) as { modality: string; tokenCount: number }[])
        .filter(item => item.modality === name)
        .reduce((sum, item) => sum + item.tokenCount, 0)
    const audioIn = modality('promptTokensDetails', 'AUDIO')
    const audioOut = modality('responseTokensDetails', 'AUDIO')
    add('input', Number(usage['promptTokenCount']) - audioIn)
    add('audioInput', audioIn)
    add('output', Number(usage['responseTokenCount']) - audioOut + Number(usage['thoughtsTokenCount'] ?? 0))
    add('audioOutput', audioOut)
    return meters
  }
  const input = usage['input_token_details'] as Record<string, number>
  const output = usage['output_token_details'] as Record<string, number>
  const cached = input['cached_tokens'] ?? 0
  add('cachedInput', cached)
  add('audioInput', input['audio_tokens'] ?? 0)
  add('input', Number(usage['input_tokens']) - cached - (input['audio_tokens'] ?? 0))
  add('audioOutput', output['audio_tokens'] ?? 0)
  add('output', Number(usage['output_tokens']) - (output['audio_tokens'] ?? 0))
  return meters
}
