import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

/** OpenRouter's `models`: any of them may respond, and a client can force any of them by `provider`. */
await t.test(
  'models that may respond in place of another must have its price and be allowed to the key',
  async t => {
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(200, ['content-type', 'application/json'], '{}'),
    )
    const price = (output: string): object => ({ provider: 'router', rubPerMillion: { input: '1', output } })
    const gateway = await startTestGateway(t, {
      config: {
        providers: {
          router: { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
        },
        models: { 'router/small-*': price('1'), 'router/large': price('99'), hidden: price('1') },
      },
      keyModels: ['router/small-*', 'router/large'],
    })
    const ask = async (path: string, model: string, models: unknown): Promise<string> => {
      const { status, body } = await send(gateway.url + path, {
        headers: ['authorization', `Bearer ${gateway.key}`],
        body: JSON.stringify({ model, models, max_tokens: 9, messages: [] }),
      })
      return `${status} ${/"code":"(\w+)"/.exec(body.toString())?.[1] ?? ''}`.trim()
    }
    for (const [path, model] of [
      ['/v1/chat/completions', 'router/small-a'],
      ['/router/v1/chat/completions', 'small-a'],
    ] as const) {
      t.equal(await ask(path, model, ['small-a', 'small-b']), '200')
      t.equal(await ask(path, model, []), '200')
      t.equal(await ask(path, model, null), '200')
      const sent = upstream.requests.length
      t.equal(await ask(path, model, ['small-b', 'large']), '501 not_supported')
      t.equal(await ask(path, model, ['hidden']), '403 permission_denied')
      t.equal(await ask(path, model, ['unknown']), '404 model_not_found')
      t.equal(await ask(path, model, 'large'), '400 body_invalid')
      t.equal(await ask(path, model, [{ id: 'large' }]), '400 body_invalid')
      t.equal(upstream.requests.length, sent)
    }
  },
)
