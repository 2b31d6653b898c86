import { usageTapOptions } from '../lib/config/plugin-options.ts'
import { headerValue } from '../lib/http/headers.ts'
import { bytesPerToken } from '../lib/http/text-density.ts'
import { jobRequestFacts } from '../lib/jobs/submitted-job.ts'
import { JobWatch } from '../lib/jobs/job-watch.ts'
import { AnswerMeter } from '../lib/metering/answer-meter.ts'
import { toolTypes } from '../lib/metering/unasked-work.ts'
import { chargeAlarms } from '../lib/ledger/charge-flags.ts'
import type { Hold } from '../lib/ledger/ledger.ts'
import { recordNamed } from '../lib/metering/record-named.ts'
import { placeHold, HoldGrower } from '../lib/metering/place-hold.ts'
import type { UsualOutputs } from '../lib/metering/usual-outputs.ts'
import { meterSession } from '../lib/sessions/meter-session.ts'
import { TokenCounter } from '../lib/metering/token-counter.ts'
import { ModelDirectory } from '../lib/models/model-directory.ts'
import type { NamedObject, UsageReading } from '../lib/money/usage.ts'
import type { Exchange, Outcome } from '../lib/pipeline/exchange.ts'
import type { Plugin, ResponseHead } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/front/plugin-context.ts'
import { settleRequest, type SettlementContext } from '../lib/settlement/settle-request.ts'
import { providerRequestId } from '../lib/upstream/upstream-headers.ts'
import { measureRequest, useMeasured } from '../lib/media/measure-parts.ts'
import { UploadFacts } from '../lib/uploads/upload-facts.ts'
import { UploadRoom } from '../lib/uploads/upload-room.ts'

/**
 * Places the hold, reads the usage out of the answer in flight, and settles: charge or release.
 * @param countMs how long an estimate waits for its tokens to be counted; the counter's own limit unless given
 */
export function usageTap(
  context: PluginContext,
  options: Readonly<Record<string, unknown>>,
  countMs?: number,
): Plugin {
  const { config, ledger, bus, usualOutputs } = context
  const jobs = new JobWatch(context, usageTapOptions.parse(options))
  const directory = new ModelDirectory(config)
  const counter = createCounter(context, countMs)
  const { likelyOutputTokens } = config.hold
  const settlement: SettlementContext = { directory, counter, usualOutputs, likelyOutputTokens }
  const uploads = new UploadFacts(context, () => performance.now())
  const uploadRoom = new UploadRoom(context)

  return {
    name: 'usage-tap',
    needs: ['route', 'key', 'request', 'target'],
    provides: ['hold', 'meter', 'usage'],

    onRequest(exchange) {
      if (exchange.find('upload') !== undefined) uploads.watch(exchange)
      return begin(uploadRoom, exchange, context, jobs)
    },

    onResponse(exchange, head) {
      const recordObject = async (object: NamedObject): Promise<void> => {
        const measured = uploads.of(exchange, object)
        await Promise.all([recordNamed(exchange, object, ledger, measured), jobs.onObject(exchange, object)])
        await uploadRoom.keep(exchange, object, await measured)
      }
      return readAnswer(exchange, head, recordObject, context)
    },

    onSession: exchange => meterSession(exchange, { config, ledger, bus, directory, usualOutputs }),

    onSettle(exchange, outcome) {
      const sessionMeter = exchange.find('sessionMeter')
      if (sessionMeter !== undefined) return sessionMeter.settle(outcome)
      if ((exchange.find('hold') ?? exchange.find('meter') ?? exchange.find('job')) === undefined)
        return undefined
      return settle(exchange, outcome, jobs, context, settlement)
    },

    onEnd(exchange, outcome) {
      if (exchange.find('upload') !== undefined) uploads.end(exchange)
      return carriesFile(exchange) ? uploadRoom.end(exchange, outcome) : undefined
    },

    start: () => jobs.start(),

    windUp: () => jobs.windUp(),

    async stop() {
      await jobs.stop()
      uploads.close()
      await counter.close()
    },
  }
}

