import t from 'tap'
import { checkFull, hasRoom, openaiForm, remove, startBoundedGateway } from '../fixtures/bounded-gateway.ts'
import { send } from '../fixtures/http-client.ts'
import { until } from '../fixtures/test-gateway.ts'
import { keyHeaders, uploadWays } from '../fixtures/upload-ways.ts'

const hourMs = 3_600_000
const { provider, gateway, time, somebody } = await startBoundedGateway(t)

for (const way of uploadWays) {
  const { dialect } = way
  await t.test(`${way.name}: files are bounded by their number, and a deletion makes room`, async t => {
    const [caller, other] = [await somebody(), await somebody()]
    const first = await way.upload(caller, 10)
    t.equal(first.answer.status, 200)
    t.equal((await way.upload(caller, 10)).answer.status, 200)
    const { begunCount } = provider

    checkFull(t, (await way.upload(caller, 10)).answer, dialect, 2)

    t.equal(provider.begunCount, begunCount, 'nothing reaches the provider')
    t.ok(await hasRoom(other, way), 'another account has its own room')
    t.equal((await remove(caller, first.path, dialect)).status, 200)
    t.equal((await way.upload(caller, 10)).answer.status, 200)
    checkFull(t, (await way.upload(caller, 10)).answer, dialect, 2)
  })

  await t.test(`${way.name}: files are bounded by their bytes`, async t => {
    const caller = await somebody()
    t.equal((await way.upload(caller, 6000)).answer.status, 200)

    checkFull(t, (await way.upload(caller, 6000)).answer, dialect, 1)

    t.equal((await way.upload(caller, 3000)).answer.status, 200, 'a smaller one fits')
    const lengths = [...provider.files.values()].slice(-2).map(({ bytes }) => bytes.length)
    t.same(lengths, [6000, 3000])
  })

  await t.test(`${way.name}: concurrent uploads do not exceed the limits together`, async t => {
    for (const [bytes, fitting] of [
      [10, 2],
      [6000, 1],
    ] as const) {
      const caller = await somebody()
      const { size } = provider.files
      const many = await Promise.all(Array.from({ length: 12 }, () => way.upload(caller, bytes)))
      t.equal(many.filter(({ answer }) => answer.status === 200).length, fitting)
      t.equal(provider.files.size, size + fitting)
    }
  })

  await t.test(`${way.name}: an upload that the provider refuses takes no room`, async t => {
    const caller = await somebody()
    provider.refusal = 503
    for (let count = 0; count < 3; count += 1) t.equal((await way.upload(caller, 10)).answer.status, 503)
    delete provider.refusal

    await until(() => hasRoom(caller, way, 6000))
  })

  if (dialect === 'anthropic') continue
  await t.test(`${way.name}: files that have expired take no room`, async t => {
    const caller = await somebody()
    provider.expiresAt = Math.floor(time.ms / 1000) + 48 * 3600
    t.equal((await way.upload(caller, 6000)).answer.status, 200)
    time.ms += 47 * hourMs
    t.notOk(await hasRoom(caller, way, 6000))

    time.ms += hourMs + 1000

    t.ok(await hasRoom(caller, way, 6000))
    delete provider.expiresAt
  })
}

for (const see of ['listed', 'deleted']) {
  await t.test(`a file that its provider lost makes room when it is ${see}`, async t => {
    const caller = await somebody()
    const { path } = await openaiForm.upload(caller, 6000)
    provider.lose(path.slice('/v1/files/'.length))
    time.ms += 2 * hourMs
    t.notOk(await hasRoom(caller, openaiForm, 6000))
    const headers = keyHeaders('openai', caller.key)

    if (see === 'listed') {
      const list = await send(`${caller.url}/v1/files`, { method: 'GET', headers })
      t.match(JSON.parse(list.body.toString()), { data: [] })
    } else t.equal((await remove(caller, path, 'openai')).status, 404)

    t.ok(await hasRoom(caller, openaiForm, 6000))
  })
}

await t.test('nothing was charged', async t => {
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})
