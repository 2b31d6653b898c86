import type { Config } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { isPricedBySecond } from '../money/price.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { UsualOutputs } from '../settlement/usual-output.ts'
import { Conversation } from './conversation.ts'
import { SessionMeter } from './session-meter.ts'
import { SessionModel } from './session-model.ts'
import { SessionMoney } from './session-money.ts'
import type { TypicalOutput } from './typical-output.ts'

declare module '../pipeline/facts.ts' {
  interface Facts {
    sessionMeter: SessionMeter
  }
}

interface SessionContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly bus: PipelineBus
  readonly directory: ModelDirectory
  readonly usual: UsualOutputs
  readonly typicalOutput: TypicalOutput
}

/** The tap that charges a session; undefined where nothing has a price. */
export function meterSession(exchange: Exchange, context: SessionContext): SessionMeter | undefined {
  const { provider, price, upstreamModelName } = exchange.get('target')
  const { match } = exchange.get('route')
  const request = exchange.get('request')
  const protocol = match.operation.session
  if (protocol === undefined || (price === undefined && protocol.modelInSession === undefined))
    return undefined
  const meter = new SessionMeter({
    reader: protocol.createReader({
      providerKind: provider.kind,
      isPricedBySecond: price !== undefined && isPricedBySecond(price),
      model: upstreamModelName,
    }),
    money: new SessionMoney(exchange, { ...context, isShared: protocol.isShared }),
    conversation: new Conversation(request.textBytes, request.context),
    model: new SessionModel({ exchange, protocol, directory: context.directory }),
    checkKey: exchange.get('checkKey'),
  })
  exchange.set('sessionMeter', meter)
  return meter
}
