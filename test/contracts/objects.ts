import type { Test } from 'tap'
import type { ProviderObject } from '../../lib/ledger/ledger.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { accountWith, testPrice } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

/** The contract of provider objects and prices, on every store. */
export async function objectsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test(
    'an object is found once it is recorded, and belongs to the first account that recorded it',
    async t => {
      const store = await open(t)
      const mine = await accountWith(store, 0)
      const other = await accountWith(store, 0)
      const object: ProviderObject = {
        provider: 'openai',
        kind: 'file',
        id: 'file-1',
        accountId: mine,
        credential: 'openai#1',
        exchangeId: newId(),
      }
      t.equal(await store.ledger.findObject('openai', 'file', 'file-1'), undefined)
      await store.ledger.recordObject(object)
      t.strictSame(await store.ledger.findObject('openai', 'file', 'file-1'), object)
      await store.ledger.recordObject({ ...object, accountId: other })
      t.strictSame(await store.ledger.findObject('openai', 'file', 'file-1'), object)
      const measured = { ...object, id: 'file-2', facts: { bytes: 12, mediaType: 'image/png' } }
      await store.ledger.recordObject(measured)
      t.strictSame(await store.ledger.findObject('openai', 'file', 'file-2'), measured)
      t.equal(await store.ledger.findObject('openai', 'batch', 'file-1'), undefined)
      t.equal(await store.ledger.findObject('azure', 'file', 'file-1'), undefined)
    },
  )

  await t.test('an object is found by every name that a provider gives it', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 0)
    const places = { provider: 'openai', kind: 'file', credential: 'openai#1', exchangeId: newId() } as const
    for (const id of ['nul\0', 'half\ud800', '']) {
      await store.ledger.recordObject({ ...places, id, accountId })
      t.match(await store.ledger.findObject('openai', 'file', id), { accountId })
    }
  })

  await t.test("a list has an account's objects of a kind in order, page by page", async t => {
    let now = 1_000
    const store = await open(t, { clock: { now: () => now } })
    const mine = await accountWith(store, 0)
    const other = await accountWith(store, 0)
    const made = {
      provider: 'openai',
      credential: 'openai#1',
      exchangeId: newId(),
      dialect: 'openai',
    } as const
    // Objects of other accounts are in between, and some were made in the same millisecond.
    for (let index = 0; index < 25; index += 1) {
      now = 1_000 + Math.floor(index / 3)
      await store.ledger.recordObject({ ...made, kind: 'file', id: `file-${index}`, accountId: mine })
      await store.ledger.recordObject({ ...made, kind: 'file', id: `theirs-${index}`, accountId: other })
      await store.ledger.recordObject({ ...made, kind: 'batch', id: `batch-${index}`, accountId: mine })
      await store.ledger.recordObject({ ...made, kind: 'item', id: `item-${index}`, accountId: mine })
    }
    const all = async (order: 'newest-first' | 'oldest-first', limit: number): Promise<readonly string[]> => {
      const ids: string[] = []
      for (;;) {
        const last = ids.at(-1)
        const page = await store.ledger.listObjects({
          accountId: mine,
          kind: 'file',
          order,
          limit,
          ...(last !== undefined && { after: { provider: 'openai', id: last } }),
        })
        if (page.length === 0) return ids
        ids.push(...page.map(({ id }) => id))
      }
    }

    const newest = await all('newest-first', 4)
    t.equal(newest.length, 25)
    t.equal(new Set(newest).size, 25, 'each one once')
    t.match(newest[0], /^file-24$/)
    t.match(newest.at(-1), /^file-[0-2]$/)
    t.strictSame(await all('oldest-first', 7), newest.toReversed())
    const [first] = await store.ledger.listObjects({
      accountId: mine,
      kind: 'file',
      order: 'newest-first',
      limit: 1,
    })
    t.strictSame(first, { ...made, kind: 'file', id: 'file-24', accountId: mine, createdAt: 1_008 })
    const query = { accountId: mine, kind: 'item', order: 'newest-first', limit: 9 } as const
    t.strictSame(await store.ledger.listObjects(query), [], 'a kind that is not listed')
  })

  await t.test("an unlisted object is in no list, stays its account's, and keeps its place", async t => {
    let now = 0
    const store = await open(t, { clock: { now: () => (now += 1) } })
    const accountId = await accountWith(store, 0)
    const made = {
      provider: 'openai',
      kind: 'file',
      accountId,
      credential: 'openai#1',
      exchangeId: newId(),
    } as const
    for (const id of ['a', 'b', 'c']) await store.ledger.recordObject({ ...made, id })

    await store.ledger.unlistObject({ provider: 'openai', kind: 'file', id: 'b' })
    await store.ledger.unlistObject({ provider: 'openai', kind: 'file', id: 'nobody' })
    await store.ledger.recordObject({ ...made, id: 'b' })
    const again = await store.restart()

    const query = { accountId, kind: 'file', order: 'newest-first', limit: 9 } as const
    const listed = await again.ledger.listObjects(query)
    t.strictSame(
      listed.map(({ id }) => id),
      ['c', 'a'],
    )
    const behind = await again.ledger.listObjects({ ...query, after: { provider: 'openai', id: 'b' } })
    t.strictSame(
      behind.map(({ id }) => id),
      ['a'],
    )
    t.match(await again.ledger.findObject('openai', 'file', 'b'), { accountId })
  })

  await t.test('uploads fit up to the limits, under any name, over a restart', async t => {
    let now = 1_000
    const store = await open(t, { clock: { now: () => now } })
    const accountId = await accountWith(store, 0)
    const other = await accountWith(store, 0)
    const limits = { filesMax: 3, bytesMax: 100 }
    const upload = (id: string, bytes: number) =>
      ({ provider: 'openai', kind: 'upload', id, accountId, bytes, until: 5_000 }) as const
    const file = (id: string) => ({ provider: 'openai', kind: 'file', id, accountId }) as const
    const { ledger } = store

    t.equal(await ledger.reserveUpload(upload('x-1', 60), limits), undefined)
    t.strictSame(await ledger.reserveUpload(upload('x-2', 41), limits), { files: 1, bytes: 60 })
    t.equal(await ledger.reserveUpload({ ...upload('x-2', 41), accountId: other }, limits), undefined)
    t.equal(await ledger.reserveUpload(upload('x-1', 60), { filesMax: 1, bytesMax: 1 }), undefined, 'it fits')
    await ledger.keepUpload(upload('x-1', 0), file('half\ud800'))
    t.strictSame(
      await ledger.reserveUpload(upload('x-3', 41), limits),
      { files: 1, bytes: 60 },
      'the reservation counts',
    )
    t.equal(await ledger.reserveUpload(upload('x-3', 40), limits), undefined)
    await ledger.keepUpload(upload('x-3', 0), { ...file('file-3'), bytes: 10, until: 9_000 })
    t.equal(await ledger.reserveUpload(upload('x-4', 30), limits), undefined, 'the declared size')

    const again = await store.restart()

    const many = { files: 3, bytes: 100 }
    t.strictSame(await again.ledger.reserveUpload(upload('x-5', 0), limits), many)
    now = 5_000
    const racing = ['x-6', 'x-7', 'x-8', 'x-9'].map(id =>
      again.ledger.reserveUpload({ ...upload(id, 30), until: 20_000 }, limits),
    )
    t.equal(
      (await Promise.all(racing)).filter(full => full === undefined).length,
      1,
      'one reservation has lapsed',
    )
    now = 9_000
    t.strictSame(await again.ledger.reserveUpload(upload('x-10', 11), limits), { files: 2, bytes: 90 })
    await again.ledger.unlistObject(file('half\ud800'))
    t.equal(await again.ledger.reserveUpload({ ...upload('x-10', 70), until: 20_000 }, limits), undefined)
    t.strictSame(await again.verify(), [])
  })

  await t.test('prices may be recorded any number of times', async t => {
    const store = await open(t)
    await store.ledger.recordPrices([testPrice, testPrice])
    const again = await store.restart()
    await again.ledger.recordPrices([testPrice])
    t.strictSame(await again.verify(), [])
  })
}
