import { amountMicrosMax } from './amount.ts'
import type { Micros } from './amount.ts'
import type { Price } from './price.ts'
import { priceAtMost } from './price-line.ts'
import { ratesOf } from './rates.ts'
import type { Rates } from './rates.ts'
import type { Meter, Meters } from './usage.ts'

/** What a request may come to cost, as far as it can be told before it is sent. */
export interface HoldBasis {
  readonly textBytes: number
  /** How many bytes of text are taken for one token. */
  readonly bytesPerToken: number
  /** The allowance for all media parts together. */
  readonly mediaMicros: Micros
  /** The most output tokens of one candidate; 0 for operations without output. */
  readonly outputTokens: number
  readonly candidates: number
  /** Units the request itself names, such as images or characters. */
  readonly units?: Meters | undefined
  readonly variant?: string | undefined
  /** How long a cache may come to keep what is read; undefined where nothing is written to one. */
  readonly cacheWrite?: '5m' | '1h' | undefined
}

/**
 * What is asked for pictures gets them. Models that answer only in sound or pictures have no price for text out:
 * take the dearest they have.
 */
function outputMeter(rates: Rates, units: Meters | undefined): Meter {
  const base = rates.levels[0].rates
  if (units?.images !== undefined && base.imageOutput !== undefined) return 'imageOutput'
  if (base.output !== undefined) return 'output'
  return (base.audioOutput ?? 0n) > (base.imageOutput ?? 0n) ? 'audioOutput' : 'imageOutput'
}

function inputMeter(rates: Rates): Meter {
  const base = rates.levels[0].rates
  if (base.input !== undefined) return 'input'
  return (base.audioInput ?? 0n) > (base.imageInput ?? 0n) ? 'audioInput' : 'imageInput'
}

/** A count that a hostile request made impossible must not become a small hold. */
function expected(count: number): number {
  return count < 0 ? 0 : Math.ceil(count)
}

/** All that is read may be written to a cache or none of it, at the prices of either. */
function waysToRead(
  { rubPerMillion }: Price,
  meters: Meters,
  cacheWrite: HoldBasis['cacheWrite'],
): readonly Meters[] {
  const ways = [meters]
  const terms = cacheWrite === undefined ? [] : (['cacheWrite5m', 'cacheWrite1h'] as const)
  for (const term of cacheWrite === '5m' ? terms.slice(0, 1) : terms) {
    // Sound and pictures that cost what text does are written as text is.
    const { input = 0, audioInput = 0, imageInput = 0, ...others } = meters
    const ownAudio = rubPerMillion.audioInput === undefined ? 0 : audioInput
    const ownImage = rubPerMillion.imageInput === undefined ? 0 : imageInput
    const written = input + audioInput - ownAudio + imageInput - ownImage
    ways.push({ ...others, audioInput: ownAudio, imageInput: ownImage, [term]: written })
  }
  return ways
}

/** What to set aside before the request is sent, rounded up. It has no margin. */
export function holdAmount(price: Price, basis: HoldBasis): Micros {
  const rates = ratesOf(price)
  const meters: Meters = { ...basis.units }
  const input = inputMeter(rates)
  meters[input] = (meters[input] ?? 0) + expected(basis.textBytes / basis.bytesPerToken)
  const output = outputMeter(rates, basis.units)
  meters[output] = (meters[output] ?? 0) + expected(basis.outputTokens * basis.candidates)
  let dearest = 0
  for (const read of waysToRead(price, meters, basis.cacheWrite)) {
    const line = { meters: read, ...(basis.variant === undefined ? {} : { variant: basis.variant }) }
    dearest = Math.max(dearest, priceAtMost(price, line))
  }
  const amount = dearest + basis.mediaMicros
  return amount > amountMicrosMax ? amountMicrosMax : amount
}
