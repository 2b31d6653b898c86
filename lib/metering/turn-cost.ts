import type { RequestFacts } from '../dialects/dialect.ts'
import { spokenTokensPerSecond } from '../dialects/measure.ts'
import type { ProviderTool } from '../dialects/provider-tools.ts'
import { isPricedBySecond } from '../money/price.ts'
import { addMeters, type Meters } from '../money/usage.ts'
import { exchangeCost, type CostBasis } from './exchange-cost.ts'
import type { ExchangeCost } from '../money/exchange-cost.ts'
import { outputCap } from './output-cap.ts'

/** Google counts 32 tokens a second (wire.md 3.5), OpenAI fewer. */
const audioTokensPerSecond = 32

/** Tokens of so much audio, if they were not counted. */
export function audioTokens(seconds: number, direction: 'heard' | 'spoken'): number {
  const perSecond = direction === 'heard' ? audioTokensPerSecond : spokenTokensPerSecond
  return Math.ceil(seconds * perSecond)
}

/** Seconds of audio that a hold covers in advance. */
const roomSeconds = 10

/** The facts of a turn before it begins. */
export interface ExpectedTurn {
  /** The most that it reads. */
  readonly input: Meters
  /** What it is expected to read. */
  readonly likelyInput: Meters
  readonly outputTokensCap: number | undefined
  readonly isSpoken: boolean
  /** The tools that the provider may run. */
  readonly tools: readonly ProviderTool[]
}

/** A turn with room for the next audio: audio arrives in small pieces, and not each needs a hold. */
export function withRoom(turn: ExpectedTurn): ExpectedTurn {
  const room = { audioInput: roomSeconds * audioTokensPerSecond }
  return { ...turn, input: addMeters(turn.input, room), likelyInput: addMeters(turn.likelyInput, room) }
}

/** The units of a price per second, from token counts. */
export function inSeconds({ audioInput = 0, audioOutput = 0 }: Meters): Meters {
  return { audioSeconds: audioInput / audioTokensPerSecond + audioOutput / spokenTokensPerSecond }
}

/** The cost of a session's next turn: everything said so far is read again. */
export function turnCost(basis: Omit<CostBasis, 'facts'>, turn: ExpectedTurn): ExchangeCost {
  const cap = outputCap(basis.target, turn)
  const most = exchangeCost({ ...basis, facts: factsOf(basis, turn, cap) })
  const usual = Math.min(cap, basis.usualOutputTokens ?? basis.hold.likelyOutputTokens)
  const usually = exchangeCost({
    ...basis,
    facts: factsOf(basis, { ...turn, input: turn.likelyInput }, usual),
  })
  return { ...most, likelyMicros: Math.min(most.worstMicros, usually.likelyMicros) }
}

function factsOf({ target }: Omit<CostBasis, 'facts'>, turn: ExpectedTurn, tokens: number): RequestFacts {
  const units: Meters = turn.isSpoken ? { audioOutput: tokens } : {}
  const isBySecond = target.price !== undefined && isPricedBySecond(target.price)
  return {
    isStreaming: false,
    candidates: 1,
    textBytes: 0,
    outputTokensCap: turn.isSpoken ? 0 : tokens,
    media: [],
    objects: [],
    tools: turn.tools,
    context: turn.input,
    units: isBySecond ? addMeters(units, inSeconds(addMeters(turn.input, units))) : units,
  }
}
