import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { LedgerUnavailableError } from '../../../../lib/ledger/ledger.ts'
import type { BatchReport, StoreOperation } from '../../../../lib/stores/shared/store-operation.ts'
import { WriteQueue } from '../../../../lib/stores/shared/write-queue.ts'
import { writtenWithin } from '../../../../lib/stores/shared/write-batch.ts'

const committed: BatchReport = { answers: [], refusals: [] }
const full: BatchReport = { ...committed, error: { code: 'SQLITE_FULL', message: 'disk is full' } }
const kept = { isKept: true }
const dropped = { isKept: false }

/** A queue whose writer is the test, with the sent batches and the reported states of the store (true: writable). */
function openQueue(retryMs = 5, waitingMax = 1000) {
  const sent: string[] = []
  const states: boolean[] = []
  const queue: WriteQueue = new WriteQueue({
    send: operations => sent.push(operations.map(one => (one.kind === 'price' ? one.hash : '')).join()),
    onChange: () => states.push(queue.failure === undefined),
    retryMs,
    waitingMax,
  })
  return { queue, sent, states }
}

/** Waits for two iterations of the event loop: a batch is sent in the iteration after its first operation. */
async function nextBatch(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

const named = (hash: string): StoreOperation => ({ kind: 'price', hash, model: 'm', body: '{}', at: 0 })

await t.test('operations of one moment form a batch, and later ones form the next', async t => {
  const { queue, sent } = openQueue()
  const first = queue.add(named('a'), kept)
  queue.add(named('b'), kept)
  await nextBatch()
  t.strictSame(sent, ['a,b'])
  const second = queue.add(named('c'), kept)
  queue.add(named('d'), kept)
  await nextBatch()
  t.strictSame(sent, ['a,b'], 'one batch at a time')
  t.equal(first.batch.isCommitted, false)
  queue.onReport({ ...committed, answers: [[1, 'yes']], refusals: [[0, 'no', 'not that']] })
  queue.add(named('e'), kept)
  await nextBatch()
  t.strictSame(sent, ['a,b', 'c,d,e'], 'the next batch includes operations added at the end of the first')
  t.equal(first.batch.isCommitted, true)
  t.match(first.batch.refusalAt(0), { code: 'no', message: 'not that' })
  t.equal(first.batch.answerAt(1), 'yes')
  t.equal(await first.batch.ended, undefined)
  t.equal(second.batch.isCommitted, false)
})

await t.test('after a failure kept operations are sent again before all others', async t => {
  const { queue, sent, states } = openQueue()
  const refused: string[] = []
  const owner = (name: string) => ({
    isKept: true,
    onRefused: (error: Error) => refused.push(name + error.message),
  })
  const failed = queue.add(named('a'), owner('a'))
  queue.add(named('b'), dropped)
  queue.add(named('c'), owner('c'))
  await nextBatch()
  const next = queue.add(named('d'), owner('d'))
  queue.onReport(full)
  t.type(await failed.batch.ended, LedgerUnavailableError)
  t.match(queue.failure, { message: /disk is full \(SQLITE_FULL\)/ })
  await delay(20)
  t.strictSame(sent, ['a,b,c', 'a,c,d'])
  queue.onReport({ ...committed, answers: [[2, 'yes']], refusals: [[1, 'no', ' is refused']] })
  t.strictSame(refused, ['c is refused'])
  t.equal(next.batch.answerAt(0), 'yes')
  t.equal(next.batch.refusalAt(0), undefined)
  t.equal(queue.failure, undefined)
  t.strictSame(states, [false, true])
})

await t.test('the queue retries until it succeeds, and reports each change of state once', async t => {
  const { queue, sent, states } = openQueue()
  queue.add(named('a'), kept)
  await nextBatch()
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    queue.onReport(full)
    await delay(20)
  }
  t.strictSame(sent, ['a', 'a', 'a', 'a'])
  t.strictSame(states, [false])
  queue.onReport(committed)
  await queue.flush()
})

await t.test('waiting for a kept operation continues through failed attempts', async t => {
  const { queue } = openQueue()
  const charge = queue.add(named('a'), kept)
  const refused = queue.add(named('b'), kept)
  await nextBatch()
  const waiting = writtenWithin(charge.batch, 10_000)
  queue.onReport(full)
  t.match(await charge.batch.ended, { message: /disk is full/ })
  t.match(
    await writtenWithin(charge.batch, 0),
    { message: /disk is full/ },
    'without patience the first failure is returned',
  )
  t.match(await writtenWithin(charge.batch, 2), { message: /disk is full/ }, 'no longer than the patience')
  await delay(20)
  queue.onReport(full)
  await delay(20)
  t.equal(charge.batch.isCommitted, false)
  queue.onReport({ ...committed, answers: [[0, 'yes']], refusals: [[1, 'no', 'not that']] })
  t.equal(await waiting, undefined)
  t.equal(charge.batch.isCommitted, true)
  t.equal(charge.batch.answerAt(charge.index), 'yes')
  t.match(refused.batch.refusalAt(refused.index), { code: 'no' })
})

await t.test('a queue faster than its writer is full, and still accepts operations', async t => {
  const { queue, sent } = openQueue(5, 3)
  queue.add(named('a'), kept)
  await nextBatch()
  queue.add(named('b'), kept)
  queue.add(named('c'), kept)
  t.equal(queue.isFull, false, 'sent operations do not count as waiting')
  queue.add(named('d'), kept)
  t.equal(queue.isFull, true)
  queue.add(named('e'), kept)
  queue.onReport(full)
  t.equal(queue.isFull, true, 'kept operations count as waiting too')
  await delay(20)
  queue.onReport(committed)
  t.equal(queue.isFull, false)
  t.strictSame(sent, ['a', 'a,b,c,d,e'])
})

await t.test('when the writer is gone, all waiting and all new operations fail', async t => {
  const { queue, sent } = openQueue()
  const sentOperation = queue.add(named('a'), kept)
  await nextBatch()
  const waiting = queue.add(named('b'), dropped)
  queue.stop(new LedgerUnavailableError('the writer is gone'))
  const late = queue.add(named('c'), kept)
  t.match(await writtenWithin(sentOperation.batch, 10_000), { message: 'the writer is gone' })
  for (const ticket of [sentOperation, waiting, late]) {
    t.match(await ticket.batch.ended, { message: 'the writer is gone' })
  }
  await t.rejects(queue.flush(), { message: 'the writer is gone' })
  t.strictSame(sent, ['a'])
})

await t.test('unhurried operations are sent with the next hurried one, or after a delay', async t => {
  const { queue, sent } = openQueue()
  queue.addUnhurried(named('a'), kept)
  await nextBatch()
  t.strictSame(sent, [])
  queue.add(named('b'), kept)
  await nextBatch()
  t.strictSame(sent, ['a,b'])
  queue.addUnhurried(named('c'), kept)
  queue.onReport(committed)
  await nextBatch()
  t.strictSame(sent, ['a,b'], 'the end of a batch sends no unhurried operation')

  const beganMs = performance.now()
  while (sent.length === 1) await delay(5)

  t.strictSame(sent, ['a,b', 'c'])
  t.ok(performance.now() - beganMs > 100)
  queue.addUnhurried(named('d'), kept)
  const flushed = queue.flush()
  queue.onReport(committed)
  await nextBatch()
  t.strictSame(sent, ['a,b', 'c', 'd'], 'a flush sends unhurried operations at once')
  queue.onReport(committed)
  await flushed
})
