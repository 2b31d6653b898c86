import t from 'tap'
import type { Plugin } from '../../../lib/pipeline/plugin.ts'
import { parseAnswers } from '../../fixtures/raw-client.ts'
import {
  controlled,
  forwardedTo,
  moment,
  servePipeline,
  type Controlled,
} from '../../fixtures/serve-pipeline.ts'
import { until } from '../../fixtures/until.ts'

/** A plugin in place of the ledger: the response waits for the hold, its end for the charge. */
function gate(hold: Controlled, charge: Controlled): Plugin {
  return {
    name: 'ledger',
    onRequest: exchange => exchange.holdBack(hold.promise),
    onSettle: () => charge.promise,
  }
}

for (const [framing, length] of [
  ['a length', 10],
  ['chunks', undefined],
] as const) {
  await t.test(
    `with ${framing}, bytes wait until the hold is durable, and the end for the charge`,
    async t => {
      const [hold, charge] = [controlled(), controlled()]
      const { upstream, client, ends } = await servePipeline(t, [gate(hold, charge)])
      await forwardedTo(upstream)

      upstream.answer(length, 'hello')
      await moment()
      t.equal(client.received().length, 0, 'not even the head')
      t.match(upstream.calls, ['pause'])

      hold.resolve()
      await client.waitFor('hello')
      t.equal(upstream.calls.at(-1), 'resume')

      upstream.sink?.onData(Buffer.from('world'))
      upstream.sink?.onEnd()
      await moment()
      t.equal(parseAnswers(client.received())[0]?.isWhole, false, 'the end is withheld')
      t.same(ends, [])

      charge.resolve()
      await until(() => parseAnswers(client.received())[0]?.isWhole === true)
      t.equal(parseAnswers(client.received())[0]?.body.toString(), 'helloworld')
      await until(() => ends.length > 0)
      t.match(ends, [{ kind: 'completed' }])
    },
  )

  await t.test(`with ${framing}, a response whose charge cannot be written is cut`, async t => {
    const [hold, charge] = [controlled(), controlled()]
    const { upstream, client, ends, failures } = await servePipeline(t, [gate(hold, charge)])
    hold.resolve()
    await forwardedTo(upstream)
    upstream.answer(length, 'hello')
    await client.waitFor('hello')

    upstream.sink?.onData(Buffer.from('world'))
    upstream.sink?.onEnd()
    charge.reject(new Error('disk full'))

    t.equal(await client.ended, 'reset')
    t.equal(parseAnswers(client.received())[0]?.isWhole, false)
    await until(() => ends.length > 0)
    t.match(ends, [{ kind: 'broken' }])
    t.same(failures, ['ledger.onSettle'])
  })
}

await t.test('a response withheld completely whose charge cannot be written is refused', async t => {
  const [hold, charge] = [controlled(), controlled()]
  const { upstream, client, ends } = await servePipeline(t, [gate(hold, charge)])
  hold.resolve()
  await forwardedTo(upstream)

  upstream.answer(5, 'hello')
  upstream.sink?.onEnd()
  charge.reject(new Error('disk full'))
  await client.waitFor('\r\n\r\n')

  const [answer] = parseAnswers(client.received())
  t.equal(answer?.status, 502)
  t.notMatch(answer?.body.toString(), 'hello')
  await until(() => ends.length > 0)
  t.match(ends, [{ kind: 'refused' }])
})

await t.test('a response whose hold cannot be written is refused, and its upstream stopped', async t => {
  const [hold, charge] = [controlled(), controlled()]
  const { upstream, client, ends } = await servePipeline(t, [gate(hold, charge)])
  charge.resolve()
  await forwardedTo(upstream)

  upstream.answer(undefined, 'hello')
  hold.reject(new Error('disk full'))
  await client.waitFor('\r\n\r\n')

  t.equal(parseAnswers(client.received())[0]?.status, 502)
  t.notMatch(client.received().toString(), 'hello')
  t.match(upstream.calls, ['pause', 'abort'])
  await until(() => ends.length > 0)
  await moment()
  t.match(ends, [{ kind: 'refused' }], 'once')
})

await t.test('a tap can hold back the chunk that it has read', async t => {
  const recorded = controlled()
  const { upstream, client } = await servePipeline(t, [
    {
      name: 'ids',
      onResponse: exchange => ({
        onData(chunk) {
          if (chunk.includes('id-1')) exchange.holdBack(recorded.promise)
        },
      }),
    },
  ])
  await forwardedTo(upstream)

  upstream.answer(undefined, 'first ', 'id-1 ', 'last')
  upstream.sink?.onEnd()
  await client.waitFor('first')
  await moment()
  t.notMatch(client.received().toString(), 'id-1')

  recorded.resolve()
  await until(() => parseAnswers(client.received())[0]?.isWhole === true)
  t.equal(parseAnswers(client.received())[0]?.body.toString(), 'first id-1 last')
})

await t.test('informational responses wait for the hold too', async t => {
  const [hold, charge] = [controlled(), controlled()]
  const { upstream, client } = await servePipeline(t, [gate(hold, charge)])
  await forwardedTo(upstream)

  upstream.sink?.onInformation(103, ['Link', '</a>'])
  upstream.sink?.onInformation(102, [])
  upstream.answer(undefined, 'hello')
  await moment()
  t.equal(client.received().length, 0)

  hold.resolve()
  await client.waitFor('hello')
  t.same(
    parseAnswers(client.received()).map(({ status }) => status),
    [103, 102, 200],
  )
})

await t.test('a waiting informational response is not sent after the exchange is refused', async t => {
  const [hold, charge] = [controlled(), controlled()]
  charge.resolve()
  const { upstream, client } = await servePipeline(t, [gate(hold, charge)])
  await forwardedTo(upstream)

  upstream.sink?.onInformation(103, ['Link', '</a>'])
  upstream.sink?.onError(new Error('it broke'))
  await client.waitFor('it broke')
  hold.resolve()
  await moment()
  t.same(
    parseAnswers(client.received()).map(({ status }) => status),
    [502],
  )
})
