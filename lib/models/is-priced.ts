import type { Price } from '../money/price.ts'
import type { Meter } from '../money/usage.ts'

/** Prices that pay for an operation as well as its main meter does. */
const alternatives: { readonly [M in Meter]?: readonly Meter[] } = {
  images: ['imageOutput', 'output'],
  imageOutput: ['images', 'output'],
  characters: ['audioOutput', 'output', 'audioSeconds'],
  audioOutput: ['output', 'characters'],
  audioSeconds: ['audioInput', 'input'],
  audioInput: ['input', 'audioSeconds'],
  searches: ['requests', 'input'],
}

/** Whether a model has a price for what an operation mainly consumes; without one it is refused. */
export function isPriced(price: Price, mainMeter: Meter): boolean {
  return [mainMeter, ...(alternatives[mainMeter] ?? [])].some(meter => hasPrice(price, meter))
}

function hasPrice(price: Price, meter: Meter): boolean {
  if (price.rubPerMillion[meter] !== undefined) return true
  return Object.keys(price.rubPerUnit).some(name => name === meter || name.startsWith(`${meter}/`))
}
