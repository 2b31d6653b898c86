import type { Test } from 'tap'
import type { ProviderObject } from '../../lib/ledger/ledger.ts'
import { newId } from '../../lib/new-id.ts'
import { accountWith, testPrice } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

/** What provider objects and prices keep to on every store. */
export async function objectsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test(
    'an object is found once it is recorded, and belongs to the first who recorded it',
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

  await t.test('an object is found by any name that a provider gives it', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 0)
    const places = { provider: 'openai', kind: 'file', credential: 'openai#1', exchangeId: newId() } as const
    for (const id of ['nul\0', 'half\ud800', '']) {
      await store.ledger.recordObject({ ...places, id, accountId })
      t.match(await store.ledger.findObject('openai', 'file', id), { accountId })
    }
  })

  await t.test('prices may be recorded any number of times', async t => {
    const store = await open(t)
    await store.ledger.recordPrices([testPrice, testPrice])
    const again = await store.restart()
    await again.ledger.recordPrices([testPrice])
    t.strictSame(await again.verify(), [])
  })
}
