import type { RequestFacts } from '../dialects/dialect.ts'
import type { NamedPrice } from '../models/requested-model.ts'
import type { Micros } from '../money/amount.ts'
import { costAtMost } from '../money/consumed-cost.ts'
import type { CostTarget } from './exchange-cost.ts'
import { outputCap } from './output-cap.ts'
import type { ToolRounds } from './tool-rounds.ts'
import { priceAtMost } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** The tokens of the most expensive image in OpenAI's table, 1024x1536 in high quality, with three partial images. */
export const drawnTokens = 6540
/** The input tokens of an earlier image, in high fidelity. */
const readTokens = 6800

/**
 * The maximum cost of images made by tools after so much text and so many images, by the prices of the models that make
 * them.
 */
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
      // Each image is made from the input images and those made before it.
      imageInput: readTokens * (images * imagesRead + (images * (images - 1)) / 2),
      imageOutput: images * drawnTokens,
    }
    micros += priceAtMost(price, { meters })
  }
  return micros
}

interface NamedWork {
  readonly tokens: number
  /** The output of the responding model. */
  readonly outputTokens: number
  readonly rounds: ToolRounds
}

/** The maximum cost of the models named beside it: each reads the whole input, every time it is called. */
export function namedAtMost(
  target: CostTarget,
  facts: RequestFacts,
  { tokens, outputTokens, rounds }: NamedWork,
): Micros {
  const { named = [] } = target
  const times = Math.max(1, rounds.count)
  const images = facts.media.filter(({ kind }) => kind === 'image').length
  const drawing = named.filter(({ isDrawing }) => isDrawing).map(({ price }) => price)
  let micros = drawnAtMost(drawing, tokens, images, times)
  const input = Math.max(tokens, rounds.tokensAfter(tokens + outputTokens))
  for (const one of named) {
    if (one.isDrawing) continue
    const { steps, outputTokens: each } = workOf(one, target, facts, outputTokens)
    const consumed = {
      read: { input: steps * input },
      outputTokens: times * steps * each,
      units: { requests: 1, searches: steps > 1 ? times * (steps - 1) : 0 },
    }
    micros += costAtMost(one.price, {
      ...consumed,
      cacheWrite: facts.cacheWrite,
      wantedTier: facts.wantedTier,
    })
  }
  return micros
}

/** How often a model continues each time it is called, and the most that it writes each time. */
function workOf(
  { names, model }: NamedPrice,
  target: CostTarget,
  facts: RequestFacts,
  responseTokens: number,
): { readonly steps: number; readonly outputTokens: number } {
  const upstreamModelName = names.at(-1) ?? ''
  const own = { model, provider: target.provider, upstreamModelName }
  const tools = (facts.tools ?? []).filter(tool => tool.model !== undefined && names.includes(tool.model))
  // The request's own cap, and the visible part of a stream, limit a model that responds instead of the named one, but
  // not an advisor.
  if (tools.length === 0) {
    const isSeen = responseTokens < outputCap(target, facts)
    return {
      steps: 1,
      outputTokens: isSeen ? responseTokens : Math.max(responseTokens, outputCap(own, facts)),
    }
  }
  let outputTokens = 0
  let steps = 1
  for (const tool of tools) {
    const cap = knownProvider(target.provider.kind).capsAdvisors === true ? tool.outputTokens : undefined
    outputTokens = Math.max(outputTokens, outputCap(own, { outputTokensCap: cap }))
    steps = Math.max(steps, 1 + (tool.steps ?? 0))
  }
  return { steps, outputTokens }
}
