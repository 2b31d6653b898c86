import { fieldsOf } from '../session-message.ts'

/** Without a word on it, sound has 24,000 samples of two bytes a second. */
export const pcmBytesPerSecond = 48_000
/** The smallest that is understood: G.711, 8,000 samples of one byte. */
export const g711BytesPerSecond = 8000

/** Of `{"type":"audio/pcm","rate":24000}`, `{"type":"audio/pcmu"}`, or the older `pcm16` and `g711_ulaw`. */
export function bytesPerSecond(format: unknown): number {
  if (typeof format === 'string') return format.startsWith('g711') ? g711BytesPerSecond : pcmBytesPerSecond
  const { type, rate } = fieldsOf(format)
  if (type === 'audio/pcmu' || type === 'audio/pcma') return g711BytesPerSecond
  return typeof rate === 'number' && rate > 0 ? rate * 2 : pcmBytesPerSecond
}
