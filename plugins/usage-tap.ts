import { usageTapOptions } from '../lib/config/plugin-options.ts'
import { bytesPerToken } from '../lib/http/text-density.ts'
import { JobWatch } from '../lib/jobs/job-watch.ts'
import { chargeAlarms } from '../lib/ledger/charge-flags.ts'
import type { Hold } from '../lib/ledger/ledger.ts'
import { measuredMedia } from '../lib/media/measure-parts.ts'
import { placeHold } from '../lib/metering/place-hold.ts'
import { readUsage } from '../lib/metering/read-usage.ts'
import { TokenCounter } from '../lib/metering/token-counter.ts'
import { toolTypes } from '../lib/metering/unrequested-work.ts'
import type { UsualOutputs } from '../lib/metering/usual-outputs.ts'
import { ModelDirectory } from '../lib/models/model-directory.ts'
import type { UsageReading } from '../lib/money/usage.ts'
import type { Exchange, Outcome } from '../lib/pipeline/exchange.ts'
import type { Stage } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/front/plugin-context.ts'
import { sessions } from '../lib/sessions/sessions.ts'
import { settleRequest, type SettlementContext } from '../lib/settlement/settle-request.ts'
import { uploads } from '../lib/uploads/uploads.ts'

/**
 * Places the hold, reads the usage from the response in flight, and settles: charge or release. Work beyond a request
 * and its response is in separate stages, each with its own gate and settlement.
 * @param countMs how long an estimate waits for its tokens to be counted; the counter's own limit by default
 */
export function usageTap(
  context: PluginContext,
  options: Readonly<Record<string, unknown>>,
  countMs?: number,
): readonly Stage[] {
  const directory = new ModelDirectory(context.config)
  return [
    readUsage(context),
    measuredMedia(context.ledger),
    uploads(context),
    new JobWatch(context, usageTapOptions.parse(options)),
    sessions({ ...context, directory }),
    charging(context, directory, countMs),
  ]
}

/** Places a hold before the request is sent, and charges or releases it. */
function charging(context: PluginContext, directory: ModelDirectory, countMs: number | undefined): Stage {
  const { config, usualOutputs } = context
  const counter = createCounter(context, countMs)
  const { likelyOutputTokens } = config.hold
  const settlement: SettlementContext = { directory, counter, usualOutputs, likelyOutputTokens }
  return {
    needs: ['route', 'key', 'request', 'target'],
    provides: ['hold', 'usage'],

    onRequest(exchange) {
      // A session places holds turn by turn.
      if (exchange.get('target').price === undefined || exchange.find('client') !== undefined)
        return undefined
      const hold = placeHold(exchange, context)
      return hold instanceof Promise
        ? hold.then(placed => useHold(exchange, placed))
        : useHold(exchange, hold)
    },

    onSettle(exchange, outcome) {
      const hold = exchange.find('hold')
      if (hold === undefined || exchange.find('isHoldKept') === true) return undefined
      return settle(exchange, outcome, hold, context, settlement)
    },

    stop: () => counter.close(),
  }
}

function createCounter({ bus }: PluginContext, timeoutMs: number | undefined): TokenCounter {
  return new TokenCounter({
    onFailure: error => bus.emit('alarm', 'token_counter_failed', { error }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
}

/** No byte of a response reaches the client before its hold is durable. */
function useHold(exchange: Exchange, hold: Hold): void {
  exchange.set('hold', hold)
  if (!hold.isDurable) exchange.holdBack(hold.durable)
}

/** Charges the exchange or releases its hold. */
async function settle(
  exchange: Exchange,
  outcome: Outcome,
  hold: Hold,
  { bus, ledger, usualOutputs }: PluginContext,
  settlement: SettlementContext,
): Promise<void> {
  const reading = exchange.find('meter')?.reading
  const holder = exchange.find('holder')
  const decided = settleRequest(exchange, outcome, reading, settlement)
  const decision = decided instanceof Promise ? await decided : decided
  if (decision === undefined) {
    await (holder?.release() ?? ledger.release(hold))
    return
  }
  exchange.set(
    'usage',
    decision.lines.map(line => line.usage),
  )
  const result = await (holder?.charge(decision) ?? ledger.charge(hold, decision))
  if (result === undefined) return
  exchange.set('charged', { charge: decision, result })
  if (decision.usageSource !== 'estimated') observe(exchange, reading, usualOutputs)
  if (result.flags.length === 0) return
  // Of the provider's tools only searches have a meter of their own.
  const request = exchange.find('request') ?? { media: [] }
  const tools = toolTypes(request, exchange.get('target'))
  for (const [code, details] of chargeAlarms(hold, decision, result, tools)) bus.emit('alarm', code, details)
}

/** What the provider has counted predicts the size of the model's next responses. */
function observe(exchange: Exchange, reading: UsageReading | undefined, usualOutputs: UsualOutputs): void {
  const [first] = reading?.lines ?? []
  if (reading === undefined || first === undefined) return
  const { candidates } = exchange.get('request')
  let tokens = 0
  for (const { meters } of reading.lines) {
    const { output = 0, audioOutput = 0, imageOutput = 0 } = meters
    tokens += output + audioOutput + imageOutput
  }
  const unseen = Math.max(0, (first.meters.output ?? 0) - reading.outputTextBytes / bytesPerToken)
  const { accountId } = exchange.get('key')
  const { modelName } = exchange.get('target')
  usualOutputs.observe(accountId, modelName, { output: tokens / candidates, unseen: unseen / candidates })
}
