import t, { type Test } from 'tap'
import { RealtimeReader } from '../../../lib/dialects/openai/realtime-reader.ts'
import type { Hold, Ledger } from '../../../lib/ledger/ledger.ts'
import { Conversation } from '../../../lib/sessions/conversation.ts'
import { UsualOutputs } from '../../../lib/metering/usual-outputs.ts'
import { SessionLedger } from '../../../lib/sessions/session-ledger.ts'
import { SessionMeter } from '../../../lib/sessions/session-meter.ts'
import { SessionModel } from '../../../lib/sessions/session-model.ts'
import { SessionMoney } from '../../../lib/sessions/session-money.ts'
import { PipelineBus } from '../../../lib/pipeline/events.ts'
import { newId } from '../../../lib/platform/new-id.ts'
import { accountWith, testPrice } from '../../contracts/store-under-test.ts'
import { openNew } from '../stores/open-store.ts'

type Context = ConstructorParameters<typeof SessionLedger>

/** A meter on a store of its own, with the holds that it placed. */
async function openMeter(t: Test) {
  const store = await openNew(t)
  const accountId = await accountWith(store, 1000)
  const holds: Hold[] = []
  const placeHold: Ledger['placeHold'] = async request => {
    const hold = await store.ledger.placeHold(request)
    holds.push(hold)
    return hold
  }
  const ledger = {
    placeHold,
    charge: store.ledger.charge.bind(store.ledger),
    release: store.ledger.release.bind(store.ledger),
  }
  const facts = {
    target: {
      provider: { name: 'openai', kind: 'openai' },
      modelName: 'm',
      upstreamModelName: 'm',
      price: testPrice,
      model: { outputTokensMax: 10 },
    },
    key: { id: 'key', accountId },
    route: { dialect: { name: 'openai' }, match: { operation: { name: 'realtime' }, pathModel: 'm' } },
  }
  const exchange = {
    id: newId(),
    hasClientLeft: false,
    get: (name: keyof typeof facts) => facts[name],
    set: () => undefined,
  }
  const bus = new PipelineBus((_event, error) => {
    throw error
  })
  const context = {
    config: { hold: { likelyOutputTokens: 10, mediaRub: {} } },
    usualOutputs: new UsualOutputs(),
    ledger,
    bus,
  }
  const meter = new SessionMeter({
    reader: new RealtimeReader({ providerKind: 'openai', isPricedBySecond: false, model: '' }),
    money: new SessionMoney(
      new SessionLedger(exchange as unknown as Context[0], context as unknown as Context[1]),
    ),
    conversation: new Conversation(0),
    model: new SessionModel({
      exchange: exchange as unknown as Context[0],
      directory: { resolve: () => undefined },
      protocol: {},
    }),
    tools: [],
    checkKey: () => undefined,
  })
  const sendProviderEvent = (event: unknown) => meter.onProviderMessage(Buffer.from(JSON.stringify(event)))
  /** Begins a response with some text. */
  const begin = async (id: string): Promise<void> => {
    await meter.onClientMessage(Buffer.from('{"type":"response.create"}'))
    await sendProviderEvent({ type: 'response.created', response: { id } })
    await sendProviderEvent({ type: 'response.output_text.delta', response_id: id, delta: 'hello' })
  }
  return { meter, holds, store, accountId, sendProviderEvent, begin }
}

await t.test('a turn that cannot be settled does not keep other turns open', async t => {
  const { meter, holds, store, accountId, begin } = await openMeter(t)
  await begin('first')
  await begin('second')
  await store.ledger.release(holds[0] as Hold)
  await t.rejects(meter.settle({ kind: 'aborted' }), { name: 'HoldResolvedError' })
  t.equal((await store.ledger.balance(accountId)).heldMicros, 0)
  t.match(await store.charges(accountId), [{ outcome: 'aborted', usageSource: 'estimated' }])
})

await t.test('a session is busy until the charge of its turn is durable', async t => {
  const { meter, store, accountId, begin, sendProviderEvent } = await openMeter(t)
  await begin('r')
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const passed = sendProviderEvent({ type: 'response.done', response: { id: 'r', usage } })
  t.ok(meter.isBusy, 'the last message has not been passed on')
  await passed
  t.notOk(meter.isBusy)
  t.equal((await store.charges(accountId)).length, 1)
})
