import type { Config } from '../config/config.ts'
import type { Target } from '../exchange-facts.ts'
import type { Micros } from '../ledger/ledger.ts'
import { isPricedBySecond } from '../money/price.ts'
import { addMeters, type Meters } from '../money/usage.ts'
import { outputTokens, requestHold } from './request-hold.ts'

/** Google counts 32 tokens a second (wire.md 3.5), OpenAI fewer. */
const audioTokensPerSecond = 32
/** OpenAI counts 20 tokens a second of speech, Google 25. */
const spokenTokensPerSecond = 25

/** Tokens that so much sound is taken for when nobody has counted them. */
export function audioTokens(seconds: number, direction: 'heard' | 'spoken'): number {
  const perSecond = direction === 'heard' ? audioTokensPerSecond : spokenTokensPerSecond
  return Math.ceil(seconds * perSecond)
}

/** So much sound is held for ahead. */
const roomSeconds = 10

/** What is known of a turn before it begins. */
export interface ExpectedTurn {
  readonly input: Meters
  readonly outputTokensCap: number | undefined
  readonly isSpoken: boolean
}

/** A turn with room for what is said next: sound comes in small pieces, and not each needs a hold. */
export function withRoom(turn: ExpectedTurn): ExpectedTurn {
  return { ...turn, input: addMeters(turn.input, { audioInput: roomSeconds * audioTokensPerSecond }) }
}

/** What a price by the second counts, for what is known in tokens. */
export function inSeconds({ audioInput = 0, audioOutput = 0 }: Meters): Meters {
  return { audioSeconds: audioInput / audioTokensPerSecond + audioOutput / spokenTokensPerSecond }
}

/** What the next turn is expected to cost: all that was said so far is read again. */
export function turnHold(target: Target, hold: Config['hold'], turn: ExpectedTurn): Micros {
  const tokens = outputTokens(target, turn, hold)
  const units = addMeters(turn.input, turn.isSpoken ? { audioOutput: tokens } : { output: tokens })
  const isBySecond = target.price !== undefined && isPricedBySecond(target.price)
  return requestHold(
    target,
    {
      isStreaming: true,
      candidates: 1,
      textBytes: 0,
      outputTokensCap: 0,
      media: [],
      objects: [],
      units: isBySecond ? addMeters(units, inSeconds(units)) : units,
    },
    hold,
  )
}
