import t from 'tap'
import { ledgerContract } from '../../contracts/ledger.ts'
import { processPairs } from '../../fixtures/channel-pair.ts'
import { openRemote } from './remote-store.ts'

const pair = processPairs(t)
await ledgerContract(t, (t, options) => openRemote(t, pair, options))
