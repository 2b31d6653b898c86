import type { Config } from '../config/config.ts'
import type { Target } from '../exchange-facts.ts'
import type { Micros } from '../ledger/ledger.ts'
import { isPricedBySecond } from '../money/price.ts'
import { addMeters, type Meters } from '../money/usage.ts'
import { requestHold } from './request-hold.ts'

/** Output tokens set aside for a turn when neither it, nor the model, nor the operator names a limit. */
const outputTokensUnknown = 4096
/** Sound of 24,000 samples of two bytes a second; other forms are smaller, and so is what they cost. */
const audioBytesPerSecond = 48_000
/** Google counts 32 tokens a second (wire.md 3.5), OpenAI fewer. */
const audioTokensPerSecond = 32
/** OpenAI counts 20 tokens a second of speech, Google 25. */
const spokenTokensPerSecond = 25

/** Tokens that so much sound is taken for when nobody has counted them. */
export function audioTokens(bytes: number, direction: 'heard' | 'spoken'): number {
  const perSecond = direction === 'heard' ? audioTokensPerSecond : spokenTokensPerSecond
  return Math.ceil((bytes / audioBytesPerSecond) * perSecond)
}

/** What is not held for yet, beside what was said: sound comes in small pieces. */
const roomSeconds = 10

/** What is known of a turn before it begins. */
export interface ExpectedTurn {
  readonly input: Meters
  readonly outputTokensCap: number | undefined
  readonly isSpoken: boolean
}

/** The same turn when so much more was said that a hold for each piece would be one too many. */
export function withRoom(turn: ExpectedTurn): ExpectedTurn {
  return { ...turn, input: addMeters(turn.input, { audioInput: roomSeconds * audioTokensPerSecond }) }
}

/** What a price by the second counts, for what is known in tokens. */
export function inSeconds({ audioInput = 0, audioOutput = 0 }: Meters): Meters {
  return { audioSeconds: audioInput / audioTokensPerSecond + audioOutput / spokenTokensPerSecond }
}

/** What the next turn is expected to cost: all that was said so far is read again. */
export function turnHold(target: Target, hold: Config['hold'], turn: ExpectedTurn): Micros {
  const known = [turn.outputTokensCap, target.model?.outputTokensMax, hold.outputTokens].filter(
    tokens => tokens !== undefined,
  )
  const tokens = known.length === 0 ? outputTokensUnknown : Math.min(...known)
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
