import type { Admitted, WaysToFit } from '../ledger/as-gateway-error.ts'
import { exchangeCost, type CostBasis } from './exchange-cost.ts'
import type { ExchangeCost } from '../money/exchange-cost.ts'
import { outputCap } from './output-cap.ts'

/** Whether an exchange of this cost is admitted. */
export function fits(cost: ExchangeCost, room: Admitted): boolean {
  const worstMicros = room.isStrict ? cost.strictMicros : cost.worstMicros
  return cost.likelyMicros <= room.likelyMicros && worstMicros <= room.worstMicros
}

/** The changes that would make a request fit: each is listed only if it is sufficient alone. */
export function waysToFit(basis: CostBasis, room: Admitted): Required<WaysToFit> {
  // No change of a batch's own body reduces its cost.
  if (basis.target.batch !== undefined)
    return { maxTokens: 0, advice: ' Send fewer requests in one batch, each with a cap on its output.' }
  const maxTokens = outputTokensThatFit(basis, room)
  const ways = [
    ...(maxTokens > 0 ? [`ask for at most ${maxTokens} output tokens`] : []),
    ...otherWays(basis).flatMap(({ facts, way }) =>
      fits(exchangeCost({ ...basis, facts }), room) || outputTokensThatFit({ ...basis, facts }, room) > 0
        ? [way]
        : [],
    ),
  ]
  return { maxTokens, advice: ways.length === 0 ? '' : ` Or ${ways.join(', or ')}.` }
}

interface OtherWay {
  readonly facts: CostBasis['facts']
  readonly way: string
}

function otherWays({ facts }: CostBasis): readonly OtherWay[] {
  const ways: OtherWay[] = []
  if (!facts.isStreaming) ways.push({ facts: { ...facts, isStreaming: true }, way: 'stream the response' })
  const { tools = [] } = facts
  if (tools.some(({ uses }) => uses === undefined || uses > 1)) {
    ways.push({
      facts: {
        ...facts,
        tools: tools.map(tool => ({ ...tool, uses: 1 })),
        toolUsesMax: { member: 'max_tool_calls', uses: 1 },
      },
      way: `let its tools be used less often (max_uses, max_tool_calls)`,
    })
  }
  if (tools.length > 0) {
    const { tools: _, ...without } = facts
    ways.push({ facts: without, way: 'leave out the tools that the provider runs' })
  }
  const unknown = facts.media.filter(({ bytes, seconds, pages }) => (bytes ?? seconds ?? pages) === undefined)
  if (unknown.length > 0) {
    const inline = facts.media.filter(part => !unknown.includes(part))
    ways.push({
      facts: { ...facts, media: inline },
      way: 'send its files inline, so that they can be measured',
    })
  }
  return ways
}

/** The largest cap on output tokens that is admitted; 0 if the input alone is not. */
function outputTokensThatFit(basis: CostBasis, room: Admitted): number {
  const withCap = (outputTokensCap: number): boolean => {
    const { completionTokensCap: _, ...facts } = basis.facts
    return fits(exchangeCost({ ...basis, facts: { ...facts, outputTokensCap } }), room)
  }
  if (!withCap(1)) return 0
  let most = 1
  let exceeds = outputCap(basis.target, basis.facts) + 1
  while (exceeds - most > 1) {
    const middle = Math.floor((most + exceeds) / 2)
    if (withCap(middle)) most = middle
    else exceeds = middle
  }
  return most
}
