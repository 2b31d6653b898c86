import t from 'tap'
import { EventSplitter } from '../../../lib/http/event-splitter.ts'
import { checkOrder, PipelineOrderError } from '../../../lib/pipeline/pipeline.ts'
import { Exchange, type Fact } from '../../../lib/pipeline/exchange.ts'
import type { Plugin } from '../../../lib/pipeline/plugin.ts'
import { parseAnswers } from '../../fixtures/raw-client.ts'
import { forwardedTo, moment, servePipeline } from '../../fixtures/serve-pipeline.ts'
import { until } from '../../fixtures/until.ts'

const forwarding: Plugin = {
  name: 'proxy',
  forward: () => ({ pause() {}, resume() {}, abort() {} }),
}
const plugin = (name: string, needs: Fact[], provides: Fact[] = []): Plugin => ({ name, needs, provides })

await t.test('hooks are called in order, and all gates before forwarding', async t => {
  const calls: string[] = []
  const watching = (name: string): Plugin => ({
    name,
    async onRequest() {
      await moment()
      calls.push(`${name}.onRequest`)
    },
    onResponse() {
      calls.push(`${name}.onResponse`)
      return { onData: chunk => calls.push(`${name}.onData ${chunk.toString()}`) }
    },
    async onSettle() {
      await moment()
      calls.push(`${name}.onSettle`)
    },
    onEnd: (_exchange, outcome) => void calls.push(`${name}.onEnd ${outcome.kind}`),
  })
  const { upstream, client, failures } = await servePipeline(t, [watching('a'), watching('b')])
  await forwardedTo(upstream)
  calls.push('forwarded')
  upstream.answer(undefined, '1', '2')
  upstream.sink?.onEnd()
  await until(() => parseAnswers(client.received())[0]?.isWhole === true && calls.length > 11)

  t.same(calls, [
    'a.onRequest',
    'b.onRequest',
    'forwarded',
    'a.onResponse',
    'b.onResponse',
    'a.onData 1',
    'b.onData 1',
    'a.onData 2',
    'b.onData 2',
    'a.onSettle',
    'b.onSettle',
    'a.onEnd completed',
    'b.onEnd completed',
  ])
  t.same(failures, [])
})

await t.test('a tap that throws is dropped, and other taps and the client are unaffected', async t => {
  const received: string[] = []
  let thrown = 0
  const { upstream, client, ends, failures } = await servePipeline(t, [
    {
      name: 'broken',
      onResponse: () => ({
        onData() {
          thrown += 1
          throw new Error('a mistake')
        },
      }),
    },
    { name: 'working', onResponse: () => ({ onData: chunk => void received.push(chunk.toString()) }) },
    {
      name: 'throwing',
      onResponse() {
        throw new Error('another mistake')
      },
      onEnd() {
        throw new Error('one more')
      },
    },
  ])
  await forwardedTo(upstream)
  upstream.answer(undefined, '1', '2', '3')
  upstream.sink?.onEnd()
  await until(() => parseAnswers(client.received())[0]?.isWhole === true && ends.length > 0)

  t.equal(parseAnswers(client.received())[0]?.body.toString(), '123')
  t.equal(thrown, 1)
  t.same(received, ['1', '2', '3'])
  t.match(ends, [{ kind: 'completed' }])
  t.same(failures, ['throwing.onResponse', 'tap.onData', 'throwing.onEnd'])
})

await t.test(
  'a gate that refuses stops the gates behind it, and onEnd of every plugin is called once',
  async t => {
    const ended: string[] = []
    let late = 0
    const onEnd =
      (name: string): NonNullable<Plugin['onEnd']> =>
      (_exchange, { kind }) =>
        void ended.push(`${name} ${kind}`)
    const { client, ends, upstream } = await servePipeline(t, [
      {
        name: 'first',
        onRequest() {
          throw new Error('no')
        },
        onEnd: onEnd('first'),
      },
      { name: 'second', onRequest: () => void (late += 1), onEnd: onEnd('second') },
    ])
    await client.waitFor('no')
    await until(() => ends.length > 0)

    t.match(parseAnswers(client.received()), [{ status: 502 }])
    t.equal(late, 0)
    t.equal(upstream.sink, undefined)
    t.same(ended, ['first refused', 'second refused'])
  },
)

