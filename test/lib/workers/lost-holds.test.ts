import t from 'tap'
import type { Hold, HoldRequest, Ledger } from '../../../lib/ledger/ledger.ts'
import type { HoldNews, LedgerOperations } from '../../../lib/workers/worker-operations.ts'
import { LedgerServer } from '../../../lib/workers/ledger-server.ts'
import { Peer, type Operations } from '../../../lib/workers/peer.ts'
import { RemoteLedger } from '../../../lib/workers/remote-ledger.ts'
import { portPair } from '../../fixtures/channel-pair.ts'

const request: HoldRequest = {
  exchangeId: 'e',
  sequence: 0,
  accountId: 'a',
  keyId: 'k',
  likelyMicros: 1,
  worstMicros: 1,
}

await t.test('a hold that fails while its release is being sent is released, as in one process', async t => {
  const written = Promise.withResolvers<void>()
  const hold: Hold = { ...request, isDurable: false, durable: written.promise }
  const ledger = { placeHold: () => Promise.resolve(hold) } as unknown as Ledger
  const [worker, primary] = portPair(t)
  const workerPeer: Peer<LedgerOperations, HoldNews> = new Peer(worker, {
    holdDurable: id => remote.news.holdDurable(id),
    holdFailed: (id, error) => remote.news.holdFailed(id, error),
  })
  const remote: RemoteLedger = new RemoteLedger(workerPeer)
  const server: LedgerServer = new LedgerServer(ledger, (name, ...values) =>
    primaryPeer.tell(name, ...values),
  )
  const primaryPeer: Peer<HoldNews & Operations, LedgerOperations> = new Peer(primary, server.operations)
  const placed = await remote.placeHold(request)
  written.reject(new Error('the disk is full'))
  await remote.release(placed)
  await t.rejects(remote.charge(placed, { lines: [] } as never), 'the hold is released')
})
