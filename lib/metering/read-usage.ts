import { headerValue } from '../http/headers.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Plugin, ResponseHead } from '../pipeline/plugin.ts'
import { ResponseMeter } from './response-meter.ts'
import { HoldGrower, type HoldContext } from './place-hold.ts'
import { recordNamed } from './record-named.ts'
import { toolTypes } from './unrequested-work.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /**
     * The request that this response reports on, such as that of a job: it replaces the exchange's own for reading
     * usage.
     */
    submittedRequest: RequestFacts
  }
}

interface ReadContext extends Pick<HoldContext, 'config' | 'ledger'> {
  readonly bus: PipelineBus
}

/** Reads usage, and the names of objects, out of the response in flight. */
export function readUsage(context: ReadContext): Pick<Plugin, 'onResponse' | 'onSettle'> {
  const { ledger } = context
  return {
    onResponse(exchange, head) {
      const { operation } = exchange.get('route').match
      if (operation.objectsInHead !== undefined || operation.isDeletion === true)
        holdBackObjects(exchange, head, ledger)
      const meter = meterFor(exchange, head, ledger)
      if (meter === undefined) return undefined
      // A response of a known length is complete and billed when it arrives.
      if (head.contentLength === undefined) meter.grower = growerOf(exchange, context)
      exchange.set('meter', meter)
      exchange.responseReader = meter
      return meter
    },

    onSettle: exchange => exchange.find('meter')?.end(),
  }
}

/**
 * Objects that a response names, or reports as deleted, before its first byte are recorded before the client reads it.
 */
function holdBackObjects(exchange: Exchange, { status, headers }: ResponseHead, ledger: Ledger): void {
  const { operation } = exchange.get('route').match
  const named = status < 400 ? operation.objectsInHead?.(headers) : undefined
  for (const object of named ?? []) exchange.holdBack(recordNamed(exchange, object, ledger))
  const isGone = (status >= 200 && status < 300) || status === 404 || status === 410
  const deleted = operation.isDeletion === true && isGone ? exchange.find('target')?.object : undefined
  if (deleted !== undefined) exchange.holdBack(ledger.unlistObject(deleted))
}

/** The tap for a successful response that its operation can read; undefined for any other. */
function meterFor(exchange: Exchange, head: ResponseHead, ledger: Ledger): ResponseMeter | undefined {
  const target = exchange.find('target')
  const { operation, object } = exchange.get('route').match
  if (target === undefined || operation.readUsage === undefined || head.status < 200 || head.status > 299)
    return undefined
  const request = exchange.get('request')
  const known = target.object?.facts
  const contentType = headerValue(head.headers, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  // https://ai.google.dev/gemini-api/docs/priority-inference
  const servedTier = headerValue(head.headers, 'x-gemini-service-tier')?.toLowerCase()
  const reader = operation.readUsage(
    { status: head.status, contentType, servedTier },
    {
      providerKind: target.provider.kind,
      facts: exchange.find('submittedRequest') ?? request,
      ...(object !== undefined && { object: { ...object, ...(known !== undefined && { facts: known }) } }),
    },
  )
  if (reader === undefined) return undefined
  return new ResponseMeter(exchange, reader, headerValue(head.headers, 'content-encoding'), {
    recordObject: named => recordNamed(exchange, named, ledger),
    namesObjects: operation.namesObjects === true || request.makesObjects === true,
    runsTools: toolTypes(request, target).length > 0,
  })
}

/** The grower of the hold, which ends the response when no money is left; undefined where it costs nothing. */
function growerOf(exchange: Exchange, { bus, config, ledger }: ReadContext): HoldGrower | undefined {
  const hold = exchange.find('hold')
  const target = exchange.get('target')
  const facts = exchange.get('request')
  // The hold of a job belongs to the job.
  if (hold === undefined || target.price === undefined || facts.startsJob === true) return undefined
  return new HoldGrower({
    hold,
    basis: { target, facts, hold: config.hold },
    price: target.price,
    ledger,
    onSpent: reason => exchange.responseEnd?.cutAtEvent(reason),
    onFailure: failure => bus.emit('plugin-error', 'usage-tap', 'onData', failure, exchange),
  })
}