await t.test('a request is not forwarded if its client leaves during a gate', async t => {
  const entered: string[] = []
  const { client, ends, upstream } = await servePipeline(t, [
    {
      name: 'slow',
      async onRequest(exchange) {
        entered.push(exchange.id)
        await until(() => exchange.hasClientLeft)
      },
    },
    { name: 'next', onRequest: () => void t.fail('the next gate was called') },
  ])
  await until(() => entered.length > 0)
  client.socket.destroy()
  await until(() => ends.length > 0)

  t.match(ends, [{ kind: 'aborted' }])
  t.equal(upstream.sink, undefined)
})

await t.test('a drain after the client left is bounded in bytes and in time', async t => {
  for (const isLong of [true, false]) {
    const { client, ends, upstream, failures } = await servePipeline(t, [
      { name: 'policy', onRequest: exchange => void (exchange.onClientLeft = 'drain') },
    ])
    await forwardedTo(upstream)
    upstream.answer(undefined, 'one')
    await client.waitFor('one')
    client.socket.destroy()
    await moment()
    t.notMatch(upstream.calls, ['abort'])
    if (isLong) {
      upstream.sink?.onData(Buffer.alloc(99))
      t.same(ends, [])
      upstream.sink?.onData(Buffer.alloc(2))
    }
    await until(() => ends.length > 0)
    t.equal(upstream.calls.at(-1), 'abort')
    t.match(ends, [{ kind: 'aborted' }])
    t.same(failures, [])
  }
})

await t.test('drains without a response are bounded in time and in number', async t => {
  const exchanges: Exchange[] = []
  const { client, ends, upstream, ask } = await servePipeline(t, [
    {
      name: 'policy',
      onRequest(exchange) {
        exchange.onClientLeft = 'drain'
        exchanges.push(exchange)
      },
    },
  ])
  await forwardedTo(upstream)
  const second = await ask()
  await until(() => exchanges.length === 2)
  client.socket.destroy()
  await until(() => exchanges[0]?.drain === 'reading')
  second.socket.destroy()

  await until(() => ends.length === 2)

  t.match(ends, [{ kind: 'aborted' }, { kind: 'aborted' }])
  t.same(
    exchanges.map(({ drain }) => drain),
    ['limited', 'refused'],
  )
})

await t.test('a response that never ends is cut by its time or its size', async t => {
  const slow = await servePipeline(t, [])
  await forwardedTo(slow.upstream)
  slow.upstream.answer(undefined, 'once ')
  await until(() => slow.ends.length === 1)
  t.match(slow.ends, [
    { kind: 'broken', error: { message: /^The response went on for more than 0.4 s, the most/ } },
  ])
  t.same(
    slow.upstream.calls.filter(call => call === 'abort'),
    ['abort'],
  )

  const large = await servePipeline(t, [])
  await forwardedTo(large.upstream)
  large.upstream.answer(undefined, 'x'.repeat(6000))
  await until(() => large.client.received().length > 6000)
  large.upstream.sink?.onData(Buffer.alloc(6000, 'x'))
  await until(() => large.ends.length === 1)
  t.match(large.ends, [
    { kind: 'broken', error: { message: /^The response has more than 10000 bytes, the most/ } },
  ])
  t.notMatch(large.client.received().toString(), /\r\n0\r\n\r\n$/, 'no clean end')
})

await t.test('a client that reads nothing for too long counts as gone', async t => {
  const { client, ends, upstream } = await servePipeline(t, [])
  await forwardedTo(upstream)
  client.socket.pause()
  const size = 64 * 1_048_576
  upstream.answer(size, 'x'.repeat(size / 2))

  await until(() => ends.length === 1)

  t.match(ends, [{ kind: 'aborted' }])
  t.ok(upstream.calls.includes('pause'))
  t.equal(upstream.calls.at(-1), 'abort')
})