function createCounter({ bus }: PluginContext, timeoutMs: number | undefined): TokenCounter {
  return new TokenCounter({
    onFailure: error => bus.emit('alarm', 'token_counter_failed', { error }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
}

/** Whether money goes by media that the plugin size-limit, where it is on, would have measured. */
function isMeasureNeeded(exchange: Exchange): boolean {
  if (exchange.get('request').media.length === 0 || exchange.find('areMediaMeasured') === true) return false
  return exchange.get('target').price !== undefined && exchange.find('client') === undefined
}

function carriesFile(exchange: Exchange): boolean {
  return exchange.find('route')?.match.operation.carriesFile !== undefined
}

function begin(
  room: UploadRoom,
  exchange: Exchange,
  context: PluginContext,
  jobs: JobWatch,
): Promise<void> | undefined {
  if (carriesFile(exchange)) return room.reserve(exchange).then(() => admit(exchange, context, jobs))
  return isMeasureNeeded(exchange) ? measureAndAdmit(exchange, context, jobs) : admit(exchange, context, jobs)
}

async function measureAndAdmit(exchange: Exchange, context: PluginContext, jobs: JobWatch): Promise<void> {
  useMeasured(exchange, await measureRequest(exchange, context.ledger))
  await admit(exchange, context, jobs)
}

function admit(exchange: Exchange, context: PluginContext, jobs: JobWatch): Promise<void> | undefined {
  const { object } = exchange.get('route').match
  if (object === undefined) return setAside(exchange, context)
  return jobs.onRequest(exchange, object).then(() => setAside(exchange, context))
}

/** Reads an answer on its way; undefined where nothing of it is charged. */
function readAnswer(
  exchange: Exchange,
  head: ResponseHead,
  recordObject: (object: NamedObject) => Promise<void>,
  context: PluginContext,
): AnswerMeter | undefined {
  const { operation } = exchange.get('route').match
  if (operation.objectsInHead !== undefined || operation.isDeletion === true)
    holdBackObjects(exchange, head, recordObject, context.ledger)
  const requestId = providerRequestId(head.headers)
  if (requestId !== undefined) exchange.set('providerRequestId', requestId)
  const meter = meterFor(exchange, head, recordObject)
  if (meter === undefined) return undefined
  // An answer of a known length has been made and paid for when it comes.
  if (head.contentLength === undefined) meter.grower = growerOf(exchange, context)
  exchange.set('meter', meter)
  exchange.answerReader = meter
  return meter
}

/** Places the hold of an exchange; returns a promise where the ledger has to be waited for. */
function setAside(exchange: Exchange, context: PluginContext): Promise<void> | undefined {
  // A session is held for turn by turn.
  if (exchange.get('target').price === undefined || exchange.find('client') !== undefined) return undefined
  const hold = placeHold(exchange, context)
  if (hold instanceof Promise) return hold.then(placed => useHold(exchange, placed))
  useHold(exchange, hold)
  return undefined
}

/** No byte of an answer reaches the client before its hold is durable. */
function useHold(exchange: Exchange, hold: Hold): void {
  exchange.set('hold', hold)
  if (!hold.isDurable) exchange.holdBack(hold.durable)
}

/** Charges the exchange or gives its hold back, unless the hold has become that of a job. */
async function settle(
  exchange: Exchange,
  outcome: Outcome,
  jobs: JobWatch,
  { bus, ledger, usualOutputs }: PluginContext,
  settlement: SettlementContext,
): Promise<void> {
  const meter = exchange.find('meter')
  const read = meter?.end()
  if (read !== undefined) await read
  const startsJob = exchange.find('request')?.startsJob === true
  const isOfJob = startsJob || exchange.find('job') !== undefined
  const settled = isOfJob && jobs.settle(exchange, outcome, meter?.reading)
  const isSettled = settled instanceof Promise ? await settled : settled
  const hold = exchange.find('hold')
  if (hold === undefined || isSettled) return
  const decided = settleRequest(exchange, outcome, meter?.reading, settlement)
  const decision = decided instanceof Promise ? await decided : decided
  if (decision === undefined) {
    await jobs.release(exchange, hold)
    return
  }
  exchange.set(
    'usage',
    decision.lines.map(line => line.usage),
  )
  const result = await (startsJob ? jobs.charge(exchange, hold, decision) : ledger.charge(hold, decision))
  if (result === undefined) return
  exchange.set('charged', { charge: decision, result })
  if (decision.usageSource !== 'estimated') observe(exchange, meter?.reading, usualOutputs)
  if (result.flags.length === 0) return
  // Of what was used searches alone have a meter of their own.
  const request = exchange.find('request') ?? { media: [] }
  const tools = toolTypes(request, exchange.get('target'))
  for (const [code, details] of chargeAlarms(hold, decision, result, tools)) bus.emit('alarm', code, details)
}

/** What has the hold grow with the answer, and cuts it when no money is left; undefined where it costs nothing. */
function growerOf(exchange: Exchange, context: PluginContext): HoldGrower | undefined {
  const hold = exchange.find('hold')
  const target = exchange.get('target')
  const facts = exchange.get('request')
  // Of a job the hold is the job's.
  if (hold === undefined || target.price === undefined || facts.startsJob === true) return undefined
  return new HoldGrower({
    hold,
    basis: { target, facts, hold: context.config.hold },
    price: target.price,
    ledger: context.ledger,
    onSpent: reason => exchange.answerEnd?.cutAtEvent(reason),
    onFailure: failure => context.bus.emit('plugin-error', 'usage-tap', 'onData', failure, exchange),
  })
}

/** Objects that a response names, or says are deleted, before its first byte are so before the client reads it. */
function holdBackObjects(
  exchange: Exchange,
  { status, headers }: ResponseHead,
  recordObject: (object: NamedObject) => Promise<void>,
  ledger: PluginContext['ledger'],
): void {
  const { operation } = exchange.get('route').match
  const named = status < 400 ? operation.objectsInHead?.(headers) : undefined
  for (const object of named ?? []) exchange.holdBack(recordObject(object))
  const isGone = (status >= 200 && status < 300) || status === 404 || status === 410
  const deleted = operation.isDeletion === true && isGone ? exchange.find('target')?.object : undefined
  if (deleted !== undefined) exchange.holdBack(ledger.unlistObject(deleted))
}

/** The tap for a success that its operation can read; undefined for everything else. */
function meterFor(
  exchange: Exchange,
  head: ResponseHead,
  recordObject: (object: NamedObject) => Promise<void>,
): AnswerMeter | undefined {
  const target = exchange.find('target')
  const { operation, object } = exchange.get('route').match
  if (target === undefined || operation.readUsage === undefined || head.status < 200 || head.status > 299)
    return undefined
  const job = exchange.find('job')
  const request = exchange.get('request')
  const known = target.object?.facts
  const contentType = headerValue(head.headers, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  // https://ai.google.dev/gemini-api/docs/priority-inference
  const servedTier = headerValue(head.headers, 'x-gemini-service-tier')?.toLowerCase()
  const reader = operation.readUsage(
    { status: head.status, contentType, servedTier },
    {
      providerKind: target.provider.kind,
      facts: job === undefined ? request : jobRequestFacts(job),
      ...(object !== undefined && { object: { ...object, ...(known !== undefined && { facts: known }) } }),
    },
  )
  if (reader === undefined) return undefined
  return new AnswerMeter(exchange, reader, headerValue(head.headers, 'content-encoding'), {
    recordObject,
    namesObjects: operation.namesObjects === true || request.makesObjects === true,
    runsTools: toolTypes(request, target).length > 0,
  })
}

/** What the provider has counted is what the next answers of the model likely have. */
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
