import type { UsageReader } from '../dialects/dialect.ts'
import { createDecoder, type Decoder } from '../http/decode.ts'
import type { NamedObject, UsageReading } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { sliceTokens } from './exchange-cost.ts'
import type { HoldGrower } from './place-hold.ts'
import type { Tap } from '../pipeline/plugin.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    meter: ResponseMeter
  }
}

/** Limits of the tap's own decoded copy of a compressed response. */
const decodeCaps = { outputBytesMax: 512 * 1_048_576, ratioMax: 1000 }

interface ResponseMeterOptions {
  recordObject(object: NamedObject): Promise<void>
  /** The response may name objects, which must be recorded before their names are relayed. */
  readonly namesObjects: boolean
  /** The provider may run tools, which cost more than the bytes that report them. */
  readonly runsTools: boolean
}

/** The response waits for a decoder that is this far behind. */
const waitingBytesMax = 1_048_576

/** Rare enough to cost nothing, frequent enough to watch the money: by bytes of the stream, whatever their content. */
const progressBytes = 16_384
/** The first check comes early, since it decides whether the rest may be gathered. */
const progressBytesFirst = 2048
/** By bytes of text, each of which may be a token: half of the slice that is held ahead. */
const textProgress = sliceTokens / 2

/**
 * The most bytes of a stream to read together: a single frame would find neither the code nor the stream's state in the
 * processor's cache. Each byte may be a token, so there are never more than the hold has room for.
 */
const gatheredBytesMax = sliceTokens
/** Longer frames are expensive enough by themselves, and are read as they arrive. */
const frameBytesMax = gatheredBytesMax / 4

/** The part of an exchange that a meter uses. */
type MeteredExchange = Pick<Exchange, 'hasClientLeft' | 'holdBack'>

/** The tap on one response: decodes its own copy if the response is compressed, and feeds the usage reader. */
export class ResponseMeter implements Tap {
  readonly #exchange: MeteredExchange
  readonly #reader: UsageReader
  readonly #options: ResponseMeterOptions
  readonly #decoder: Decoder | undefined
  readonly #isReadable: boolean
  readonly #mayGather: boolean
  #bytesToProgress = progressBytesFirst
  #nextProgress = textProgress
  /** The length of the text at the last check of the hold. */
  #lookedAt = 0
  /** Bytes that have arrived and are not read yet. */
  #gathered: Buffer | undefined
  #gatheredBytes = 0
  /** The final reading; undefined before `end` and for unknown encodings. */
  reading: UsageReading | undefined
  /** Grows the hold by the reading so far, each time enough of the response has arrived. */
  grower: Pick<HoldGrower, 'onProgress' | 'aheadTokens'> | undefined

  constructor(
    exchange: MeteredExchange,
    reader: UsageReader,
    encoding: string | undefined,
    options: ResponseMeterOptions,
  ) {
    this.#exchange = exchange
    this.#reader = reader
    this.#options = options
    const isEncoded = encoding !== undefined && encoding.toLowerCase() !== 'identity'
    this.#decoder = isEncoded ? createDecoder(encoding, chunk => this.#push(chunk), decodeCaps) : undefined
    this.#isReadable = !isEncoded || this.#decoder !== undefined
    this.#mayGather = this.#isReadable && !options.namesObjects && !options.runsTools
  }

  /** The response's last event has been seen; reads the gathered bytes first. */
  get isTerminal(): boolean {
    this.#readGathered()
    return this.#reader.isTerminal
  }

  onData(chunk: Buffer): void {
    if (this.#decoder === undefined) {
      if (this.#mayGather && chunk.length <= frameBytesMax) this.#gather(chunk)
      else if (this.#isReadable) this.#readNow(chunk)
      return
    }
    const pending = this.#decoder.write(chunk)
    if (pending === undefined) return
    // Bytes that may name an object wait until the decoder has shown whether they do.
    const mustWait = this.#options.namesObjects || this.#decoder.waitingBytes > waitingBytesMax
    if (mustWait) this.#exchange.holdBack(pending)
  }

  /**
   * Reads the remaining bytes. Called once, when the response has ended or was aborted. Returns a promise if a decoder
   * has work left.
   */
  end(): Promise<void> | undefined {
    if (this.#decoder !== undefined) return this.#decoder.end().then(() => this.#endReading())
    this.#endReading()
    return undefined
  }

  #endReading(): void {
    if (!this.#isReadable) return
    // The hold is settled next and need not grow.
    this.grower = undefined
    this.#readGathered()
    const reading = this.#reader.end()
    // Damaged or beyond the limits: the content of the rest is unknown. After a client disconnects, the truncation is
    // expected.
    const isUnreadable = this.#decoder?.isBroken === true && !this.#exchange.hasClientLeft
    this.reading = isUnreadable ? withFlag(reading, 'answer_unreadable') : reading
  }

  #gather(chunk: Buffer): void {
    if (this.#gatheredBytes + chunk.length > this.#unreadMax()) this.#readNow(chunk)
    else this.#keep(chunk)
  }

  #keep(chunk: Buffer): void {
    // A new buffer each time: the reader may keep a part of an event.
    this.#gathered ??= Buffer.allocUnsafe(gatheredBytesMax)
    this.#gatheredBytes += chunk.copy(this.#gathered, this.#gatheredBytes)
  }

  /** The most bytes that may wait to be read, whatever their content. */
  #unreadMax(): number {
    if (this.grower === undefined) return 0
    const { progress = 0 } = this.#reader
    return Math.min(gatheredBytesMax, this.grower.aheadTokens - (progress - this.#lookedAt))
  }

  #readNow(chunk: Buffer): void {
    this.#readGathered()
    this.#push(chunk)
  }

  #readGathered(): void {
    if (this.#gathered === undefined) return
    const bytes = this.#gathered.subarray(0, this.#gatheredBytes)
    this.#gathered = undefined
    this.#gatheredBytes = 0
    this.#push(bytes)
  }

  #report(progress: number): void {
    this.#bytesToProgress = progressBytes
    this.#nextProgress = progress + textProgress
    this.#lookedAt = progress
    const reading = this.grower && this.#reader.peek?.()
    if (reading !== undefined) this.grower?.onProgress(reading)
  }

  #push(chunk: Buffer): void {
    this.#reader.push(chunk)
    this.#bytesToProgress -= chunk.length
    const { progress = 0 } = this.#reader
    if (this.#bytesToProgress <= 0 || progress >= this.#nextProgress) this.#report(progress)
    if (!this.#options.namesObjects) return
    for (const object of this.#reader.takeObjects())
      this.#exchange.holdBack(this.#options.recordObject(object))
  }
}

function withFlag(reading: UsageReading, flag: string): UsageReading {
  return reading.flags.includes(flag) ? reading : { ...reading, flags: [...reading.flags, flag] }
}
