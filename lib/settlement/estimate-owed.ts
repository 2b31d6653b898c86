import {
  estimateOutput,
  estimateUsage,
  type CountsTokens,
  type Estimate,
  type EstimatedRequest,
} from '../metering/estimate-usage.ts'
import { addMeters, type Meters, type UsageLine, type UsageReading } from '../money/usage.ts'
import type { Owed } from './decide-owed.ts'
import type { OutputTokens } from '../metering/usual-outputs.ts'
import type { EstimatedLines } from './settle.ts'

const nothingRead: UsageReading = {
  lines: [],
  isTerminal: false,
  hasError: false,
  hasOutput: false,
  outputTextBytes: 0,
  unmeteredTextBytes: 0,
  flags: [],
}

/** Four bytes of text are about a token. */
const bytesPerToken = 4

interface EstimateContext {
  readonly request: EstimatedRequest
  readonly counter: CountsTokens
  /** What one answer of this model usually has, by others of it or by the settings. */
  readonly usual: OutputTokens
  /** What it may have read by tools, as far as it told of their use. */
  readonly usedByTools: Meters | undefined
  readonly isUnreadable: boolean
}

/** What was reported, and an estimate of everything that no report covers. */
export async function estimateOwed(
  owed: Owed & { readonly basis: 'estimated' },
  reading: UsageReading = nothingRead,
  context: EstimateContext,
): Promise<EstimatedLines> {
  const { lines, estimates } = await seenLines(reading, context)
  const unseen = owed.hasUnseen ? unseenTokens(lines, reading, context) : 0
  const [first = { meters: {} }, ...others] = lines
  const { usedByTools } = context
  const isTold = unseen === 0 && usedByTools === undefined
  const whole = isTold
    ? first
    : { ...first, meters: addMeters(addMeters(first.meters, { output: unseen }), usedByTools) }
  return {
    lines: [whole, ...others],
    source: reading.lines.length > 0 && estimates.length === 0 && isTold ? 'provider' : 'estimated',
    flags: [
      ...owed.flags,
      ...(estimates.some(({ isCounted, tokens }) => !isCounted && tokens > 0) ? ['estimate_rough'] : []),
      ...(unseen > 0 ? ['reasoning_estimated'] : []),
      ...(usedByTools === undefined ? [] : ['tools_estimated']),
    ],
    details: { ...sums(estimates), ...(unseen > 0 && { estimatedUnseen: unseen }) },
  }
}

async function seenLines(
  reading: UsageReading,
  { request, counter }: EstimateContext,
): Promise<{ readonly lines: readonly UsageLine[]; readonly estimates: readonly Estimate[] }> {
  const [line, ...others] = reading.lines
  if (line === undefined) {
    const { line: whole, estimates } = await estimateUsage(request, reading, counter)
    return { lines: [whole, ...(reading.beside ?? [])], estimates }
  }
  // Usage told on the way, as with every event of Google's, covers what came until then.
  if (reading.unmeteredTextBytes === 0) return { lines: reading.lines, estimates: [] }
  const rest = await estimateOutput(request, reading, counter)
  return { lines: [withOutput(line, rest.tokens), ...others], estimates: [rest] }
}

/** What such responses usually have beyond their text, less what was reported of it already. */
function unseenTokens(
  [line]: readonly UsageLine[],
  reading: UsageReading,
  { request: { facts, isGeneration }, usual, isUnreadable }: EstimateContext,
): number {
  if (!isGeneration) return 0
  const counted = line?.meters.output ?? 0
  const shownBytes = reading.outputTextBytes - reading.unmeteredTextBytes
  const reported = (reading.lines[0]?.meters.output ?? 0) - shownBytes / bytesPerToken
  const missing = isUnreadable
    ? usual.output * facts.candidates - counted
    : usual.unseen * facts.candidates - Math.max(0, reported)
  const most = (facts.outputTokensCap ?? Number.MAX_SAFE_INTEGER) * facts.candidates - counted
  return Math.max(0, Math.ceil(Math.min(missing, most)))
}

function withOutput(line: UsageLine, tokens: number): UsageLine {
  return { ...line, meters: addMeters(line.meters, { output: tokens }) }
}

/** The charge says how many tokens were counted, and how many only taken from the length of the text. */
function sums(estimates: readonly Estimate[]): Record<string, number> {
  const sum = (isCounted: boolean): number =>
    estimates.reduce((total, estimate) => total + (estimate.isCounted === isCounted ? estimate.tokens : 0), 0)
  const byTiktoken = sum(true)
  const byBytes = sum(false)
  return {
    ...(byTiktoken > 0 && { estimatedByTiktoken: byTiktoken }),
    ...(byBytes > 0 && { estimatedByBytes: byBytes }),
  }
}
