import t, { type Test } from 'tap'
import type { TextToCount } from '../../../lib/metering/count-tokens.ts'
import { TokenCounter, type TokenCounterOptions } from '../../../lib/metering/token-counter.ts'
import { loopWork } from '../../fixtures/loop-work.ts'
import { until } from '../../fixtures/test-gateway.ts'

const failingWorker = new URL('../../fixtures/failing-counter-worker.ts', import.meta.url)
const plain = (text: string): TextToCount => ({ form: 'plain', bytes: Buffer.from(text) })

function counterFor(
  t: Test,
  options: TokenCounterOptions = {},
): { counter: TokenCounter; failures: string[] } {
  const failures: string[] = []
  const counter = new TokenCounter({
    timeoutMs: 10_000,
    onFailure: e => failures.push(e.message),
    ...options,
  })
  t.teardown(() => counter.close())
  return { counter, failures }
}

/** Repeats until there is a count: on a busy machine starting a thread may exceed the time limit of a count. */
async function countInTime(counter: TokenCounter, text: string): Promise<unknown> {
  let count: unknown
  await until(async () => (count = await counter.count(plain(text))) !== undefined)
  return count
}

await t.test('tokens are counted with tiktoken in a thread that the first text starts', async t => {
  const { counter } = counterFor(t)
  t.equal(counter.isRunning, false)
  t.match(await counter.count(plain('Hello, world!')), { text: 4 })
  t.match(
    await counter.count(plain('<|endoftext|>')),
    { text: 7 },
    'special tokens are counted as plain text',
  )
  t.match(await counter.count(plain('')), { text: 0 })
  t.equal(counter.isRunning, true)
})

/** Texts that take a tokeniser seconds, or make it panic, when encoded in one piece. */
const bombs: Readonly<Record<string, string>> = {
  'one letter': 'a'.repeat(100_000),
  'one mark, which panics at this length': '^'.repeat(1_000_000),
  'one Chinese letter': '的'.repeat(30_000),
  blanks: ' '.repeat(262_144),
  'line feeds': '\n'.repeat(262_144),
  'two letters': 'ab'.repeat(131_072),
  'combining marks': 'e\u0301'.repeat(80_000),
  'joined emoji': '👨‍👩‍👧'.repeat(10_000),
  'half of a surrogate pair': '\ud83d'.repeat(100_000),
  digits: '1234567890'.repeat(26_000),
  'blanks unknown to tiktoken': '\u2003'.repeat(87_000),
}

await t.test('a slow text takes less than 50 ms of the event loop', async t => {
  const { counter } = counterFor(t)
  await counter.count(plain('the thread is there'))
  for (const [name, text] of Object.entries(bombs)) {
    const message = plain(text)
    const workedMs = await loopWork(async () => {
      const count = await counter.count(message)
      t.ok((count?.text ?? 0) > 0, `${name} is counted`)
    }, 3)
    t.ok(workedMs < 50, `${name}: the event loop worked ${workedMs.toFixed(1)} ms`)
  }
})

await t.test('a text that hangs the thread is abandoned, and a new thread counts later ones', async t => {
  const { counter, failures } = counterFor(t, { workerUrl: failingWorker, timeoutMs: 400 })
  t.match(await countInTime(counter, 'two'), { text: 3 })
  const [hung, behind] = [counter.count(plain('hang')), counter.count(plain('behind it'))]
  t.equal(await hung, undefined)
  t.equal(await behind, undefined)
  t.same(failures, ['The token counter took longer than 400 ms.'])
  t.equal(counter.isRunning, false)
  t.equal(await counter.count(plain('at once')), undefined, 'the thread is not restarted at once')
  t.match(await countInTime(counter, 'again'), { text: 5 }, 'but after a pause')
})

await t.test('a thread that dies loses only its own texts', async t => {
  const { counter, failures } = counterFor(t, { workerUrl: failingWorker })
  t.equal(await counter.count(plain('die')), undefined)
  t.same(failures, ['The token counter failed.'])
  t.match(await countInTime(counter, 'again'), { text: 5 })
})

await t.test('a thread that cannot start is reported, and texts are not counted', async t => {
  const { counter, failures } = counterFor(t, { workerUrl: new URL('file:///nowhere/worker.ts') })
  t.equal(await counter.count(plain('text')), undefined)
  t.same(failures, ['The token counter failed.'])
})

await t.test('at most 256 texts and 16 MB wait', async t => {
  const { counter } = counterFor(t, { workerUrl: failingWorker })
  const counts = await Promise.all(Array.from({ length: 400 }, () => counter.count(plain('Hello'))))
  t.equal(counts.filter(count => count === undefined).length, 400 - 256)
  const large = Buffer.alloc(1_048_576, ' x')
  const many = await Promise.all(
    Array.from({ length: 20 }, () => counter.count({ form: 'plain', bytes: large })),
  )
  t.ok(many.filter(count => count === undefined).length >= 3, 'at most 16 MB wait')
})

await t.test('the thread ends when idle and when the counter is closed', async t => {
  const { counter, failures } = counterFor(t, { idleMs: 50 })
  await counter.count(plain('Hello'))
  await until(() => !counter.isRunning)
  t.match(await counter.count(plain('Hello')), { text: 1 })
  const last = counter.count(plain('Hello'))
  await counter.close()
  t.equal(await last, undefined)
  t.equal(await counter.count(plain('Hello')), undefined)
  t.same(failures, [])
})
