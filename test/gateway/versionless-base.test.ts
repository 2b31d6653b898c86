import t from 'tap'
import { versionlessNotices } from '../../lib/config/versionless-bases.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

await t.test('gateway check and the first 404 name a base URL without a version', async t => {
  const upstream = await startRawUpstream(t, ({ path }) =>
    plainAnswer(path.startsWith('/v1/') ? 200 : 404, ['content-type', 'text/plain'], 'Not Found'),
  )
  const dialects = (path: string): object => ({ openai: { baseUrl: upstream.origin + path } })
  const gateway = await startTestGateway(t, {
    config: {
      providers: {
        mine: { credentials: ['c'], dialects: dialects('') },
        right: { credentials: ['c'], dialects: dialects('/v1') },
        perplexity: { credentials: ['c'] },
      },
      models: {
        one: { provider: 'mine', rubPerMillion: { input: '1', output: '1' } },
        two: { provider: 'right', rubPerMillion: { input: '1', output: '1' } },
      },
    },
  })
  const { config } = loadConfig(gateway.configFile, { env: {} })
  t.same(versionlessNotices(config), [
    `providers.mine.dialects.openai.baseUrl is ${upstream.origin}/, without a version such as /v1, which most servers want in it`,
  ])
  const ask = async (model: string): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [] }),
    })
    await response.text()
    return response.status
  }
  t.equal(await ask('two'), 200)
  t.equal(await ask('one'), 404)
  t.equal(await ask('one'), 404)
  const warnings = gateway.logLines.filter(line => line.includes('answered 404 below a base URL'))
  t.equal(warnings.length, 1, 'it is logged once')
  t.match(JSON.parse(warnings[0] ?? ''), { level: 'warn', provider: 'mine', baseUrl: `${upstream.origin}/` })
})
