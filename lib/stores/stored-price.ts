import type { Price } from '../money/price.ts'

export interface PriceRow {
  readonly hash: string
  /** The price's canonical text, of which `hash` is the hash. */
  readonly body: string
}

/** A price as it was when it was in force. */
export function storedPrice({ hash, body }: PriceRow): Price {
  return { hash, ...JSON.parse(body) }
}
