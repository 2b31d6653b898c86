import type { Test } from 'tap'
import { MemoryKeyDirectory } from '../../../lib/accounts/memory-key-directory.ts'
import type { Clock } from '../../../lib/platform/clock.ts'
import { readSqliteKeys } from '../../../lib/stores/sqlite/sqlite-queries.ts'
import {
  type HoldNews,
  type LedgerOperations,
  sharedAccounts,
  type KeyNews,
} from '../../../lib/workers/worker-operations.ts'
import { LedgerServer } from '../../../lib/workers/ledger-server.ts'
import { Peer } from '../../../lib/workers/peer.ts'
import { RemoteLedger } from '../../../lib/workers/remote-ledger.ts'
import type { ChannelPair } from '../../fixtures/channel-pair.ts'
import { openNew, type OpenedStore } from '../stores/open-store.ts'

/** The store of a worker: ledger and keys are at the other end of a channel. */
export interface RemoteStore extends OpenedStore {
  /** The server at the ledger's end of the channel. */
  readonly server: LedgerServer
  /** The store of the process that opened it. */
  readonly own: OpenedStore
  restart(): Promise<RemoteStore>
}

type Pair = (t: Test) => ChannelPair
type Options = { readonly clock?: Clock; readonly durability?: 'strict' | 'relaxed' }

export async function openRemote(t: Test, pair: Pair, options: Options = {}): Promise<RemoteStore> {
  return remoteOf(t, pair, await openNew(t, options))
}

function remoteOf(t: Test, pair: Pair, store: OpenedStore): RemoteStore {
  const [worker, primary] = pair(t)
  const keys = new MemoryKeyDirectory()
  const workerPeer: Peer<LedgerOperations, HoldNews & KeyNews> = new Peer(worker, {
    holdDurable: id => ledger.news.holdDurable(id),
    holdFailed: (id, error) => ledger.news.holdFailed(id, error),
    putKey: (digest, key) => keys.put(digest, key),
    blockKeys: (accountId, at) => keys.block(accountId, at),
    editKey: key => void keys.edit(key),
    revokeKey: (id, at) => keys.revoke(id, at),
  })
  const ledger: RemoteLedger = new RemoteLedger(workerPeer)
  const server: LedgerServer = new LedgerServer(store.ledger, (name, ...values) =>
    primaryPeer.tell(name, ...values),
  )
  const primaryPeer: Peer<HoldNews & KeyNews, LedgerOperations> = new Peer(primary, server.operations)
  for (const [digest, key] of readSqliteKeys(store.file)) keys.put(digest, key)
  return {
    ...store,
    ledger,
    keys,
    accounts: sharedAccounts(store.accounts, store.keys, (name, ...values) =>
      primaryPeer.ask(name, ...values),
    ),
    server,
    own: store,
    restart: async () => remoteOf(t, pair, await store.restart()),
  }
}
