import { isPricedBySecond } from '../money/price.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Stage } from '../pipeline/plugin.ts'
import { Conversation } from './conversation.ts'
import { SessionLedger, type SessionContext } from './session-ledger.ts'
import { SessionMeter } from './session-meter.ts'
import { SessionModel } from './session-model.ts'
import { SessionMoney } from './session-money.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    sessionMeter: SessionMeter
  }
}

/** The sessions' stage of an exchange: each turn has a hold and a charge of its own. */
export function sessions(context: Omit<SessionContext, 'isShared'>): Stage {
  return {
    onSession: exchange => meterSession(exchange, context),
    onSettle: (exchange, outcome) => exchange.find('sessionMeter')?.settle(outcome),
  }
}

/** The tap that charges a session; undefined when nothing has a price. */
function meterSession(
  exchange: Exchange,
  context: Omit<SessionContext, 'isShared'>,
): SessionMeter | undefined {
  const { provider, price, upstreamModelName } = exchange.get('target')
  const { match } = exchange.get('route')
  const request = exchange.get('request')
  const protocol = match.operation.session
  if (protocol === undefined || (price === undefined && protocol.modelInSession === undefined))
    return undefined
  const model = new SessionModel({ exchange, protocol, directory: context.directory })
  const meter = new SessionMeter({
    reader: protocol.createReader({
      providerKind: provider.kind,
      isPricedBySecond: price !== undefined && isPricedBySecond(price),
      model: upstreamModelName,
    }),
    money: new SessionMoney(new SessionLedger(exchange, { ...context, isShared: protocol.isShared })),
    conversation: new Conversation(request.textBytes, request.context),
    tools: request.tools ?? [],
    model,
    checkKey() {
      exchange.get('checkKey')()
      model.requireAllowed()
    },
  })
  exchange.set('sessionMeter', meter)
  return meter
}
