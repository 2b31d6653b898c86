import t from 'tap'
import { runHere } from '../cli/run-gateway.ts'
import { startAccountArea } from '../fixtures/account-area.ts'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls
if (openai === undefined) throw new Error('there is no dialect')
const supplier = 'wholesaler'

for (const isPublic of [false, true]) {
  const not = isPublic ? '' : ' not'
  await t.test(`customers do${not} see a provider that is${not} public, and operators always do`, async t => {
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(200, ['content-type', 'application/json'], openai.document),
    )
    const {
      providers: { openai: provider },
    } = callConfig(upstream.origin) as { providers: { openai: object } }
    const price = { rubPerMillion: { input: '1000', output: '1000' } }
    const area = await startAccountArea(t, {
      providers: {
        [supplier]: { ...provider, public: isPublic },
        [`${supplier}-away`]: {
          ...provider,
          public: isPublic,
          dialects: { openai: { baseUrl: 'http://127.0.0.1:9/v1' } },
        },
      },
      models: {
        'test-model': { provider: supplier, ...price },
        'away-model': { provider: `${supplier}-away`, ...price },
      },
      defaultProvider: { openai: supplier },
    })
    const { browser, email } = await area.signUp()
    const accountId = await area.accountOf(email)
    const { accounts, url, configFile, logLines } = area.test
    await accounts.credit({ accountId, amountMicros: 100_000_000, reason: 'test' })
    const { key } = await accounts.createKey({ accountId })
    const ask = (path: string, body?: string) =>
      send(url + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: ['content-type', 'application/json', 'authorization', `Bearer ${key}`],
        ...(body !== undefined && { body }),
      })
    const answered = await ask('/v1/chat/completions', openai.body(false))
    t.equal(answered.status, 200)
    await until(() => logLines.some(line => line.includes(answered.requestId) && line.includes('"outcome"')))

    const places: Readonly<Record<string, readonly [isShown: boolean, text: () => Promise<string>]>> = {}
    const api = (path: string, body?: string) => async (): Promise<string> => {
      const { rawHeaders, body: bytes } = await ask(path, body)
      return `${rawHeaders.join('\n')}\n${bytes.toString()}`
    }
    const page = (path: string) => async (): Promise<string> => (await browser.get(path)).text
    Object.assign(places, {
      'the response itself': [false, () => Promise.resolve(answered.rawHeaders.join('\n'))],
      'a charge': [true, api(`/gateway/v1/charges/${answered.requestId}`)],
      'the list of charges': [true, api('/gateway/v1/charges')],
      'a quote': [true, api('/gateway/v1/quote', openai.body(false))],
      'the list of models': [false, api('/v1/models')],
      'a model': [false, api('/v1/models/test-model')],
      'an error of an unreachable provider': [
        true,
        api('/v1/chat/completions', openai.body(false).replace('test-model', 'away-model')),
      ],
      'an unknown model': [false, api('/v1/chat/completions', '{"model":"nobody","messages":[]}')],
      'an operation that is not served': [false, api('/v1/fine_tuning/jobs', '{"model":"test-model"}')],
      'the page of a charge': [true, page(`/charges/${answered.requestId}`)],
      'the table of charges': [true, page('/charges.csv')],
      'the page of models': [true, page('/models')],
    })
    for (const [place, [isShown, text]] of Object.entries(places)) {
      const shown = await text()
      t.ok(shown.length > 0, place)
      t.equal(shown.includes(supplier), isPublic && isShown, `${place}: ${shown.slice(0, 300)}`)
    }
    t.match(await places['a charge']?.[1](), 'test-model', 'the requested model is shown')
    t.ok(logLines.some(line => line.includes(answered.requestId) && line.includes(`"${supplier}"`)))
    t.ok(logLines.some(line => line.includes('upstream_unreachable') && line.includes(`${supplier}-away`)))
    const listed = await runHere(['charges', '--account', accountId, '--json', '--config', configFile])
    t.match(listed.stdout, `"provider":"${supplier}"`)
    t.same(await area.test.breaches(), [])
  })
}
