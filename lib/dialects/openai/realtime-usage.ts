import type { UsageLine } from '../../money/usage.ts'
import { addUsed, UsageFields } from '../measure.ts'
import { type SessionContext, type TurnUsage, fieldsOf } from '../session.ts'
import { measureTokens } from './openai-reader.ts'

type Context = Pick<SessionContext, 'providerKind' | 'isPricedBySecond'>

/** The default: 24,000 samples of two bytes a second. */
export const pcmBytesPerSecond = 48_000
/** The smallest supported format: G.711, 8,000 samples of one byte. */
export const g711BytesPerSecond = 8000

/**
 * The usage of a response or a transcript; undefined if none is reported.
 * @param model the billed model, if it differs from the session's
 */
export function realtimeUsage(
  usage: unknown,
  model: string | undefined,
  context: Context,
): TurnUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const flags = new Set<string>()
  const { line, details } = measure(new UsageFields(usage, flags), model, context)
  return { lines: line === undefined ? [] : [line], raw: JSON.stringify(usage), details, flags: [...flags] }
}

function measure(
  fields: UsageFields,
  model: string | undefined,
  { providerKind, isPricedBySecond }: Context,
): { line: UsageLine | undefined; details: Record<string, number> } {
  const named = model === undefined ? {} : { model }
  // A transcription is billed by its length or by its tokens, depending on the model.
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
  // xAI bills its sessions by the second, and counts tokens as well.
  if (isPricedBySecond) return { line: { ...named, meters: { audioSeconds: billable } }, details }
  return {
    line: { ...named, meters: measured.meters },
    details: { ...details, billableAudioSeconds: billable },
  }
}

/** For `{"type":"audio/pcm","rate":24000}`, `{"type":"audio/pcmu"}`, or the older `pcm16` and `g711_ulaw`. */
export function bytesPerSecond(format: unknown): number {
  if (typeof format === 'string') return format.startsWith('g711') ? g711BytesPerSecond : pcmBytesPerSecond
  const { type, rate } = fieldsOf(format)
  if (type === 'audio/pcmu' || type === 'audio/pcma') return g711BytesPerSecond
  return typeof rate === 'number' && rate > 0 ? rate * 2 : pcmBytesPerSecond
}
