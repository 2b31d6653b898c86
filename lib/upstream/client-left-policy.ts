import type { Target } from '../models/target.ts'
import type { Exchange } from '../pipeline/exchange.ts'

/**
 * What is done with an answer whose client has left. Work that its provider goes on with, and what it keeps
 * for money, must be known by its name, whoever is still there to hear it.
 */
export function clientLeftPolicy(exchange: Exchange, { provider }: Target): Exchange['onClientLeft'] {
  const { startsJob, units } = exchange.get('request')
  const isKept = startsJob === true || units?.cacheStorage !== undefined
  return isKept || exchange.find('job') !== undefined ? 'drain' : provider.onClientLeft
}
