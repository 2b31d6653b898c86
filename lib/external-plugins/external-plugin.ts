import { GatewayError } from '../pipeline/errors.ts'
import { headerValue } from '../http/headers.ts'
import type { Exchange, Fact, Facts, Outcome } from '../pipeline/exchange.ts'
import type { Plugin, ResponseHead, SessionTap, Tap } from '../pipeline/plugin.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import { DecodedUpload } from '../uploads/decoded-upload.ts'
import {
  ExternalExchange,
  pipelineFact,
  shownHeader,
  upstreamRequest,
  ResponseTap,
  TextPieces,
} from './external-exchange.ts'
import type {
  PluginCharge,
  PluginDefinition,
  PluginHooks,
  PluginOutcome,
  TextReader,
} from '../plugin-api/plugin-api.ts'
import { bodyPieces, type RequestBody } from '../bodies/outgoing-body.ts'
import type { MediaPart } from '../http/media-part.ts'
import { Base64Source } from '../media/base64-source.ts'
import { MediaBudget } from '../media/media-reader.ts'
import type { JobEnd } from '../jobs/end-job.ts'
import { addMeters, type Meters } from '../money/usage.ts'

/** A gate that never ends would keep its client and its exchange for ever. */
const gateMs = 30_000

type Hooks = PluginHooks<ExternalExchange>

const pieceBytes = 49_152
const textTypes = /^(?:text\/|application\/(?:json|xml|rtf|yaml|javascript))|\+(?:json|xml)$/

/** Reads a body as text, and also its base64 text documents, whose content the body's text hides. */
async function readBodyText(
  content: RequestBody,
  media: readonly MediaPart[],
  text: TextPieces,
): Promise<void> {
  for await (const piece of bodyPieces(content)) text.push(piece)
  const budget = new MediaBudget()
  for (const part of media) {
    const { bytes, encoding, declaredType = '', bodyStart, bodyBytes } = part
    if (bytes === undefined || encoding === undefined || !textTypes.test(declaredType)) continue
    text.end()
    const isDataUrl = encoding === 'dataUrl'
    const place = { start: bodyStart, end: bodyStart + bodyBytes, bytes, isDataUrl }
    const source = new Base64Source(content, place, budget)
    for (let position = 0; position < bytes; position += pieceBytes) {
      text.push(await source.read(position, pieceBytes))
    }
  }
}

type Charged = Facts['charged']

/** The charge of an exchange, or of a turn of its session. */
function exchangeCharge(exchange: Exchange, sequence: number, charged: Charged): PluginCharge {
  const { id, accountId } = exchange.get('key')
  return { requestId: exchange.id, sequence, accountId, keyId: id, ...shared(charged) }
}

/** The charge of a job; undefined for one that costs nothing. */
function jobCharge({ job, charged }: JobEnd): PluginCharge | undefined {
  if (charged === undefined) return undefined
  const { exchangeId, sequence, accountId, keyId } = job
  return { requestId: exchangeId, sequence, accountId, keyId, ...shared(charged) }
}

const reporters = new WeakMap<JobEnd, Set<string>>()

/**
 * Jobs belong to no pipeline: while a reload's pipelines run side by side, only the first plugin of a name reports one.
 */
function isFirstToReport(end: JobEnd, plugin: string): boolean {
  const reported = reporters.get(end) ?? new Set()
  reporters.set(end, reported)
  const isFirst = !reported.has(plugin)
  reported.add(plugin)
  return isFirst
}

function shared({ charge, result }: Charged) {
  const { provider, model, dialect, operation, lines } = charge
  const usage = lines.reduce<Meters>((sum, line) => addMeters(sum, line.usage.meters), {})
  const { amountMicros, flags } = result
  return { provider, model, dialect, operation, usage: { ...usage }, amountMicros, flags }
}

/**
 * An external plugin as a stage of the pipeline. It gets views and copies instead of the gateway's own objects, and its
 * failures carry its name.
 */
export class ExternalPlugin implements Plugin {
  readonly name: string
  readonly needs: readonly Fact[]
  readonly provides: readonly Fact[]
  readonly #hooks: Hooks
  readonly #bus: PipelineBus
  readonly #views = new WeakMap<Exchange, ExternalExchange>()
  readonly #taps = new WeakMap<Exchange, ResponseTap>()
  readonly #unsubscribe: (() => void)[] = []
  #isStarted = false

  constructor({ name, needs = [], provides = [] }: PluginDefinition, hooks: Hooks, bus: PipelineBus) {
    this.name = name
    // The text of a request is available once its body has been received.
    const ofText: Fact[] = hooks.onRequestText === undefined ? [] : ['request']
    this.needs = [...needs.map(pipelineFact), ...ofText]
    this.provides = provides.map(pipelineFact)
    this.#hooks = hooks
    this.#bus = bus
  }

