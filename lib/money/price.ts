import type { Meter } from './usage.ts'

/** A decimal as written in the config, such as `"0.15"`: never a float. */
export type Decimal = string

/** A dearer rate for long prompts. */
export interface PriceTier {
  /** The tier applies when the prompt (all input meters together) is longer than this many tokens. */
  readonly inputTokens: number
  /** `whole`: the whole request at this rate; `excess`: only what lies above. */
  readonly mode: 'whole' | 'excess'
  readonly rubPerMillion: Readonly<{ [M in Meter]?: Decimal }>
}

/** What a model costs, from a date on. */
export interface Price {
  /** SHA-256 of the canonical JSON of all that follows, base64url: the price's version. */
  readonly hash: string
  readonly model: string
  /** ISO date or time from which the price applies; absent means always. */
  readonly from?: string
  readonly rubPerMillion: Readonly<{ [M in Meter]?: Decimal }>
  /** By meter or `meter/variant`: `images/1024x1024/high`. */
  readonly rubPerUnit: Readonly<Record<string, Decimal>>
  readonly above: readonly PriceTier[]
  /** Multipliers by the tier served: `batch`, `flex`, `priority`. */
  readonly factors: Readonly<Record<string, Decimal>>
  /** The amount of a line is rounded up to the micro-rouble; half up where it is absent. */
  readonly round?: 'up'
}

/** Prices that pay for an operation as well as its main meter does. */
const alternativeMeters: { readonly [M in Meter]?: readonly Meter[] } = {
  images: ['imageOutput', 'output'],
  imageOutput: ['images', 'output'],
  characters: ['audioOutput', 'output', 'audioSeconds'],
  audioOutput: ['output', 'characters'],
  audioSeconds: ['audioInput', 'input'],
  audioInput: ['input', 'audioSeconds'],
  searches: ['requests', 'input'],
}

/** Whether what is read is paid for by its pages. */
export function isPricedByPage({ rubPerUnit, rubPerMillion }: Price): boolean {
  return rubPerUnit['pages'] !== undefined || rubPerMillion.pages !== undefined
}

/** Whether sound is paid for by its length. */
export function isPricedBySecond({ rubPerUnit, rubPerMillion }: Price): boolean {
  return rubPerUnit['audioSeconds'] !== undefined || rubPerMillion.audioSeconds !== undefined
}

/** When a price that says `from` begins, in milliseconds since the epoch. */
export function startOf(from: string | undefined): number {
  return from === undefined ? -Infinity : Date.parse(from)
}

/** Picks the version of a price that applies at a moment: the one with the latest `from` not after it. */
export function priceInForce(prices: readonly Price[], atMs: number): Price | undefined {
  let best: Price | undefined
  let bestFromMs = -Infinity
  for (const price of prices) {
    const fromMs = startOf(price.from)
    if (fromMs <= atMs && (best === undefined || fromMs >= bestFromMs)) {
      best = price
      bestFromMs = fromMs
    }
  }
  return best
}

/** Whether a model has a price for what an operation mainly consumes; without one it is refused. */
export function isPriced(price: Price, mainMeter: Meter): boolean {
  return [mainMeter, ...(alternativeMeters[mainMeter] ?? [])].some(meter => hasPrice(price, meter))
}

function hasPrice(price: Price, meter: Meter): boolean {
  if (price.rubPerMillion[meter] !== undefined) return true
  return Object.keys(price.rubPerUnit).some(name => name === meter || name.startsWith(`${meter}/`))
}
