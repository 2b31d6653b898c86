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

/** Bounds on the tap's own decoded copy of a compressed answer. */
const decodeCaps = { outputBytesMax: 512 * 1_048_576, ratioMax: 1000 }

interface ResponseMeterOptions {
  recordObject(object: NamedObject): Promise<void>
  /** The answer may name objects, whose names must be recorded before they are relayed. */
  readonly namesObjects: boolean
  /** The provider may run tools, which cost more than the bytes that tell of them. */
  readonly runsTools: boolean
}

/** A decoder that is so far behind has the response wait for it. */
const waitingBytesMax = 1_048_576

/** So seldom that it costs nothing, and often enough for money to be looked after: by bytes of the stream, whatever they are. */
const progressBytes = 16_384
/** The first look comes early, since it tells whether the rest may be gathered. */
const progressBytesFirst = 2048
/** By bytes of text, of which each may be a token: half of the slice that is held ahead. */
const textProgress = sliceTokens / 2

/**
 * So many bytes of a stream are read together at most: a frame by itself finds neither the code nor what is known of its
 * stream in the processor's cache. Each of them may be a token, so there are never more than the hold has room for.
 */
const gatheredBytesMax = sliceTokens
/** Longer frames are dear enough by themselves, and are read as they come. */
const frameBytesMax = gatheredBytesMax / 4

/** What a meter asks of its exchange. */
type MeteredExchange = Pick<Exchange, 'hasClientLeft' | 'holdBack'>

/** The tap on one answer: decodes its own copy where the answer is compressed, and feeds the usage reader. */
export class ResponseMeter implements Tap {
  readonly #exchange: MeteredExchange
  readonly #reader: UsageReader
  readonly #options: ResponseMeterOptions
  readonly #decoder: Decoder | undefined
  readonly #isReadable: boolean
  readonly #mayGather: boolean
  #bytesToProgress = progressBytesFirst
  #nextProgress = textProgress
  /** How far the text had come when the hold was last looked after. */
  #lookedAt = 0
  /** What has come and is not read yet. */
  #gathered: Buffer | undefined
  #gatheredBytes = 0
  /** What was read; undefined before `end` and for encodings nobody knows. */
  reading: UsageReading | undefined
  /** Has the hold grow by what was read so far, as often as so much more of the answer has come. */
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

  /** The answer's last event has been seen; what waits to be read is read for it. */
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
   * Reads what is left. Called once, when the answer has ended or was given up. Returns a promise where a
   * decoder has to be waited for.
   */
  end(): Promise<void> | undefined {
    if (this.#decoder !== undefined) return this.#decoder.end().then(() => this.#endReading())
    this.#endReading()
    return undefined
  }

  #endReading(): void {
    if (!this.#isReadable) return
    // What is settled next need not grow.
    this.grower = undefined
    this.#readGathered()
    const reading = this.#reader.end()
    // Damaged or beyond the caps: nobody knows what stood in the rest. What a client leaves is cut short by that.
    const isUnreadable = this.#decoder?.isBroken === true && !this.#exchange.hasClientLeft
    this.reading = isUnreadable ? withFlag(reading, 'answer_unreadable') : reading
  }

  #gather(chunk: Buffer): void {
    if (this.#gatheredBytes + chunk.length > this.#unreadMax()) this.#readNow(chunk)
    else this.#keep(chunk)
  }

  #keep(chunk: Buffer): void {
    // Each time a new one: the reader may keep a part of an event.
    this.#gathered ??= Buffer.allocUnsafe(gatheredBytesMax)
    this.#gatheredBytes += chunk.copy(this.#gathered, this.#gatheredBytes)
  }

  /** So much may wait to be read, whatever it is. */
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
