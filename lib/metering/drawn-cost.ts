import type { Micros } from '../money/amount.ts'
import { priceAtMost } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'

/** Of the most expensive image that OpenAI's table has, 1024x1536 in high quality, with three partial images on its way. */
export const drawnTokens = 6540
/** What an image that is gone on from is read as, in high fidelity. */
const readTokens = 6800

/** What images may cost that tools draw after so much text and so many images, by the prices of the models that draw. */
export function drawnAtMost(
  prices: readonly Price[],
  textTokens: number,
  imagesRead: number,
  images: number,
): Micros {
  let micros = 0
  for (const price of prices) {
    const meters: Meters = {
      input: images * textTokens,
      // Each is drawn from those that were given and those that were drawn before it.
      imageInput: readTokens * (images * imagesRead + (images * (images - 1)) / 2),
      imageOutput: images * drawnTokens,
    }
    micros += priceAtMost(price, { meters })
  }
  return micros
}
