import { systemClock } from '../lib/platform/clock.ts'
import { newKeyRow } from '../lib/stores/shared/account-rules.ts'
import { openForWriting } from '../lib/stores/sqlite/sqlite-database.ts'
import { openSqliteStore } from '../lib/stores/sqlite/sqlite.ts'

/** A store with one account that has money and a key. */
export interface NewStore {
  readonly accountId: string
  readonly key: string
  readonly creditMicros: number
}

/** Makes it in a new file, with as many keys more as are asked for, and lets go of it. */
export async function newStore(file: string, moreKeys = 0): Promise<NewStore> {
  const store = await openSqliteStore({ file, durability: 'strict', clock: systemClock })
  const { id: accountId } = await store.accounts.createAccount({ email: 'bench@example.org' })
  const creditMicros = 1e12
  await store.accounts.credit({ accountId, amountMicros: creditMicros, reason: 'benchmark' })
  const { key } = await store.accounts.createKey({ accountId })
  await store.close()
  if (moreKeys > 0) addKeys(file, accountId, moreKeys)
  return { accountId, key, creditMicros }
}

/** In bulk: one commit for all, of rows as the store makes them itself. */
function addKeys(file: string, accountId: string, count: number): void {
  const database = openForWriting(file)
  try {
    // Digests come in no order; with the index in memory a million are a matter of seconds.
    database.pragma('cache_size = -400000')
    const insert = database.prepare(
      `INSERT INTO keys (id, account_id, digest, name, last_four, created_at)
       VALUES (:id, :account_id, :digest, :name, :last_four, :created_at)`,
    )
    const addAll = database.transaction(() => {
      const now = systemClock.now()
      for (let index = 0; index < count; index++) {
        const { row } = newKeyRow({ accountId, name: `key ${index}` }, now)
        const { id, account_id, digest, name, last_four, created_at } = row
        insert.run({ id, account_id, digest, name, last_four, created_at })
      }
    })
    addAll()
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}
