import type { Test } from 'tap'
import type { Job, NewJob } from '../../lib/ledger/job.ts'
import { keyDigest } from '../../lib/accounts/memory-key-directory.ts'
import { HoldResolvedError, KeyBudgetExceededError } from '../../lib/ledger/ledger.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { accountWith, bothSums, chargeOf, holdOf, roubles, testPrice } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

const minuteMs = 60_000

/** A batch that is due at once, with a new id by default. */
function batchOf(more: Partial<NewJob> = {}): NewJob {
  return {
    provider: 'openai',
    kind: 'batch',
    id: `batch_${newId()}`,
    credential: 'openai#1',
    dialect: 'openai',
    operation: 'batches',
    model: 'm',
    facts: { upstreamModel: 'm', priceVersions: { '': testPrice.hash }, units: { videoSeconds: 4 } },
    nextPollAt: 0,
    deadlineAt: 9_000_000_000_000,
    ...more,
  }
}

async function openedJob(
  store: StoreUnderTest,
  accountId: string,
  amount: number,
  more: Partial<NewJob> = {},
): Promise<Job> {
  const job = batchOf(more)
  await store.ledger.openJob(await holdOf(store, accountId, amount), job)
  const found = await store.ledger.findJob(job)
  if (found === undefined) throw new Error('the job is not found')
  return found
}

/** The contract of the money of jobs, on every store. */
export async function jobsContract(t: Test, open: OpenStore): Promise<void> {
  await endingsContract(t, open)
  await restartsContract(t, open)
  await pollingContract(t, open)
}

async function endingsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a job keeps the hold of its submission until it is charged', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const hold = await holdOf(store, account, 30)
    const job = batchOf()
    t.equal(await store.ledger.openJob(hold, job), true)
    t.match(await store.ledger.findJob(job), {
      ...job,
      exchangeId: hold.exchangeId,
      sequence: 0,
      accountId: account,
      keyId: 'key',
      heldMicros: roubles(30),
      state: 'open',
      polls: 0,
    })
    t.equal((await store.ledger.balance(account)).heldMicros, roubles(30))
    t.strictSame(await store.verify(), [])
    await t.rejects(
      store.ledger.charge(hold, chargeOf({ input: 1 })),
      HoldResolvedError,
      'the hold belongs to the job',
    )
    await t.rejects(store.ledger.release(hold), HoldResolvedError)
    const opened = await store.ledger.findJob(job)
    const result = opened && (await store.ledger.chargeJob(opened, chargeOf({ input: 12 })))
    t.strictSame(result, { amountMicros: roubles(12), overrunMicros: 0, flags: [] })
    t.match(await store.ledger.balance(account), {
      balanceMicros: roubles(88),
      heldMicros: 0,
      availableMicros: roubles(88),
    })
    t.match(await store.charges(account), [{ requestId: hold.exchangeId, amount: '12.000000' }])
    t.equal((await store.ledger.findJob(job))?.state, 'charged')
    t.strictSame(await store.verify(), [])
  })

  await t.test('of many processes that see the end of a job at once, one charges it', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const job = await openedJob(store, account, 50)
    const endings = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 4 === 3
          ? store.ledger.releaseJob(job)
          : store.ledger.chargeJob(job, chargeOf({ input: 7 }, { model: `m${index}` })),
      ),
    )
    const charged = endings.filter(ending => typeof ending === 'object')
    t.strictSame(charged, [{ amountMicros: roubles(7), overrunMicros: 0, flags: [] }])
    t.notOk(endings.includes(true), 'the first was a charge')
    t.equal(await store.ledger.chargeJob(job, chargeOf({ input: 1 })), undefined)
    t.equal(await store.ledger.releaseJob(job), false)
    t.equal((await store.ledger.balance(account)).balanceMicros, roubles(93))
    t.equal((await store.charges(account)).length, 1)
    t.strictSame(await store.verify(), [])
  })

  await t.test('a released job releases its hold, and is never charged', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const job = await openedJob(store, account, 50)
    t.equal(await store.ledger.releaseJob(job), true)
    t.equal((await store.ledger.balance(account)).availableMicros, roubles(100))
    t.equal(await store.ledger.chargeJob(job, chargeOf({ input: 1 })), undefined)
    const again = await store.restart()
    t.equal((await again.ledger.findJob(job))?.state, 'released')
    t.strictSame(await again.charges(account), [])
    t.strictSame(await again.verify(), [])
  })

  await t.test('a known job keeps its first hold, and the second hold is released', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const other = await accountWith(store, 100)
    const job = await openedJob(store, account, 30)
    t.equal(await store.ledger.openJob(await holdOf(store, account, 20), job), false)
    t.equal(await store.ledger.openJob(await holdOf(store, other, 20), job), false)
    t.equal((await store.ledger.balance(account)).heldMicros, roubles(30))
    t.equal((await store.ledger.balance(other)).heldMicros, 0)
    await store.ledger.chargeJob(job, chargeOf({ input: 1 }))
    t.equal(await store.ledger.openJob(await holdOf(store, account, 20), job), false, 'also after its end')
    t.equal((await store.ledger.balance(account)).heldMicros, 0)
    t.equal((await store.charges(account)).length, 1)
    t.strictSame(await store.verify(), [])
  })

  await t.test('a job beyond its hold takes free money, and the house pays the rest', async t => {
    const store = await open(t)
    const account = await accountWith(store, 10)
    const job = await openedJob(store, account, 1)
    const rest = await openedJob(store, account, 4)
    t.match(await store.ledger.chargeJob(job, chargeOf({ input: 8 })), {
      amountMicros: roubles(6),
      overrunMicros: roubles(2),
      flags: ['overrun'],
    })
    t.match(await store.ledger.chargeJob(rest, chargeOf({ input: 1 })), { overrunMicros: 0 })
    t.strictSame(await store.verify(), [])
  })
}

