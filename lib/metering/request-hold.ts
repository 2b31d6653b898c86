import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { Target } from '../exchange-facts.ts'
import type { Micros } from '../ledger/ledger.ts'
import { amountMicrosMax, parseRoubles } from '../money/amount.ts'
import { holdAmount } from '../money/hold-amount.ts'
import { priceAtMost } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import { timesFactorsAtMost } from '../money/tier-factor.ts'
import { addMeters, tokensOf, type Meters } from '../money/usage.ts'
import { mediaAllowance } from './media-allowance.ts'

/** Output tokens set aside when neither the request, nor the model, nor the operator names a limit. */
const outputTokensUnknown = 4096
/** Of the dearest picture that OpenAI's table has: 1024x1536, high. */
const drawnTokens = 6240

/** The most output tokens a request is expected to get: its own cap, else the model's, else the operator's. */
export function outputTokens(
  target: Target,
  facts: { readonly outputTokensCap?: number | undefined },
  hold: Config['hold'],
): number {
  const modelMax = target.model?.outputTokensMax
  if (facts.outputTokensCap !== undefined)
    return Math.min(facts.outputTokensCap, modelMax ?? Number.MAX_SAFE_INTEGER)
  const known = [modelMax, hold.outputTokens].filter(tokens => tokens !== undefined)
  return known.length === 0 ? outputTokensUnknown : Math.min(...known)
}

/** The most text that an exchange is expected to read and to write, and what it goes on from. */
export function expectedTokens(target: Target, facts: RequestFacts, hold: Config['hold']): Meters {
  const input = Math.ceil(facts.textBytes / hold.bytesPerToken)
  const output = outputTokens(target, facts, hold) * facts.candidates
  return addMeters({ input, output }, facts.context)
}

/** The most tokens an exchange is expected to take, input and output. */
export function requestTokens(target: Target, facts: RequestFacts, hold: Config['hold']): number {
  return tokensOf(expectedTokens(target, facts, hold))
}

/**
 * What an exchange may come to cost, set aside before it is sent: 0 without a price, and else at least a
 * millionth of a rouble, so that an account without money sends nothing that has a price.
 */
export function requestHold(target: Target, facts: RequestFacts, hold: Config['hold']): Micros {
  if (target.batch !== undefined) return target.price === undefined ? 0 : target.batch.holdMicros
  return holdFor(target, facts, hold, outputTokens(target, facts, hold))
}

function holdFor(target: Target, facts: RequestFacts, hold: Config['hold'], tokens: number): Micros {
  const { price } = target
  if (price === undefined) return 0
  let mediaMicros = 0
  for (const part of facts.media) mediaMicros += parseRoubles(hold.mediaRub[part.kind] ?? '0')
  const unset = facts.media.filter(part => hold.mediaRub[part.kind] === undefined)
  const isWritten = writesUnasked(target.upstreamModelName, target.provider.kind)
  const amountMicros = holdAmount(price, {
    textBytes: facts.textBytes,
    bytesPerToken: hold.bytesPerToken,
    mediaMicros,
    outputTokens: tokens,
    candidates: facts.candidates,
    units: addMeters(addMeters(mediaAllowance(unset, price), unitsOf(facts, price)), facts.context),
    variant: facts.unitsVariant,
    cacheWrite: facts.cacheWrite ?? (isWritten ? '5m' : undefined),
  })
  const tieredMicros = timesFactorsAtMost(amountMicros, price, facts.wantedTier)
  return Math.max(1, tieredMicros + namedHold(target, facts, hold, tokens))
}

/** OpenAI's newer models write what they read to their cache without being asked to, through whomever they are asked. */
export function writesUnasked(upstreamModelName: string, providerKind = ''): boolean {
  return providerKind === 'openai' || /^(?:openai\/|ft:)?(?:gpt-|o\d)/.test(upstreamModelName)
}

/**
 * What the models come to cost that the request names beside its own: each may read all of it and write as much as the
 * answer has. Nobody says how often a tool will draw; it is seldom more than once.
 */
function namedHold(
  { named = [] }: Target,
  { textBytes, candidates, context }: RequestFacts,
  hold: Config['hold'],
  tokens: number,
): Micros {
  let micros = 0
  for (const { price, isDrawing } of named) {
    micros += isDrawing
      ? drawnHold(price, textBytes, hold)
      : holdAmount(price, {
          textBytes,
          bytesPerToken: hold.bytesPerToken,
          mediaMicros: 0,
          outputTokens: tokens,
          candidates,
          units: context,
        })
  }
  return Math.min(micros, amountMicrosMax)
}

/** What pictures may cost that tools draw from so much text. */
export function drawnHold(
  price: Price,
  textBytes: number,
  { bytesPerToken }: Config['hold'],
  pictures = 1,
): Micros {
  const meters = { input: Math.ceil(textBytes / bytesPerToken), imageOutput: pictures * drawnTokens }
  return priceAtMost(price, { meters })
}

/** What the request names itself, and the hours for which media are kept that it puts away. */
function unitsOf({ searches, units: own, keptHours, media }: RequestFacts, price: Price): Meters | undefined {
  const units = searches === undefined ? own : addMeters({ searches }, own)
  if (keptHours === undefined) return units
  return addMeters({ cacheStorage: tokensOf(mediaAllowance(media, price)) * keptHours }, units)
}

/** The largest cap on output tokens whose hold the available money covers; 0 when the input alone is too dear. */
export function outputTokensThatFit(
  target: Target,
  facts: RequestFacts,
  hold: Config['hold'],
  availableMicros: Micros,
): number {
  // No cap of the request's own makes a batch cheaper.
  if (target.batch !== undefined) return 0
  let fits = 0
  let exceeds = outputTokens(target, facts, hold)
  if (holdFor(target, facts, hold, 0) > availableMicros) return 0
  while (exceeds - fits > 1) {
    const middle = Math.floor((fits + exceeds) / 2)
    if (holdFor(target, facts, hold, middle) <= availableMicros) fits = middle
    else exceeds = middle
  }
  return fits
}
