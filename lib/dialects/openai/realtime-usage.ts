import type { UsageLine } from '../../money/usage.ts'
import { addUsed } from '../measure.ts'
import type { SessionContext, TurnUsage } from '../session.ts'
import { UsageFields } from '../usage-fields.ts'
import { measureTokens } from './token-usage.ts'

type Context = Pick<SessionContext, 'providerKind' | 'isPricedBySecond'>

/**
 * The usage of a response or a transcript; undefined where none is told.
 * @param model the one that is billed, where it is another than the session's
 */
export function realtimeUsage(
  usage: unknown,
  model: string | undefined,
  context: Context,
): TurnUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const flags = new Set<string>()
  const { line, details } = measure(new UsageFields(usage, flags), model, context)
  return {
    lines: line === undefined ? [] : [line],
    raw: JSON.stringify(usage),
    details,
    flags: [...flags],
  }
}

function measure(
  fields: UsageFields,
  model: string | undefined,
  { providerKind, isPricedBySecond }: Context,
): { line: UsageLine | undefined; details: Record<string, number> } {
  const named = model === undefined ? {} : { model }
  // A transcription is billed by its length or by its tokens, as its model is.
  const seconds = fields.text('type') === 'duration' ? fields.quantity('seconds') : undefined
  if (seconds !== undefined) {
    const line: UsageLine = { ...named, meters: {} }
    addUsed(line.meters, 'audioSeconds', seconds)
    return { line, details: {} }
  }
  const measured = measureTokens(fields, providerKind)
  const billable = fields.quantity('billable_audio_seconds')
  if (measured === undefined) return { line: undefined, details: {} }
  const details = { ...measured.details }
  if (billable === undefined) return { line: { ...named, meters: measured.meters }, details }
  // xAI bills its sessions by seconds, and counts tokens beside.
  if (isPricedBySecond) return { line: { ...named, meters: { audioSeconds: billable } }, details }
  return {
    line: { ...named, meters: measured.meters },
    details: { ...details, billableAudioSeconds: billable },
  }
}