async function restartsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test("a job's hold stays after a restart, and holds of exchanges do not", async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const { key } = await store.accounts.createKey({ accountId: account, budgetMicros: roubles(40) })
    const { id: keyId } = store.keys.findByDigest(keyDigest(key)) ?? { id: '' }
    const budget = { budgetMicros: roubles(40), period: 'total' as const }
    const place = async (from: StoreUnderTest, amount: number) =>
      await from.ledger.placeHold({
        exchangeId: newId(),
        sequence: 0,
        accountId: account,
        keyId,
        ...bothSums(roubles(amount)),
        budget,
      })
    const job = batchOf()
    await store.ledger.openJob(await place(store, 30), job)
    await (
      await place(store, 5)
    ).durable
    const again = await store.restart()
    t.match(await again.ledger.balance(account), {
      balanceMicros: roubles(100),
      heldMicros: roubles(30),
      availableMicros: roubles(70),
    })
    await t.rejects(place(again, 11), KeyBudgetExceededError, "the key's budget counts it too")
    t.strictSame(await again.verify(), [])
    const found = await again.ledger.findJob(job)
    if (found === undefined) throw new Error('the job is not found')
    await again.ledger.chargeJob(found, chargeOf({ input: 20 }))
    const last = await again.restart()
    t.match(await last.ledger.balance(account), { balanceMicros: roubles(80), heldMicros: 0 })
    t.equal(await last.ledger.chargeJob(found, chargeOf({ input: 20 })), undefined)
    t.equal((await last.charges(account)).length, 1)
    t.strictSame(await last.verify(), [])
  })

  await t.test("the expiry of holds of exchanges does not end a job's hold", async t => {
    let now = Date.parse('2026-05-05T20:00:00Z')
    const store = await open(t, { clock: { now: () => now } })
    const account = await accountWith(store, 100)
    const job = await openedJob(store, account, 30, { deadlineAt: now + 72 * 60 * minuteMs })
    now += 71 * 60 * minuteMs
    t.equal(await store.expireHolds(), 0)
    await (
      await holdOf(store, account, 1)
    ).durable
    t.strictSame(await store.verify(), [], 'a long overdue job is no breach')
    const again = await store.restart()
    t.equal(await again.expireHolds(), 0)
    t.equal((await again.ledger.balance(account)).heldMicros, roubles(30))
    t.match(await again.ledger.chargeJob(job, chargeOf({ input: 2 })), { amountMicros: roubles(2) })
  })

  await t.test('the prices at which a job was submitted are found by their versions', async t => {
    const store = await open(t)
    await store.ledger.recordPrices([testPrice])
    const again = await store.restart()
    const prices = await again.ledger.findPrices([testPrice.hash, 'nothing'])
    t.strictSame([...prices.values()], [testPrice])
    t.strictSame([...(await again.ledger.findPrices([]))], [])
  })
}

async function pollingContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('due jobs are leased, and are due again when the lease ends', async t => {
    let now = Date.parse('2026-05-05T20:00:00Z')
    const store = await open(t, { clock: { now: () => now } })
    const account = await accountWith(store, 100)
    const first = await openedJob(store, account, 1, { nextPollAt: now - 2 })
    const second = await openedJob(store, account, 1, { nextPollAt: now - 1 })
    await openedJob(store, account, 1, { nextPollAt: now + 5 * minuteMs })
    const leased = await store.ledger.dueJobs(1, minuteMs)
    t.match(
      leased,
      [{ id: first.id, heldMicros: roubles(1), facts: first.facts }],
      'the one due longest comes first',
    )
    const [two, none] = await Promise.all([
      store.ledger.dueJobs(10, minuteMs),
      store.ledger.dueJobs(10, minuteMs),
    ])
    t.strictSame(
      [...two, ...none].map(({ id }) => id),
      [second.id],
      'no job is leased twice',
    )
    await store.ledger.postponeJob(second, now + 3 * minuteMs)
    now += minuteMs
    t.strictSame(
      (await store.ledger.dueJobs(10, minuteMs)).map(({ id }) => id),
      [first.id],
    )
    now += 2 * minuteMs
    const due = await store.ledger.dueJobs(10, minuteMs)
    t.strictSame(
      new Map(due.map(({ id, polls }) => [id, polls])),
      new Map([
        [first.id, 0],
        [second.id, 1],
      ]),
    )
  })

  await t.test('a job that has ended is never due, and cannot be postponed', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const charged = await openedJob(store, account, 1)
    const released = await openedJob(store, account, 1)
    await store.ledger.chargeJob(charged, chargeOf({ input: 1 }))
    await store.ledger.releaseJob(released)
    await store.ledger.postponeJob(charged, 0)
    t.strictSame(await store.ledger.dueJobs(10, minuteMs), [])
    t.equal((await store.ledger.findJob(charged))?.polls, 0)
  })
}
