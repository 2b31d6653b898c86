import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkNoTrace, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { ask, begun, checkError, dialectNames } from '../fixtures/sdk-errors.ts'

const objects = {
  openai: '/v1/responses/resp_of_nobody',
  anthropic: '/v1/files/file_of_nobody',
  google: '/v1beta/files/of-nobody',
} as const

const slow = await startCountingGateway(t, { sections: { limits: { bodyMs: 300 } } })

for (const dialect of dialectNames) {
  await t.test(`${dialect}: an object that the account does not have is not found`, async t => {
    await checkNoTrace(t, slow, dialect, async () => {
      const error = await ask(dialect, slow, { method: 'GET', path: objects[dialect] })

      checkError(t, dialect, error, 'object_not_found', /nobody/)
    })
  })
}

for (const dialect of dialectNames) {
  await t.test(`${dialect}: a body that does not arrive in time is refused with request_timeout`, async t => {
    const sent = slow.upstream.requests.length
    const error = await ask(dialect, slow, { body: begun })

    checkError(t, dialect, error, 'request_timeout', /300 ms/)
    t.equal(slow.upstream.requests.length, sent)
    t.match(await slow.balance(), { heldMicros: 0 })
  })
}

await t.test(
  'a plugin that throws is an internal error, which names neither the plugin nor its message',
  async t => {
    const file = join(t.testdir(), 'broken.mjs')
    writeFileSync(
      file,
      `export default { name: 'broken', create: () => ({ onRequest() { throw new Error('oops') } }) }`,
    )
    const plugins = ['auth', file, 'model-router', 'size-limit', 'upstream-proxy', 'usage-tap']
    const gateway = await startCountingGateway(t, { sections: { plugins } })

    for (const dialect of dialectNames) {
      const error = await ask(dialect, gateway)

      checkError(t, dialect, error, 'internal', /^(?!.*(?:oops|broken)).+/)
    }
    t.equal(gateway.upstream.requests.length, 0)
    t.same(await gateway.charges(), [])
  },
)
