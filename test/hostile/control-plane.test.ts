import t from 'tap'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// What belongs to the operator's account at the provider: machines, keys, people, bills. A customer who gets there
// spends the operator's money, or takes the operator's account.

const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], '{"id":"created"}'),
)
const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })

const attacks: readonly (readonly [method: string, path: string])[] = [
  ['POST', '/v1/organization/projects/x/api_keys'],
  ['POST', '/v1/organization/invites'],
  ['POST', '/v1/fine_tuning/jobs'],
  ['POST', '/v1/vector_stores'],
  ['POST', '/v1/containers'],
  ['POST', '/v1/assistants'],
  ['POST', '/v1/engines/some-model/completions'],
  ['POST', '/v1/deployments/some-model/completions'],
  ['POST', '/v1beta/tunedModels'],
  ['POST', '/v1beta/corpora'],
  ['GET', '/openai/v1/organization/api_keys'],
  ['DELETE', '/openai/v1/organization/users/user_1'],
]

for (const [method, path] of attacks) {
  await t.test(`${method} ${path} does not reach the provider`, async t => {
    const { status } = await send(gateway.url + path, {
      method,
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      ...(method === 'POST' && { body: '{"model":"some-model"}' }),
    })
    t.ok(status === 404 || status === 501, String(status))
    t.equal(upstream.requests.length, 0)
  })
}

await t.test('nothing of it cost anything', async t => {
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})