await t.test('a pipeline stops when its last exchange has ended, and can cut the remaining ones', async t => {
  const { pipeline, client, ends, upstream } = await servePipeline(t, [])
  await forwardedTo(upstream)
  upstream.answer(undefined, 'one')
  await client.waitFor('one')
  let hasStopped = false
  const stopped = pipeline.stop().then(() => (hasStopped = true))
  await moment()
  t.notOk(hasStopped)

  pipeline.cutAll(() => new Error('shutting down'))
  await stopped

  t.equal(await client.ended, 'reset')
  await until(() => ends.length > 0)
  t.match(ends, [{ kind: 'broken' }])
})

await t.test('the error event of a cut stream is sent only after a complete event', async t => {
  const cases: [string[], boolean][] = [
    [['data: 1\n', '\n'], true],
    [['data: 1', '\r', '\n\r', '\n'], true],
    [['data: 1\n\n'], true],
    [['data: 1\n'], false],
    [['\n', 'data: 1'], false],
    [['\n\n', 'd'], false],
  ]
  for (const [pieces, isBoundary] of cases) {
    const { client, upstream } = await servePipeline(t, [
      {
        name: 'notice',
        onResponse(exchange) {
          exchange.cutNotice = {
            event: () => Buffer.from('data: cut\n\n'),
            events: new EventSplitter(),
          }
          return undefined
        },
      },
    ])
    await forwardedTo(upstream)
    upstream.answer(undefined, ...pieces)
    upstream.sink?.onError(new Error('gone'))

    t.equal(await client.ended, 'reset')
    const expected = pieces.join('') + (isBoundary ? 'data: cut\n\n' : '')
    t.equal(parseAnswers(client.received())[0]?.body.toString() ?? '', expected, JSON.stringify(pieces))
  }
})

await t.test(
  'a response cut within an event that never ends is broken with the reason of the cut',
  async t => {
    const spent = new Error('The money is spent.')
    for (const rest of ['', 'x'.repeat(1_048_576)]) {
      const { client, upstream, ends } = await servePipeline(t, [
        {
          name: 'notice',
          onResponse(exchange) {
            exchange.cutNotice = { event: () => Buffer.from('data: cut\n\n'), events: new EventSplitter() }
            return {
              onData(chunk) {
                if (chunk.includes('2')) exchange.responseEnd?.cutAtEvent(spent)
              },
            }
          },
        },
      ])
      await forwardedTo(upstream)
      upstream.answer(undefined, 'data: 1\n\n', 'data: ', '2')
      if (rest !== '') upstream.sink?.onData(Buffer.from(rest))
      await until(() => ends.length === 1)

      t.same(ends, [{ kind: 'broken', error: spent }], `${rest.length} bytes more`)
      t.equal(await client.ended, 'reset')
      t.match(client.received().toString(), /data: 1\n\n/)
      t.notMatch(client.received().toString(), /data: cut/)
    }
  },
)

await t.test('the error of a wrong order of plugins says what to change', t => {
  const given: Fact[] = ['route']
  const order = (...plugins: Plugin[]) => checkOrder(plugins, given)

  t.doesNotThrow(() => order(plugin('auth', ['route'], ['key']), plugin('tap', ['key']), forwarding))
  t.throws(() => order(plugin('tap', ['key']), plugin('auth', [], ['key']), forwarding), {
    name: 'PipelineOrderError',
    message: 'Plugin "tap" needs "key", which "auth" provides: list "auth" before it.',
  })
  t.throws(
    () => order(plugin('tap', ['key']), forwarding),
    new PipelineOrderError(
      'Plugin "tap" needs "key", and no enabled plugin provides it. Enable the one that does.',
    ),
  )
  t.throws(() => order(), { message: /No enabled plugin forwards/ })
  t.throws(() => order(forwarding, { ...forwarding, name: 'other' }), { message: /proxy, other/ })
  t.end()
})

await t.test('the error of an unset fact names it', t => {
  const exchange = new Exchange('x', undefined as never, undefined as never, 0)
  t.equal(exchange.find('key'), undefined)
  t.throws(() => exchange.get('key'), { message: /"key"/ })
  t.end()
})