  async start(): Promise<void> {
    await this.#call('start', () => this.#hooks.start?.())
    this.#isStarted = true
    if (this.#hooks.onCharge === undefined) return
    this.#unsubscribe.push(
      this.#bus.on('session-charge', (exchange, sequence, charged) => {
        // After a reload, earlier sessions belong to the earlier instance of the plugin.
        if (this.#views.has(exchange)) this.#reportCharge(exchangeCharge(exchange, sequence, charged))
      }),
      this.#bus.on('job-end', end => {
        const charge = jobCharge(end)
        if (charge !== undefined && isFirstToReport(end, this.name)) this.#reportCharge(charge)
      }),
    )
  }

  async stop(): Promise<void> {
    for (const end of this.#unsubscribe) end()
    if (this.#isStarted) await this.#call('stop', () => this.#hooks.stop?.())
  }

  async onRequest(exchange: Exchange): Promise<void> {
    const view = this.#view(exchange)
    await this.#call('onRequest', () => inTime(this.#hooks.onRequest?.(view)))
    if (this.#hooks.onRequestText !== undefined) await this.#readRequest(exchange)
  }

  onUpstreamRequest(exchange: Exchange): void {
    try {
      this.#hooks.onUpstreamRequest?.(this.#view(exchange), upstreamRequest(exchange))
    } catch (error) {
      if (error instanceof GatewayError) throw error
      this.#report('onUpstreamRequest', error, exchange.id)
    }
  }

  onResponse(exchange: Exchange, { status, headers }: ResponseHead): Tap | undefined {
    const response = { status, header: (name: string) => shownHeader(headers, name) }
    const tap = this.#hooks.onResponse?.(this.#view(exchange), response)
    if (tap === undefined || tap === null) return undefined
    if (typeof tap !== 'object') throw new TypeError('It returned something that is no tap.')
    const watching = new ResponseTap(tap, headerValue(headers, 'content-encoding') ?? '', error =>
      this.#report('tap', error, exchange.id),
    )
    this.#taps.set(exchange, watching)
    return watching
  }

  onSession(exchange: Exchange): SessionTap | undefined {
    if (this.#hooks.onRequestText === undefined) return undefined
    return {
      isBusy: false,
      endReason: undefined,
      endAfterTurn: () => undefined,
      onProviderMessage: () => undefined,
      onClientMessage: async data => {
        await this.#readText(exchange, async text => text.push(data))
        return undefined
      },
    }
  }

  async onEnd(exchange: Exchange, outcome: Outcome): Promise<void> {
    const charged = exchange.find('charged')
    if (charged !== undefined) this.#reportCharge(exchangeCharge(exchange, 0, charged))
    await this.#taps.get(exchange)?.end()
    await this.#hooks.onEnd?.(this.#view(exchange), shownOutcome(exchange, outcome))
  }

  #view(exchange: Exchange): ExternalExchange {
    const known = this.#views.get(exchange)
    if (known !== undefined) return known
    const view = new ExternalExchange(exchange)
    this.#views.set(exchange, view)
    return view
  }

  /** Reads a whole body, or watches it while it streams through. */
  async #readRequest(exchange: Exchange): Promise<void> {
    const content = exchange.find('content')
    if (content !== undefined && content.length > 0)
      await this.#readText(exchange, text => readBodyText(content, exchange.get('request').media, text))
    const upload = exchange.find('upload')
    const reader = upload && this.#reader(exchange)
    if (upload === undefined || reader === undefined) return
    const text = new TextPieces(piece => reader.onText(piece))
    const watcher = {
      facts: undefined,
      abort: () => undefined,
      onData: (chunk: Buffer) => this.#call('onRequestText', async () => text.push(chunk)),
      onEnd: () => this.#call('onRequestText', () => finish(text, reader)),
    }
    const encoding = headerValue(exchange.request.rawHeaders, 'content-encoding') ?? 'identity'
    // A body that cannot be decoded is refused: a guard that sees nothing would let everything pass.
    const isPlain = encoding.trim().toLowerCase() === 'identity'
    upload.watch(
      isPlain ? watcher : new DecodedUpload({ encoding, length: upload.length, mustBeRead: true }, watcher),
    )
  }

  async #readText(exchange: Exchange, fill: (text: TextPieces) => Promise<void>): Promise<void> {
    const reader = this.#reader(exchange)
    if (reader === undefined) return
    await this.#call('onRequestText', async () => {
      const text = new TextPieces(piece => reader.onText(piece))
      await fill(text)
      await finish(text, reader)
    })
  }

  #reader(exchange: Exchange): TextReader | undefined {
    try {
      return this.#hooks.onRequestText?.(this.#view(exchange))
    } catch (error) {
      throw this.#named('onRequestText', error)
    }
  }

  /** @throws GatewayError as the plugin threw it; for any other error, an Error with the plugin's name */
  async #call(hook: string, act: () => void | Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      throw this.#named(hook, error)
    }
  }

  #named(hook: string, error: unknown): Error {
    if (error instanceof GatewayError) return error
    const text = error instanceof Error ? error.message : String(error)
    return new Error(`The plugin "${this.name}" failed in ${hook}: ${text}`, { cause: error })
  }

  #reportCharge(charge: PluginCharge): void {
    if (this.#hooks.onCharge === undefined) return
    this.#call('onCharge', () => this.#hooks.onCharge?.(charge)).catch((error: unknown) =>
      this.#report('onCharge', error, charge.requestId),
    )
  }

  #report(hook: string, error: unknown, requestId: string): void {
    this.#bus.emit('plugin-error', this.name, hook, error, { id: requestId })
  }
}

async function finish(text: TextPieces, reader: TextReader): Promise<void> {
  text.end()
  await inTime(reader.onEnd?.())
}

async function inTime(pending: void | Promise<void>): Promise<void> {
  if (!(pending instanceof Promise)) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${gateMs / 1000} seconds.`)), gateMs)
  })
  await Promise.race([pending, late]).finally(() => clearTimeout(timer))
}

function shownOutcome({ response }: Exchange, outcome: Outcome): PluginOutcome {
  const error = 'error' in outcome ? outcome.error : undefined
  return {
    kind: outcome.kind,
    status: response.headersSent ? response.statusCode : undefined,
    code: error === undefined ? undefined : error instanceof GatewayError ? error.code : 'internal',
  }
}
