import t from 'tap'
import { ledgerContract } from '../../contracts/ledger.ts'
import { portPair } from '../../fixtures/channel-pair.ts'
import { openRemote } from './remote-store.ts'

await ledgerContract(t, (t, options) => openRemote(t, portPair, options))
